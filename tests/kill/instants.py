"""The seeded instants of the kills, spread evenly over the undisturbed run."""

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
    """Parameters for a test of shared code: `make test-slow` runs it only on the first platform."""
    left_out = pytest.mark.skipif(not ALL, reason="make test-kill has it")
    return [first, *(pytest.param(platform, marks=left_out) for platform in others)]


def sequences(name: str, *, kills: int, some: int, every: int) -> list[Sequence]:
    """(seed, shares of the run): `every` sequences of `kills` kills, or by default `some` of them with FEW at most.

    Together they kill once in each stretch of the run; chance decides which stretches share a sequence.
    """
    chance = random.Random(name)
    strikes = kills * every
    shares = [(stretch + chance.random()) / strikes for stretch in range(strikes)]
    chance.shuffle(shares)
    found = [(seed, tuple(shares[seed * kills : (seed + 1) * kills])) for seed in range(every)]
    return found if ALL else [(seed, struck[:FEW]) for seed, struck in found[:some]]
