"""The order and the letters under which each judge sees the responses. Knows no answer and no model.

Judges prefer the first (or last) response, so no single order is fair; the orders together are.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from string import ascii_uppercase
from typing import TypeVar

T = TypeVar("T")


def display_orders(seed: str, judges: int, seats: Sequence[int]) -> list[list[int]]:
    """One row for each judge: the seats by display position. The same seed always gives the same rows.

    A Latin square: with as many judges as seats, each seat is at each position once; with fewer, at none twice. It is
    the one of Williams (1949, "Experimental designs balanced for the estimation of residual effects of treatments"):
    with an even number of seats, each also comes before each other one as often as after it, and next to each other one
    equally often; with an odd number this takes two squares, the second mirrored.
    """
    chance = random.Random(f"council/rotation/{seed}")
    n = len(seats)
    base = _shuffled(list(seats), chance)
    # 0, n-1, 1, n-2, …: the distances between neighbours are all different.
    zigzag = [step // 2 if step % 2 == 0 else n - 1 - step // 2 for step in range(n)]
    rows: list[list[int]] = []
    while len(rows) < judges:
        mirrored = n > 0 and len(rows) // n % 2 == 1
        order = zigzag[::-1] if mirrored else zigzag
        square = [[base[(at + row) % n] for at in order] for row in range(n)]
        rows += _shuffled(square, chance) if square else [[]]
    return rows[:judges]


def label(position: int) -> str:
    """The letter of a display position, from 0."""
    return ascii_uppercase[position]


def labels(n: int) -> list[str]:
    """The letters of `n` responses."""
    return list(ascii_uppercase[:n])


def _shuffled(values: list[T], chance: random.Random) -> list[T]:
    # Only a seed's `random()` is guaranteed to stay the same in later versions of Python; `shuffle` is not.
    drawn = [(chance.random(), at) for at in range(len(values))]
    return [values[at] for _, at in sorted(drawn)]
