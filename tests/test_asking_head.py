"""Whether a message asks the bot something, by its meaning too; with the real model where its files are here."""

from __future__ import annotations

import os
import tomllib
from typing import Any

import numpy as np
import pytest

from bot.asking import by_words, verdict_on, weighed
from bot.asking_head import MODEL, score
from bot.config import load
from bot.retrieval.embedding import EnPtE5
from tests.test_asks_bot import DATA

FOLDER = load(environ=os.environ).models_dir / MODEL
here = pytest.mark.skipif(
    not (FOLDER / "model.bin").is_file(), reason=f"its files: python -m bot models pull {MODEL}"
)
UNKNOWN = "fluffernutter the second act"
"""A request whose verb the rules do not know."""


class Leaning:
    """A model whose every message scores `odds`."""

    def __init__(self, odds: float) -> None:
        self.texts: list[str] = []
        self._vector = np.zeros((1, 384), np.float32)
        plain = score(self._vector[0])
        slope = score(np.eye(384, dtype=np.float32)[0]) - plain
        self._vector[0, 0] = (odds - plain) / slope

    def passages(self, texts: list[str]) -> Any:
        self.texts += texts
        return self._vector


@pytest.mark.parametrize(
    ("text", "odds", "verdict"),
    [
        (UNKNOWN, 3.0, "likely"),
        (UNKNOWN, -3.0, "no"),
        ("does anyone know how grappling works", 3.0, "yes"),
        ("does anyone know how grappling works", -3.0, "no"),
        ("what is the range of a bow", -0.5, "likely"),
        ("what is the range of a bow", -3.0, "no"),
        ("https://example.org/what", 9.0, "no"),
    ],
)
async def test_the_meaning_counts_beside_the_words(text: str, odds: float, verdict: str) -> None:
    model: Any = Leaning(odds)
    assert await verdict_on(text, embedder=model) == verdict
    assert model.texts == [text]


async def test_a_message_to_another_person_is_not_read_for_its_meaning() -> None:
    model: Any = Leaning(9.0)
    assert await verdict_on("how does it work?", replies=True, embedder=model) == "no"
    assert await verdict_on("@Ana how does it work?", mentions_people=True, embedder=model) == "no"
    assert model.texts == []


@here
@pytest.mark.parametrize(
    ("name", "answered", "disturbed"),
    [
        pytest.param("first", 0.98, 0.02, marks=pytest.mark.slow),
        pytest.param("second", 0.89, 0.05, marks=pytest.mark.slow),
        ("third", 0.85, 0.075),
        pytest.param("seventh", 0.86, 0.085, marks=pytest.mark.slow),
    ],
)
def test_questions_are_answered_and_the_rest_is_not(name: str, answered: float, disturbed: float) -> None:
    """The first two sets were fitted to; the other two, of two more authors, were not."""
    from bot.asking import asks

    model = EnPtE5(FOLDER, threads=1)
    got: dict[bool, list[bool]] = {True: [], False: []}
    for message in tomllib.loads((DATA / "fresh" / f"{name}.toml").read_text(encoding="utf-8"))["messages"]:
        text = message["text"]
        verdict = asks(text, mentions_people=message.get("mentions_people", False))
        if not message.get("mentions_people"):
            verdict = weighed(verdict, text, score(model.passages([text])[0]))
        got[message["asks"]].append(by_words(verdict, text))
    assert len(got[True]) == len(got[False]) >= 160
    assert np.mean(got[True]) >= answered
    assert np.mean(got[False]) <= disturbed
