"""A question in a language that no book is written in is searched by cognates and by the glossary's
translations.
"""

from __future__ import annotations

import pytest

from bot.readers import read
from bot.retrieval.chunk import chunks
from bot.retrieval.cognates import Cognates
from bot.retrieval.contents import ShelvedDocument
from bot.retrieval.glossary import translated
from bot.retrieval.lexical import Segment, terms
from bot.retrieval.postings import Postings
from bot.retrieval.question import question_terms
from bot.retrieval.shelf import Shelf

WORDS = (
    "action magic defense skill special spirit shield attack invisibility immediately human difficulty "
    "critical potion initiative charisma penalty bonus round sword wall dragon strength temple throw grapple"
)

BOOK = b"""# Handbook

## Invisibility

The target becomes invisible until the effect ends. An attack ends the effect immediately.

## Initiative

Each round begins with initiative. The character with the highest charisma acts first.

## Hunting

Follow the tracks of the beast across the frozen river.
"""


CONDITIONS = b"""# Conditions

## One

A grappled creature has a speed of zero, and it ends with the grappler.

## Two

A creature that is blinded fails whatever takes sight.
"""
CONDICOES = """# Condições

## Um

Uma criatura agarrada fica parada até que alguém a solte.

## Dois

Uma criatura cega falha em tudo o que pede olhos.
""".encode()


def shelved(book: bytes, language: str) -> ShelvedDocument:
    document = read("book.md", book)
    made = chunks(document, child_chars=800, parent_chars=2000)
    sections = [(section.title, section.path) for section in document.sections]
    segment = Segment.build(made, language)
    return ShelvedDocument(language, document.title, language, sections, [c.section for c in made], segment)


def english() -> Cognates:
    return Cognates("en", ((term, at) for at, term in enumerate(terms(WORDS, "en"))))


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("ação", "action"),
        ("ações", "action"),
        ("magia", "magic"),
        ("defesa", "defense"),
        ("especial", "special"),
        ("espírito", "spirit"),
        ("ataques", "attack"),
        ("invisibilidade", "invisibility"),
        ("imediatamente", "immediately"),
        ("humanos", "human"),
        ("dificuldade", "difficulty"),
        ("críticos", "critical"),
        ("poções", "potion"),
        ("iniciativa", "initiative"),
        ("penalidade", "penalty"),
        ("dragões", "dragon"),
    ],
)
def test_a_cognate_is_found(word: str, meant: str) -> None:
    numbers = [number for number, _ in english().matches(word, "pt")]
    assert terms(WORDS, "en").index(terms(meant, "en")[0]) in numbers


def test_a_rules_term_without_a_cognate_is_found_by_its_translation() -> None:
    shelf = Shelf([shelved(CONDITIONS, "en")])
    assert shelf.search("O que acontece com criaturas agarradas?").hits[0].chunk_id == "en:0"
    assert shelf.search("O que acontece com uma criatura cega?").hits[0].chunk_id == "en:1"
    shelf = Shelf([shelved(CONDICOES, "pt")])
    assert shelf.search("What happens to a blinded creature?").hits[0].chunk_id == "pt:1"


@pytest.mark.parametrize("word", ["espada", "muralha", "força", "de", "ombro", "arremessar"])
def test_a_word_without_a_cognate_does_not_count_as_sure(word: str) -> None:
    assert all(likeness < 0.7 for _, likeness in english().matches(word, "pt"))


def test_names_and_numbers_match_only_themselves() -> None:
    known = Cognates("en", [("orc", 0), ("2d6", 1), ("fireball", 2), ("firewall", 3), ("2d8", 4)])
    assert known.matches("orc", "pt") == [(0, 1.0)]
    assert known.matches("2d6", "pt") == [(1, 1.0)]
    assert known.matches("fireball", "pt")[0] == (2, 1.0)
    assert known.matches("orb", "pt") == []
    assert Cognates("en", []).matches("magia", "pt") == []


def test_numbers_are_not_indexed_for_cognates() -> None:
    numbered = [("fireball", 0), *((str(number), number) for number in range(1, 2_000))]
    known = Cognates("en", numbered)
    assert set(known._postings) == set(Cognates("en", [("fireball", 0)])._postings)
    assert known.matches("1999", "pt") == [(1_999, 1.0)]
    assert known.matches("fireball", "pt") == [(0, 1.0)]


def shelf() -> Shelf:
    document = read("handbook.md", BOOK)
    made = chunks(document, child_chars=800, parent_chars=800)
    sections = [(section.title, section.path) for section in document.sections]
    segment = Segment.build(made, "en")
    return Shelf([ShelvedDocument("d", document.title, "en", sections, [c.section for c in made], segment)])


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("O efeito de invisibilidade termina imediatamente depois de um ataque?", "Invisibility"),
        ("Qual personagem começa com a iniciativa, o de maior carisma?", "Initiative"),
    ],
)
def test_a_portuguese_question_finds_the_english_section_by_words_alone(question: str, title: str) -> None:
    book = shelf()
    ranked = book.search(question)
    assert ranked.language == "pt"
    assert ranked.evidence.foreign
    document = read("handbook.md", BOOK)
    assert document.sections[ranked.hits[0].section].title == title


def test_the_english_book_is_found_even_beside_a_portuguese_one() -> None:
    """Each of the Portuguese book's passages contains "de" and "que": these must not decide between the
    books.
    """
    lines = "\n\n".join(
        f"## Capítulo {n}\n\nO que se diz de tudo e de todos é que um rio corre." for n in range(9)
    )
    documents = []
    for name, data in [("d", BOOK), ("rio", f"# O rio\n\n{lines}\n".encode())]:
        document = read(f"{name}.md", data)
        made = chunks(document, child_chars=800, parent_chars=800)
        sections = [(section.title, section.path) for section in document.sections]
        segment = Segment.build(made, document.language)
        places = [one.section for one in made]
        documents.append(ShelvedDocument(name, document.title, document.language, sections, places, segment))
    both = Shelf(documents)
    assert both.languages == ["en", "pt"]
    ranked = both.search("O que o efeito de invisibilidade e de um ataque imediato é que termina de fazer?")
    assert ranked.language == "pt"
    assert ranked.hits[0].document_id == "d"
    assert both.search("Um rio corre de tudo que se diz?").hits[0].document_id == "rio"


def test_a_question_in_a_books_language_is_searched_as_it_is() -> None:
    document = read("handbook.md", BOOK)
    made = chunks(document, child_chars=800, parent_chars=800)
    postings = Postings([("en", Segment.build(made, "en"))])
    asked = question_terms("When does invisibility end?", "en", ["en"], postings)
    untold = question_terms("When does invisibility end?", None, ["en"], postings)
    assert not asked.foreign
    assert asked == untold
    assert postings.numbers["en", "attack"] not in asked.weights


def test_the_glossary_gives_every_meaning_of_a_word() -> None:
    assert translated("chicotes", "pt", "en") == tuple(terms("whip", "en"))
    assert set(translated("saltar", "pt", "en")) == set(terms("jump leap", "en"))
    assert set(translated("wounds", "en", "pt")) == set(terms("ferimento ferida ferir", "pt"))
    assert set(translated("pesam", "pt", "en")) == set(terms("weight weigh heavy", "en"))
    assert translated("chicote", "pt", "es") == translated("mochileiro", "pt", "en") == ()
