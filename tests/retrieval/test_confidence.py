"""When to answer, and when to say that nothing was found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bot.readers import read
from bot.retrieval.chunk import chunks
from bot.retrieval.confidence import Evidence, confident
from bot.retrieval.lexical import Segment
from bot.retrieval.shelf import Shelf, ShelvedDocument

EXAMPLES = Path(__file__).parents[2] / "examples"
FAIR = Evidence(share=0.4, worth=1.0, words=4, size=1000)


def shelf(*names: str) -> Shelf:
    shelved = []
    for name in names:
        document = read(name, (EXAMPLES / name).read_bytes())
        made = chunks(document, child_chars=800, parent_chars=2000)
        sections = [(section.title, section.path) for section in document.sections]
        segment = Segment.build(made, document.language)
        shelved.append(
            ShelvedDocument(
                name, document.title, document.language, sections, [one.section for one in made], segment
            )
        )
    return Shelf(shelved)


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
def test_one_short_book_is_silent_on_other_matters(lanterns: Shelf, both: Shelf, question: str) -> None:
    assert not lanterns.search(question).confident
    assert not both.search(question).confident


def test_a_foreign_question_needs_a_sure_word_and_most_of_what_it_may_mean() -> None:
    told = Evidence(worth=1.0, words=10, size=1300, foreign=True, match=0.3)
    assert confident(told)
    assert not confident(replace(told, worth=0.0))
    assert not confident(replace(told, match=0.1))
    assert not confident(replace(told, match=None, share=1.0, worth=9.0))
    assert not confident(replace(told, words=3))


def test_a_title_is_enough() -> None:
    assert confident(Evidence(title=True))
    assert not confident(Evidence())


def test_more_is_asked_of_large_shelves_short_questions_and_names() -> None:
    scores = [share / 1000 for share in range(1000)]

    def least(found: Evidence) -> float:
        return next(share for share in scores if confident(replace(found, share=share)))

    usual = least(FAIR)
    assert least(replace(FAIR, size=100_000)) > usual
    assert least(replace(FAIR, words=1)) > usual
    assert least(replace(FAIR, name=True)) > usual
    assert least(replace(FAIR, worth=2.0)) < usual


def test_likeness_speaks_for_and_against() -> None:
    assert confident(FAIR)
    assert not confident(replace(FAIR, likeness=0.5))
    assert confident(replace(FAIR, share=0.2, likeness=0.75))
    assert not confident(replace(FAIR, share=0.2))


def test_a_question_of_function_words_asks_nothing() -> None:
    assert not confident(Evidence(likeness=0.9, size=10))
