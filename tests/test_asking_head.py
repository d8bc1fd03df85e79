"""Whether a message is for the bot, judged by its meaning; the real model is used if its files are on this
machine.
"""

from __future__ import annotations

import os
import tomllib
from typing import Any

import numpy as np
import pytest

from bot.asking import by_words, verdict_on, weighed
from bot.asking_head import MODEL, odds, score
from bot.config import load
from bot.retrieval.embedding import EnPtE5
from tests.kill.instants import ALL
from tests.test_asks_bot import DATA

FOLDER = load(environ=os.environ).models_dir / MODEL
here = pytest.mark.skipif(
    not (FOLDER / "model.bin").is_file(), reason=f"its files: python -m bot models pull {MODEL}"
)
UNKNOWN = "fluffernutter the second act"
"""A request whose verb the rules do not know."""


class Leaning:
    """A model whose every message scores `odds`; `monkeypatch` replaces the networks."""

    def __init__(self, odds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.texts: list[str] = []
        self._odds = odds
        monkeypatch.setattr("bot.asking_head.odds", lambda weights, states: float(states[0, 0]))

    def states(self, text: str) -> Any:
        self.texts.append(text)
        return np.full((1, 1), self._odds, np.float32)


def test_the_odds_are_the_mean_of_networks_that_pool_by_attention_and_maximum() -> None:
    """Two networks of one input, one unit and one head; the second network's head attends to all tokens alike."""
    weights = {
        "project": np.array([[[1]], [[2]]], np.float32),
        "shift": np.array([[[0]], [[-1]]], np.float32),
        "attend": np.array([[[np.log(3)]], [[0]]], np.float32),
        "out": np.array([[[4], [1]], [[1], [2]]], np.float32),
        "bias": np.array([0.5, -0.5], np.float32),
    }
    states = np.array([[1], [-1]], np.float32)
    # Units: 1 and 0, attention 3/4 and 1/4; and 1 and 0 with half each.
    assert odds(weights, states) == pytest.approx((4 * 0.75 + 1 + 1 * 0.5 + 2) / 2)


@pytest.mark.parametrize(
    ("text", "odds", "verdict"),
    [
        (UNKNOWN, 3.0, "likely"),
        (UNKNOWN, -3.0, "no"),
        ("does anyone know how grappling works", 3.0, "yes"),
        ("does anyone know how grappling works", -3.0, "no"),
        ("what is the range of a bow", -0.2, "likely"),
        ("what is the range of a bow", -3.0, "no"),
        ("https://example.org/what", 9.0, "no"),
    ],
)
async def test_the_meaning_counts_beside_the_words(
    text: str, odds: float, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Leaning(odds, monkeypatch)
    assert await verdict_on(text, encoder=model) == verdict
    assert model.texts == [text]


async def test_a_message_to_another_person_is_not_read_for_its_meaning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = Leaning(9.0, monkeypatch)
    assert await verdict_on("how does it work?", replies=True, encoder=model) == "no"
    assert await verdict_on("@Ana how does it work?", mentions_people=True, encoder=model) == "no"
    assert model.texts == []


@here
@pytest.mark.parametrize(
    ("name", "answered", "disturbed"),
    [
        ("third", 0.92, 0.04),
        pytest.param(
            *("seventh", 0.89, 0.03),
            marks=[pytest.mark.slow, pytest.mark.skipif(not ALL, reason="make test-kill has it")],
        ),
        pytest.param("unseen", 0.95, 0.05, marks=pytest.mark.slow),
    ],
)
def test_questions_are_answered_and_other_messages_are_not(
    name: str, answered: float, disturbed: float
) -> None:
    """Nothing was fitted to these sets, which are by three authors; only `make test-kill` reads the seventh."""
    from bot.asking import asks

    model = EnPtE5(FOLDER, threads=1)
    got: dict[bool, list[bool]] = {True: [], False: []}
    for message in tomllib.loads((DATA / "fresh" / f"{name}.toml").read_text(encoding="utf-8"))["messages"]:
        text = message["text"]
        verdict = asks(text, mentions_people=message.get("mentions_people", False))
        if not message.get("mentions_people"):
            verdict = weighed(verdict, text, score(model, text))
        got[message["asks"]].append(by_words(verdict, text))
    assert min(len(got[True]), len(got[False])) >= 160
    assert np.mean(got[True]) >= answered
    assert np.mean(got[False]) <= disturbed
