"""The seeded instants at which the kill tests strike, spread evenly over the undisturbed course."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

ALL = os.environ.get("SUTRADHAR_KILLS") == "all"

FEW = 2
"""Strikes of a sequence by default: enough for one upon what another has left."""

Sequence = tuple[int, tuple[float, ...]]


def on_one_of(first: str, *others: str) -> list[Any]:
    """Parameters of a test that strikes what all platforms share: `make test-slow` strikes it on the first of them."""
    left_out = pytest.mark.skipif(not ALL, reason="make test-kill has it")
    return [first, *(pytest.param(platform, marks=left_out) for platform in others)]


def sequences(name: str, *, kills: int, some: int, every: int) -> list[Sequence]:
    """(seed, shares of the course): `every` sequences of `kills` strikes, or by default `some` of them, of FEW at most.

    Over all of them each stretch of the course is struck once; which stretches meet in a sequence is chance.
    """
    chance = random.Random(name)
    strikes = kills * every
    shares = [(stretch + chance.random()) / strikes for stretch in range(strikes)]
    chance.shuffle(shares)
    found = [(seed, tuple(shares[seed * kills : (seed + 1) * kills])) for seed in range(every)]
    return found if ALL else [(seed, struck[:FEW]) for seed, struck in found[:some]]
