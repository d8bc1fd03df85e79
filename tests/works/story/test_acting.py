"""A table of sentences about a player's character: which ones act or speak for it, and which do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.works.story.test_players import players

CASES = Path(__file__).parents[2] / "data" / "players"


def cases(name: str) -> list[str]:
    return (CASES / name).read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("side", ["develop", "held"])
def test_the_shape_of_a_sentence_tells_who_acts(side: str) -> None:
    """Bo's player takes the turn, and each sentence is about Mira; the code was not fitted to the held-back
    half.
    """
    watching = players(by="Bo")
    acts, may = cases(f"acts.{side}.txt"), cases(f"may.{side}.txt")
    missed = [
        sentence for sentence in acts if "Mira" not in watching.acted_for(sentence) and not _user(sentence)
    ]
    taken = [sentence for sentence in may if "Mira" in watching.acted_for(sentence)]
    assert len(acts) + len(may) >= 150
    assert len(missed) <= 0.05 * len(acts), missed
    assert len(taken) <= 0.03 * len(may), taken


def _user(sentence: str) -> bool:
    return sentence.startswith(("User:", "{{user}}:", "Usuário:")) and bool(players().acted_for(sentence))


def test_the_character_who_takes_the_turn_does_nothing_new() -> None:
    new = ["Mira unlocks the hatch.", "Mira throws the lamp.", "Mira jogou a corda.", "Mira beija Bo."]
    for sentence in (*new, "*Mira steps onto the ladder and climbs down.*", "Mira: I go down the ladder."):
        assert players().acted_for(sentence) == ["Mira"], sentence
    done = [
        ("I light the lamp.", "Mira lights the lamp, and nods."),
        ("I go down the ladder.", "Mira climbs down the ladder."),
        ("I go down the ladder.", "Mira: I go down the ladder."),
        ("I pick the lock with a pin.", "Mira works the pin into the lock."),
        ("I hit the eel.", "Mira swings the oar."),
    ]
    for turn, sentence in done:
        assert players(turn).acted_for(sentence) == [], sentence
