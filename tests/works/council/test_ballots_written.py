"""Ballots that were written before the reader existed: none is read wrongly, most are read correctly."""

from __future__ import annotations

import tomllib
from itertools import combinations
from pathlib import Path

import pytest

from bot.works.council.ballot import read
from bot.works.council.values import Reading

BALLOTS = tomllib.loads((Path(__file__).parent / "ballots.toml").read_text(encoding="utf-8"))

AT_LEAST = {
    "first": 45,
    "second": 39,
    "third": 23,
    "fourth": 41,
    "fifth": 39,
    "sixth": 38,
    "seventh": 39,
    "eighth": 40,
    "ninth": 38,
    "tenth": 39,
    "eleventh": 40,
    "twelfth": 40,
    "thirteenth": 40,
    "fourteenth": 40,
    "fifteenth": 39,
    "sixteenth": 40,
    "seventeenth": 39,
    "eighteenth": 39,
    "nineteenth": 40,
    "twentieth": 37,
    "twenty-first": 38,
    "twenty-second": 40,
    "twenty-third": 39,
    "twenty-fourth": 34,
    "twenty-fifth": 38,
    "variants": 83,
}
"""How many of each batch are read as they were meant; "variants" holds what was added while the reader was mended."""


def pairs(places: dict[str, int], labels: str) -> set[tuple[str, str]]:
    """Which response precedes which; unranked ones come last, tied."""
    rest = len(labels) + 1
    made = {
        (a, b) if places.get(a, rest) < places.get(b, rest) else (b, a) for a, b in combinations(labels, 2)
    }
    return {(a, b) for a, b in made if places.get(a, rest) < places.get(b, rest)}


def meant(order: str, labels: str) -> set[tuple[str, str]]:
    groups = [group.split(" = ") for group in order.split(" > ")] if order else []
    return pairs({letter: at for at, group in enumerate(groups) for letter in group}, labels)


def said(reading: Reading, labels: str) -> set[tuple[str, str]]:
    places: dict[str, int] = {}
    place = 0
    for at in reading.ranking:
        place += at not in reading.tied
        places[labels[at]] = place
    return pairs(places, labels)


@pytest.mark.parametrize("batch", BALLOTS)
def test_ballots_are_read_as_they_were_meant_or_not_at_all(batch: str) -> None:
    wrong, safe = [], []
    for paper in BALLOTS[batch]:
        found = said(read(paper["text"], len(paper["labels"]))[0], paper["labels"])
        if found - (right := meant(paper["order"], paper["labels"])):
            wrong.append(paper["name"])
        elif found != right:
            safe.append(paper["name"])
    assert not wrong
    assert len(BALLOTS[batch]) - len(safe) >= AT_LEAST[batch], safe
