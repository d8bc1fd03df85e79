"""Which messages in a channel are for the bot, judged by their words.

The held-back half was looked at once, and the rules mended after it: see docs/decisions.md for what came out before.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import time
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from bot.asking import asks, by_words
from tests.test_imports import HEAVY

DATA: Final = Path(__file__).parent / "data" / "asking"
Message = dict[str, Any]


@cache
def messages(half: str) -> list[Message]:
    """The messages to develop with, or the held-back ones: a hash of the text decides."""
    files = [tomllib.loads(file.read_text(encoding="utf-8")) for file in sorted(DATA.glob("*.toml"))]
    return [
        message
        for file in files
        for message in file["messages"]
        if (hashlib.sha256(message["text"].encode()).digest()[0] % 2 == 1) == (half == "held back")
    ]


def answered(message: Message) -> bool:
    """Whether the bot answers without a model."""
    verdict = asks(
        message["text"],
        mentions_people=message.get("mentions_people", False),
        replies=message.get("replies", False),
    )
    return by_words(verdict, message["text"])


def test_the_set_of_messages_is_large_and_balanced() -> None:
    both = messages("develop") + messages("held back")
    assert len({(message["language"], message["text"]) for message in both}) == len(both) >= 1_000
    for language in ("en", "pt"):
        part = [message["asks"] for message in both if message["language"] == language]
        assert 0.4 <= len(part) / len(both) <= 0.6
        assert 0.4 <= sum(part) / len(part) <= 0.6


@pytest.mark.parametrize("half", ["develop", "held back"])
@pytest.mark.parametrize("language", ["en", "pt"])
def test_questions_are_answered_and_other_messages_are_not(half: str, language: str) -> None:
    of_language = [message for message in messages(half) if message["language"] == language]
    questions = [message for message in of_language if message["asks"]]
    rest = [message for message in of_language if not message["asks"]]
    missed = [message["text"] for message in questions if not answered(message)]
    disturbed = [message["text"] for message in rest if answered(message)]
    assert len(missed) <= 0.05 * len(questions), (len(questions), missed)
    assert len(disturbed) <= 0.05 * len(rest), (len(rest), disturbed)


@pytest.mark.parametrize(
    ("name", "reach", "disturbance"), [("first", 0.98, 0.02), ("second", 0.77, 0.1), ("third", 0.77, 0.15)]
)
def test_rules_on_words_work_on_messages_that_they_were_not_adapted_to(
    name: str, reach: float, disturbance: float
) -> None:
    """The rules were adapted to the first of these sets alone."""
    fresh = tomllib.loads((DATA / "fresh" / f"{name}.toml").read_text(encoding="utf-8"))["messages"]
    assert len({message["text"] for message in fresh}) == len(fresh) == 320
    questions = [answered(message) for message in fresh if message["asks"]]
    rest = [answered(message) for message in fresh if not message["asks"]]
    assert len(questions) == len(rest) == 160
    assert sum(questions) / 160 >= reach
    assert sum(rest) / 160 <= disturbance


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("bárbaro pode conjurar em fúria", "unsure"),  # told or asked
        ("fighters get a third attack at level 11?", "unsure"),
        ("", "no"),
        ("?", "no"),
        ("👀", "no"),
        ("```py\nhow = 1\n```", "no"),
        ("> how does it stack?", "no"),
        ("https://example.org/what-is-cover?", "no"),
    ],
)
def test_undecided_words_leave_it_open(text: str, verdict: str) -> None:
    assert asks(text) == verdict


def test_a_question_to_another_person_is_not_answered() -> None:
    question = "how does grappling work?"
    assert asks(question) == "likely", "it may be to the others: a small model looks, where there is one"
    assert asks(question, replies=True) == "no"
    assert asks(f"@Ana {question}", mentions_people=True) == "no"
    assert asks(f"<@U123|Ana> {question}", mentions_people=True) == "no"
    assert asks(question, mentions_people=True) == "no"  # the platform names them apart from the text
    assert asks(f"@Ana and I want to know: {question}", mentions_people=True) == "likely"
    assert asks(f"@Ana anyone know {question}", mentions_people=True) == "yes"


HOSTILE: Final = (
    *(
        "a",
        "? ",
        "so ",
        "how ",
        "`",
        '"',
        "> \n",
        "* ",
        "<@",
        "@a ",
        "\n",
        " ",
        "_",
        ":a:",
        "(",
        "x, ",
        "a. ",
        "\t*",
    ),
    *(
        "nao sei ",
        "the cost ",
        "do not understand ",
        "i am just so ",
        "eu ainda nao ",
        "anyone a a ",
        "tell me ",
    ),
    *("trying to a b c ", "é", "\u0301", "\ufdfa", "https://", "e ai ", "can you please ", "voce pode "),
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_takes_no_longer_than_other_text(text: str) -> None:
    began = time.process_time()
    asks((text * 10_000)[:10_000])
    assert time.process_time() - began < 0.5


def test_a_message_takes_under_five_milliseconds() -> None:
    texts = [message["text"] for message in messages("develop")]
    began = time.process_time()
    for text in texts:
        asks(text)
    assert (time.process_time() - began) / len(texts) < 0.005


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, bot.asking; print(*sys.modules)"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*HEAVY, "bot.llm", "bot.retrieval"} & set(seen.stdout.split()) == set()


@pytest.mark.parametrize(
    "text",
    [
        "Can you tell me why the sky is blue?",
        "Could you explain how grappling works?",
        "When you roll a 1, what happens?",
        "Can you tell me how far a dwarf sees",
    ],
)
def test_a_verb_before_you_is_not_a_name(text: str) -> None:
    assert asks(text) in ("yes", "likely")


def test_a_name_before_you_is_recognised() -> None:
    assert (
        asks("Bob you coming?") == asks("Mira, you free tonight?") == asks("Can you come at eight?") == "no"
    )
