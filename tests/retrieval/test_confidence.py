"""The confidence that decides between an answer, a guess and "nothing found"."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.readers import read
from bot.retrieval.chunk import chunks
from bot.retrieval.confidence import BGE_SMALL, E5_SMALL, Evidence, Likeness, margin, verdict
from bot.retrieval.contents import ShelvedDocument
from bot.retrieval.lexical import Segment
from bot.retrieval.question import names
from bot.retrieval.shelf import Shelf

EXAMPLES = Path(__file__).parents[2] / "examples"
FAIR = Evidence(share=0.4, worth=1.0, words=4, size=1000)


def confident(evidence: Evidence, likeness: Likeness | None = BGE_SMALL) -> bool:
    return verdict(margin(evidence, likeness), evidence).confident


def shelf(*names: str, **texts: str) -> Shelf:
    """A shelf of examples by name, and of texts by name."""
    shelved = []
    files = {name: (EXAMPLES / name).read_bytes() for name in names}
    files |= {f"{name}.md": text.encode() for name, text in texts.items()}
    for name, data in files.items():
        document = read(name, data)
        made = chunks(document, child_chars=800, parent_chars=2000)
        sections = [(section.title, section.path) for section in document.sections]
        segment = Segment.build(made, document.language)
        shelved.append(
            ShelvedDocument(
                name, document.title, document.language, sections, [one.section for one in made], segment
            )
        )
    return Shelf(shelved)


def test_a_bare_phrase_that_a_passage_contains_is_at_least_a_guess() -> None:
    name = Evidence(share=0.3, worth=0.01, words=1, size=5000, name=True)
    below = margin(name) - 1
    assert verdict(below, name) == (False, True)
    for evidence in (replace(name, unsaid=True), replace(name, foreign=True), replace(name, name=False)):
        assert verdict(below, evidence) == (False, False)


@pytest.fixture(scope="module")
def lanterns() -> Shelf:
    return shelf("lanterns.md")


@pytest.fixture(scope="module")
def both() -> Shelf:
    return shelf("lanterns.md", "fate-acelerado.md")


@pytest.mark.parametrize(
    "question",
    [
        "How far does a lit lantern show things?",
        "How long does a candle burn?",
        "Can I push a roll twice?",
        "When do wolves withdraw?",
        "how many successes do I need for a hard task",
        "What happens when the last candle goes out?",
    ],
)
def test_one_short_book_answers_by_words_alone(lanterns: Shelf, both: Shelf, question: str) -> None:
    assert lanterns.search(question).confident
    assert both.search(question).confident


@pytest.mark.parametrize(
    "question",
    [
        "Who won the football world cup in 1994?",
        "What is the capital of Mongolia?",
        "How do I bake sourdough bread?",
        "mortgage interest rates",
        "Quem ganhou a copa do mundo de 1994?",
        "receita de bolo de cenoura",
    ],
)
def test_one_short_book_does_not_answer_about_other_subjects(
    lanterns: Shelf, both: Shelf, question: str
) -> None:
    assert not lanterns.search(question).confident
    assert not both.search(question).confident


def test_a_foreign_question_needs_a_sure_word_and_most_of_its_possible_meanings() -> None:
    evidence = Evidence(worth=1.0, words=10, size=1300, foreign=True, match=0.3)
    assert confident(evidence)
    assert not confident(replace(evidence, worth=0.0))
    assert not confident(replace(evidence, match=0.1))
    assert not confident(replace(evidence, match=None, share=1.0, worth=9.0))
    assert not confident(replace(evidence, words=3))


def test_a_chance_likeness_with_a_few_foreign_passages_is_no_answer() -> None:
    evidence = Evidence(worth=1.0, words=10, size=1300, foreign=True, match=0.26)
    assert confident(evidence)
    assert not confident(replace(evidence, size=4))


def test_a_matching_title_is_enough_for_an_answer() -> None:
    assert confident(Evidence(title=True))
    assert not confident(Evidence())


def test_large_shelves_short_questions_and_names_need_more_evidence() -> None:
    scores = [share / 1000 for share in range(1000)]

    def least(found: Evidence) -> float:
        return next(share for share in scores if confident(replace(found, share=share)))

    usual = least(FAIR)
    assert least(replace(FAIR, size=100_000)) > usual
    assert least(replace(FAIR, words=1)) > usual
    assert least(replace(FAIR, name=True)) > usual
    assert least(replace(FAIR, apart=1)) > usual
    assert least(replace(FAIR, name=True, words=2)) - least(replace(FAIR, words=2)) > 0.2
    assert least(replace(FAIR, worth=2.0)) < usual


def test_a_score_a_little_below_the_threshold_is_a_guess_and_far_below_nothing(lanterns: Shelf) -> None:
    sides = {"How long does a candle burn?": (True, False), "Who is the mayor of Lisbon?": (False, False)}
    for question, expected in sides.items():
        ranked = lanterns.search(question)
        assert (ranked.confident, ranked.doubtful) == expected
    bar = Evidence(share=0.5, worth=0.5, words=3, size=1000)
    assert margin(bar) - margin(replace(bar, share=0.4)) == pytest.approx(0.1)


def test_vector_similarity_counts_for_and_against_an_answer() -> None:
    assert confident(FAIR)
    assert not confident(replace(FAIR, likeness=0.5))
    assert confident(replace(FAIR, share=0.2, likeness=0.75))
    assert not confident(replace(FAIR, share=0.2))


def test_a_passage_much_nearer_than_the_others_is_more_likely_the_answer() -> None:
    doubtful = replace(FAIR, share=0.3, likeness=BGE_SMALL.even)
    assert not confident(doubtful)
    assert confident(replace(doubtful, lead=0.2))
    assert (
        margin(replace(doubtful, lead=0.02))
        < margin(doubtful)
        == margin(replace(doubtful, lead=BGE_SMALL.lead))
    )


def test_between_two_languages_words_and_vectors_have_to_agree() -> None:
    """A rulebook mentions much that questions on another rulebook are about, so similarity alone is not
    enough.
    """
    alike = Evidence(
        words=3, size=3000, share=0.23, match=0.36, likeness=0.48, lead=0.06, agreement=0.9, foreign=True
    )
    assert confident(alike, E5_SMALL)
    for lacking in (
        replace(alike, share=0.1),
        replace(alike, match=0.1),
        replace(alike, likeness=0.4),
        replace(alike, lead=0.0),
        replace(alike, agreement=0.5),
    ):
        assert not confident(lacking, E5_SMALL), lacking
    assert not confident(replace(alike, name=True), E5_SMALL)
    assert not confident(replace(alike, words=1), E5_SMALL), "a word is easily said"
    six, four = (margin(replace(alike, words=words), E5_SMALL) for words in (6, 4))
    assert six < four, "any book of rules has a passage near to a sentence about rules"
    assert confident(replace(alike, match=None), E5_SMALL), (
        "where spellings are not known they speak neither way"
    )
    few = replace(alike, size=4, lead=None, likeness=0.5)
    assert confident(few, E5_SMALL), "one of a few passages has none to be ahead of"
    assert not confident(replace(alike, match=0.01), None), "the cosines of an unknown model say nothing"
    at_home = replace(FAIR, likeness=0.5, lead=0.0)
    assert margin(at_home, E5_SMALL) == margin(FAIR), "within one language words decide"


def test_a_name_that_no_passage_says_in_full_needs_more() -> None:
    name = replace(FAIR, name=True)
    assert margin(replace(name, unsaid=True)) < margin(name)
    assert margin(replace(FAIR, unsaid=True)) == margin(FAIR), "a question need not be said word by word"
    dragons = shelf(
        dragons="# Beasts\n\nThe old red dragon sleeps on gold.\n\nA young red dragon hunts by day.\n"
    )
    assert dragons.search("Young Black Dragon").evidence.unsaid
    assert not dragons.search("Young Dragon").evidence.unsaid
    assert not dragons.search("Where does the black dragon sleep at night?").evidence.unsaid


def test_a_name_needs_less_evidence_on_a_small_shelf() -> None:
    """A small shelf mentions each name once or twice, and few names of other books."""
    name = replace(FAIR, name=True)
    lower = [
        margin(replace(name, size=size)) - margin(replace(FAIR, size=size))
        for size in (20, 100, 200, 300, 3000)
    ]
    assert lower[0] == pytest.approx(lower[1])
    assert lower[1] - 0.05 > lower[2] > lower[3] + 0.05
    assert lower[3] == pytest.approx(lower[4])


def test_the_question_words_of_a_foreign_question_are_no_evidence(lanterns: Shelf) -> None:
    """Few passages say that something happens, but many say that something works."""
    plain, asked = "vela apagada?", "O que acontece com a vela apagada, como funciona?"
    words = [lanterns.search(question, language="pt").evidence.words for question in (plain, asked)]
    assert words == [2, 2]


def test_a_question_of_function_words_has_no_answer() -> None:
    assert not confident(Evidence(likeness=0.9, size=10))


FILLER = "".join(
    f"## {name}\n\nThe {name.lower()} stands by the river, and the miller knows its {thing} well.\n\n"
    for name, thing in zip(
        ("Mill", "Forge", "Granary", "Chapel", "Harbour", "Quarry", "Orchard", "Tannery"),
        ("wheel", "anvil", "corn", "bell", "boats", "stone", "apples", "hides"),
        strict=True,
    )
)


def test_a_heading_that_any_book_has_is_no_confident_answer() -> None:
    generic = ("Introduction", "Name", "Examples", "How does it work?", "Overview")
    text = "".join(f"## {name}\n\nWhat stands here is about the village.\n\n" for name in generic)
    village = shelf(village=f"# Village\n\n{text}## Tireless\n\nYou need no sleep.\n\n{FILLER}")
    for name in generic:
        assert not village.search(name).confident, name
        assert village.search(name).hits[0].titled, name  # found all the same
    assert village.search("Tireless").confident
    assert village.search("what is the forge?").confident

    aldeia = shelf(
        aldeia="# Aldeia\n\n## Nome\n\nO nome da aldeia é antigo e vem do rio que passa por ela.\n\n"
        "## Como funciona?\n\nCada casa da aldeia paga ao moinho uma parte da farinha que recebe.\n\n"
        "## Moinho\n\nO moinho fica ao lado do rio e trabalha durante o dia inteiro.\n"
    )
    assert not aldeia.search("Nome").confident
    assert not aldeia.search("Como Funciona?").confident
    assert aldeia.search("Moinho").confident


def test_a_heading_that_many_sections_share_identifies_none_of_them() -> None:
    def houses(count: int) -> Shelf:
        rooms = "".join(f"## House {n}\n\nIt has a door.\n\n### Cellar\n\nDark.\n\n" for n in range(count))
        return shelf(houses=f"# Houses\n\n{rooms}{FILLER}")

    assert houses(2).search("Cellar").confident
    assert not houses(6).search("Cellar").confident


def test_a_name_whose_words_never_occur_together_counts_against_an_answer() -> None:
    question = "Which band recorded the live album called Silver Harbour at the river festival?"
    text = (
        "# Bands\n\n## Millers\n\nThe band recorded a live album called {} at the river festival.\n\n"
        "## Elsewhere\n\nSilver was found in the hills.\n\n"
    )
    assert shelf(bands=text.format("Silver Harbour") + FILLER).search(question).evidence.apart == 0
    assert shelf(bands=text.format("Copper Hill") + FILLER).search(question).evidence.apart == 1


def test_capitals_mark_names_only_inside_a_sentence() -> None:
    assert names("Who sang Maiden Japan, and when?") == [["Maiden", "Japan"]]
    assert names("Maiden Japan") == names("WHO SANG IT?") == names("How Does Sneak Attack Work") == []
    assert names("does the Mayor of Little Rock know Amy Johnson?") == [
        ["Mayor"],
        ["Little", "Rock"],
        ["Amy", "Johnson"],
    ]
