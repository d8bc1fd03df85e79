"""A shelf in memory: its own statistics, titles first, weights by language, honest confidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.readers import read
from bot.retrieval.chunk import chunks
from bot.retrieval.contents import ShelvedDocument
from bot.retrieval.lexical import Segment, terms
from bot.retrieval.ranking import Options
from bot.retrieval.shelf import Shelf

SPELLS = """# Spells

## Fireball

A bright streak flashes to a point and blossoms into an explosion of flame. Each creature takes 8d6 damage.

## The Shield (abjuration)

An invisible barrier of magical force appears and protects you against attacks.

## Ações

Each player takes one action on a turn.
"""
REGRAS = """# Regras

## Combate

Cada jogador rola os dados para atacar o seu inimigo durante o conflito.

## Fireball

A bola de fogo é uma explosão de chamas que atinge todos os inimigos da zona.
"""

CHINESE = """# 法术

## 火球术

一道明亮的光芒射向目标并爆炸。每个生物受到8d6点火焰伤害，敏捷豁免成功则减半。

## 装备

长剑的价格是十五金币。匕首的价格是两金币。盾牌的价格是十金币，增加护甲等级。

## 休息

长休需要八小时。短休需要一小时，期间可以花费生命骰恢复生命值。
"""
PREFIXES = """# Filters

## Stores

A vector store keeps the embeddings of all documents and finds the nearest ones of a query.

## Where a filter runs

With pre-filtering the filter runs before the search, and with post-filtering it runs on its results.

## Stages

A multistage search looks twice: the second stage reads what the first one found.
"""


def shelved(document_id: str, text: str, name: str = "book.md") -> ShelvedDocument:
    document = read(name, text.encode())
    made = chunks(document, child_chars=800, parent_chars=2000)
    segment = Segment.from_bytes(Segment.build(made, document.language).to_bytes())
    sections = [(section.title, section.path) for section in document.sections]
    return ShelvedDocument(
        document_id, document.title, document.language, sections, [chunk.section for chunk in made], segment
    )


@pytest.fixture(scope="module")
def shelf() -> Shelf:
    return Shelf([shelved("en", SPELLS), shelved("pt", REGRAS)])


def test_an_inflected_word_finds_its_passage_in_its_own_language(shelf: Shelf) -> None:
    assert shelf.search("explosions of flames").hits[0].chunk_id == "en:0"
    assert shelf.search("jogadores rolando dado").hits[0].chunk_id == "pt:0"


def test_terms_drop_accents_after_stemming() -> None:
    assert terms("Ações AÇÕES", "pt") == [terms("ações", "pt")[0]] * 2
    assert all(term.isascii() for term in terms("coração não é só emoção", "pt"))
    assert terms("The hunter’s 1,000 Arrow-Catching", "en") == ["the", "hunter", "1000", "arrow", "catch"]


def test_scripts_without_spaces_are_indexed_in_pairs() -> None:
    assert terms("火球术 3级 d20", "zh") == ["火球", "球术", "3", "级", "d20"]
    assert terms("魔", "zh") == ["魔"]
    assert len(terms("スペル", "ja")) == 2


def test_a_chinese_question_finds_its_passage_beside_english_books() -> None:
    shelf = Shelf([shelved("en", SPELLS), shelved("zh", CHINESE)])
    assert shelf.languages == ["en", "zh"]
    for question in ("火球术造成多少伤害？", "长剑多少钱？", "长剑的价格是多少？"):
        found = shelf.search(question)
        assert found.language == "zh", question
        assert found.hits[0].chunk_id == ("zh:0" if "火球" in question else "zh:1"), question
        assert found.confident == ("钱" not in question), question
        assert found.confident or found.doubtful, question
    assert shelf.search("explosions of flames").hits[0].chunk_id == "en:0"
    assert not shelf.search("附近有没有可以骑的骆驼？").confident


def test_a_prefix_is_found_with_a_hyphen_and_without_one() -> None:
    shelf = Shelf([shelved("en", PREFIXES)])
    for question in (
        "prefiltering and postfiltering",
        "What is the difference between prefiltering and postfiltering?",
    ):
        found = shelf.search(question)
        assert found.hits[0].chunk_id == "en:1", question
        assert found.confident, question
    assert shelf.search("How does a multi-stage search work?").hits[0].chunk_id == "en:2"
    assert not shelf.search("What is nonfiltering?").confident, "no passage has non-filtering"


def test_a_segment_comes_back_from_its_bytes() -> None:
    made = chunks(read("a.md", SPELLS.encode()), child_chars=800, parent_chars=2000)
    segment = Segment.build(made, "en")
    other = Segment.from_bytes(segment.to_bytes())
    assert (other.language, other.vocabulary) == (segment.language, segment.vocabulary)
    for name in ("offsets", "chunks", "body", "head", "lengths"):
        assert getattr(other, name).tolist() == getattr(segment, name).tolist()
    with pytest.raises(ValueError, match="not a segment"):
        Segment.from_bytes(b"something else")


def test_two_shelves_share_no_statistics() -> None:
    small = Shelf([shelved("en", SPELLS)])
    assert small.search("combate").hits == ()
    assert small.complete("comb") == []


@pytest.mark.parametrize(
    ("query", "title", "kind"),
    [
        ("fireball", "Fireball", "exact"),
        ("FIREBALL?", "Fireball", "exact"),
        ("acoes", "Ações", "exact"),
        ("fireballs", "Fireball", "alias"),
        ("shield", "The Shield (abjuration)", "alias"),
        ("What is the Fireball?", "Fireball", "exact"),
        ("fierball", "Fireball", "fuzzy"),
        ("O que é combate?", "Combate", "exact"),
    ],
)
def test_a_title_is_looked_up(shelf: Shelf, query: str, title: str, kind: str) -> None:
    found = shelf.lookup(query)
    assert (found[0].title, found[0].kind) == (title, kind)


def test_equal_titles_in_two_books_are_both_found(shelf: Shelf) -> None:
    assert {found.document_id for found in shelf.lookup("Fireball")} == {"en", "pt"}
    assert {hit.document_id for hit in shelf.search("Fireball").hits[:2]} == {"en", "pt"}


def test_a_documents_own_title_is_found(shelf: Shelf) -> None:
    assert ("pt", None) in [(found.document_id, found.section) for found in shelf.lookup("regras")]


def test_a_half_typed_title_is_completed(shelf: Shelf) -> None:
    assert shelf.complete("fire") == ["Fireball"]
    assert shelf.complete("shi") == ["The Shield (abjuration)"]
    assert shelf.complete("aco") == ["Ações"]


def test_an_english_model_does_not_rank_portuguese(shelf: Shelf) -> None:
    english = Options(model_languages=frozenset({"en"}), lookup=False)
    without = shelf.search("explosão de chamas na zona", None, english)
    voted = shelf.search("explosão de chamas na zona", [("pt:0", 0.99), ("en:1", 0.98)], english)
    assert [hit.chunk_id for hit in voted.hits] == [hit.chunk_id for hit in without.hits]
    every = Options(model_languages=None, lookup=False)
    assert shelf.search("xyzzy", [("pt:0", 0.99), ("pt:1", 0.5)], every).hits[0].chunk_id == "pt:0"


def test_a_question_that_no_book_covers_is_not_answered(shelf: Shelf) -> None:
    assert shelf.search("Fireball").confident
    assert shelf.search("which creature takes damage from the explosion").confident
    assert not shelf.search("Who won the football championship in Argentina?").confident
    assert not shelf.search("").confident
    assert not Shelf([]).search("Fireball").confident


@pytest.mark.parametrize(
    "query", ["😀😀", "'; DROP TABLE chunks; --", "a" * 100_000, "\x00", "((((", "word " * 20_000]
)
def test_an_odd_question_does_no_harm(shelf: Shelf, query: str) -> None:
    assert not shelf.search(query).confident


def test_a_name_is_found_beside_mentions_of_it_and_scores_stay_descending() -> None:
    filler = [f"## Place {n}\n\nThe hall of place {n} keeps lamps, ropes and a well.\n" for n in range(8)]
    told = "## Elsewhere\n\n" + "\n\n".join(
        [
            "Sailors fear the pale heron more than any storm. " + "They speak of it in port. " * 22,
            "It circles twice before a ship goes down. " + "Nobody has counted its feathers. " * 18,
        ]
    )
    small_shelf = Shelf([shelved("en", "# Coast\n\n" + "\n".join([*filler[:4], told, *filler[4:]]))])
    name, question = (
        small_shelf.search("pale heron"),
        small_shelf.search("What do sailors say of the pale heron?"),
    )
    assert name.evidence.name
    assert [hit.section for hit in name.hits[:2]] == [name.hits[0].section] * 2
    for found in (name, question):
        assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


def test_a_heading_with_part_of_a_name_ranks_behind_a_text_with_the_rest() -> None:
    text = """# Spells

## Hammer of Dawn

A glowing tool of force strikes where you point. It stays for a minute and hits as hard as a mason does.

## Blessings

Priests ask for a floating shape of light, a spiritual help that stays beside them and fights on its own.
"""
    shelf = Shelf([shelved("one", text)])
    assert shelf.search("Spiritual Hammer").hits[0].section == 2
    assert shelf.search("Hammer of Dawn").hits[0].by == "exact"


def test_numbers_and_parentheses_of_a_name_are_not_searched() -> None:
    text = """# Steps

## Beginnings

At step 8 of all steps take dice, STR 8 and DEX 8 and INT 8: each step has its own dice.

## Feelings

A passion is what drives a hero. Passions have a percentage, and each passion may clash with another.
"""
    shelf = Shelf([shelved("one", text)])
    plain = shelf.search("Passions of heroes")
    for name in ("Step 8: Passions of heroes", "Passions of heroes (DEX+INT)"):
        asked = shelf.search(name)
        assert [hit.section for hit in asked.hits] == [hit.section for hit in plain.hits], name
        assert asked.evidence == plain.evidence, name


def test_a_title_named_in_a_good_passage_is_a_bridge_to_its_section() -> None:
    book = """# People

## Ada Holm

Ada Holm painted the altar of Saint Brendan Abbey when she was young and poor.

## Saint Brendan Abbey

Built of grey granite in the year 1181 by monks.
"""
    others = "".join(f"\n## Hamlet {n}\n\nFishing boats, nets and a row of houses.\n" for n in range(20))
    hits = Shelf([shelved("en", book + others)]).search("Which altar was painted when young and poor?").hits
    assert [hit.by for hit in hits if hit.section == 2] == ["bridge"]
    assert hits[0].by == "search"


TRAVELLER = """# Livro do Viajante

## 5 Equipamento

Este capítulo diz quanto custa cada coisa e quanto dano causa cada arma.

### 5.4 Cavalos

Os animais estão na tabela 5.4:

| Animal | Custo | Velocidade |
|---|---|---|
| Burro ou mula | 8 po | 40 pés |
| Camelo | 50 po | 50 pés |
| Cavalo de guerra | 400 po | 60 pés |
| Cavalo de montaria | 75 po | 60 pés |

### 5.5 Criaturas

#### Cavalo de Guerra

Cavalo de guerra.

#### Adaga Voadora

Ela ataca quando quer. Quanto custa uma delas depende do mestre.
"""


def test_a_table_row_ranks_before_a_heading_without_text() -> None:
    hits = Shelf([shelved("pt", TRAVELLER)]).search("Quanto custa um cavalo de guerra?").hits
    assert hits[0].chunk_id == "pt:1"


def test_words_in_one_row_count_for_more_than_in_separate_rows() -> None:
    table = "\n\n| Item | Cost |\n|---|---|\n"
    apart = ["grey rope", "grey tent", "tall lamp", "pale lamp"]
    together = ["grey lamp", "tall rope", "pale tent", "pale oar"]
    gear = "\n\n".join(
        f"## Shop {n}" + table + "\n".join(f"| {item} | {price} gp |" for price, item in enumerate(items))
        for n, items in enumerate((apart, together))
    )
    small_shelf = Shelf([shelved("en", f"# Gear\n\n{gear}\n")])
    assert small_shelf.search("How much does a grey lamp cost?").hits[0].chunk_id == "en:1"


def armoury() -> Shelf:
    """A price list, and many monsters that fight with its weapons."""
    goods = [
        f"{metal} {thing}" for metal in ("iron", "bronze", "silver") for thing in ("bell", "lamp", "hook")
    ]
    rows = "\n".join(
        f"| {name} | {price} gp | {price} lb. |" for price, name in enumerate(["Dagger", *goods], 1)
    )
    monsters = "\n\n".join(
        f"### Beast {n}\n\nIts dagger deals damage. A heavy blow with the dagger costs it an action."
        for n in range(40)
    )
    return Shelf(
        [
            shelved(
                "en",
                f"# Book\n\n## Gear\n\n| Name | Cost | Weight |\n|---|---|---|\n{rows}\n\n## Beasts\n\n{monsters}\n",
            )
        ]
    )


@pytest.mark.parametrize(
    "question",
    [
        "How much does a dagger cost?",
        "What is the price of a dagger?",
        "How heavy is a dagger?",
        "How much does a dagger weigh?",
    ],
)
def test_a_row_with_all_the_words_answers_even_if_its_vector_is_distant(question: str) -> None:
    shelf = armoury()
    monsters = [(f"en:{n}", 0.75 - n / 1000) for n in range(1, 40)]
    for votes in (None, [*monsters, ("en:0", 0.55)]):
        ranked = shelf.search(question, votes)
        assert (ranked.hits[0].chunk_id, ranked.confident) == ("en:0", True)


def test_a_row_with_half_of_the_words_is_no_answer() -> None:
    assert not armoury().search("How much does a golden bell cost?", [("en:0", 0.55)]).confident


def test_a_row_is_not_found_outside_the_parts_searched() -> None:
    ranked = armoury().search("How much does a dagger cost?", None, Options(within=(("en", 2, 99),)))
    assert "en:0" not in [hit.chunk_id for hit in ranked.hits]


def test_a_segment_of_an_earlier_version_without_rows_is_read() -> None:
    made = chunks(read("a.md", TRAVELLER.encode()), child_chars=800, parent_chars=2000)
    new = Segment.build(made, "pt")
    old = Segment.from_bytes(replace(new, rows=None).to_bytes())
    assert old.rows is None
    assert new.rows is not None
    rows = Segment.from_bytes(new.to_bytes()).rows
    assert rows is not None
    assert rows.chunks.tolist() == new.rows.chunks.tolist() == [1] * 4
    assert rows.postings.vocabulary == new.rows.postings.vocabulary


def test_a_section_that_is_looked_up_comes_in_the_books_order() -> None:
    about = [
        "oil lamps burn",
        "lamp oil",
        "lamps and lamps and more lamps of oil",
        "brass",
        "wick",
        "lamps",
        "oil of a lamp",
    ]
    text = "# Gear\n\n## Lamps\n\n" + "\n\n".join(f"Of {words}. {'It is so. ' * 70}" for words in about)
    others = "".join(f"\n\n## Tool {n}\n\nA lamp shines on tool {n}.\n" for n in range(9))
    hits = Shelf([shelved("en", text + others)]).search("Lamps").hits
    places = [int(hit.chunk_id.rpartition(":")[2]) for hit in hits if hit.section == hits[0].section]
    assert places == list(range(len(places)))
    assert len(places) >= 6
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_title_without_text_leads_to_its_subsections() -> None:
    text = (
        "# Book\n\n## Weapons\n\n### Simple\n\nClubs.\n\n### Martial\n\nSwords.\n\n## End\n\nWeapons end.\n"
    )
    assert Shelf([shelved("en", text)]).search("Weapons").hits[0].chunk_id == "en:0"


def test_a_breadcrumb_means_one_of_several_homonyms() -> None:
    text = "# Classes\n\n" + "\n\n".join(
        f"## {name}\n\nOf {name}.\n\n### Level 4: Improvement\n\nAs {name}s do."
        for name in ("Bard", "Monk", "Mage")
    )
    small_shelf = Shelf([shelved("en", text)])
    assert len(small_shelf.lookup("Improvement")) == 3
    assert [found.path[1] for found in small_shelf.lookup("Classes › Monk › Level 4: Improvement")] == [
        "Monk"
    ]


def test_sections_named_in_the_best_passage_come_right_after_it() -> None:
    people = (
        "# People\n\n## Ada Holm\n\nAda Holm, young and poor, painted the altar of Saint Brendan Abbey.\n"
    )
    abbey = "\n## Saint Brendan Abbey\n\nBuilt of grey granite in the year 1181 by monks.\n"
    others = "".join(
        f"\n## Painter {n}\n\nThis painter painted an altar when he was young, in hamlet {n}, and was poor.\n"
        for n in range(9)
    )
    hits = (
        Shelf([shelved("en", people + others + abbey)])
        .search("Where is the altar that Ada painted when young and poor?")
        .hits
    )
    assert [(hit.chunk_id, hit.by) for hit in hits[:2]] == [("en:0", "search"), ("en:10", "bridge")]
    assert 0.8 * hits[0].score < hits[1].score < hits[0].score


HALVES = """# Harbours

## Saltmere

Saltmere is a harbour town. Its lighthouse was raised by Odile Varn after the flood.

## Odile Varn

Odile Varn was a mason from Brackwater, where she learned her trade from a bell founder.

## Brackwater

Brackwater lies inland. Nobody there has seen the sea.

## Tides

The tide turns twice a day, and a pilot waits for it.
"""


def test_passages_that_name_each_other_answer_together() -> None:
    shelf = Shelf(
        [shelved("en", HALVES + "".join(f"\n## Road {n}\n\nRoad {n} is long.\n" for n in range(60)))]
    )
    question = (
        "Which mason of what forge, taught by some bell founder of a guild in the north, "
        "raised a lighthouse after the war of the kings?"
    )
    together, apart = shelf.search(question), shelf.search(question, options=Options(hops=0))
    assert not apart.confident
    assert together.confident, "two passages say a part of it each, and one names the other's heading"
    assert together.evidence.share > 1.5 * apart.evidence.share
    question = "Which tools did Odile Varn leave to her pupils, sisters, cousins and her brother?"
    named = shelf.search(question)
    assert named.evidence.headed
    assert named.confident, "the book has a section on whom the question names"
    assert not shelf.search(question, options=Options(hops=0)).confident
    for strange in (
        "Which tools did the mason Anna Berg leave to her pupils?",
        "Who varnished the portrait?",
    ):
        found = shelf.search(strange)
        assert not found.evidence.headed
        assert not found.confident


def test_a_near_title_leaves_the_best_passage_among_the_first() -> None:
    long = "".join(
        f"Augury step {n} is cast with bones and asks the dead about {n} omens.\n\n" * 9 for n in range(9)
    )
    shelf = Shelf(
        [shelved("en", f"# Magic\n\n## Auguries\n\n{long}\n\n## Priests\n\nAn augurist reads omens.\n")]
    )
    found = shelf.search("augurist")
    assert found.hits[0].by == "fuzzy"
    assert "search" in {hit.by for hit in found.hits[:3]}
