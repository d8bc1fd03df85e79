"""Simulates thousands of councils whose judges have known faults, and counts them in a plain way and in ours.

Answers have a true quality, drawn from N(0, 1); a judge sees it with noise, and with its own faults. The
counts are those of `bot.works.council.tally`, written for arrays; `checked` compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from bot.works.council import rotation, tally
from bot.works.council.config import CouncilConfig
from bot.works.council.values import Vote

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.intp]

ROTATIONS = 1_000
"""How many runs' rotations are made and drawn from."""

Own = Literal["fair", "alike", "uneven", "blind", "runner-up"]
"""How judges see their own answer: as it is; `vanity` better; half of the judges, by coin, twice that better;
`vanity` better than an average one, whatever it is worth; as it is but for the author of the second best answer,
who sees it `vanity` better."""

Scheme = Literal["plain", "ours", "counted", "excluded"]
"""One order for all judges and the best mean rank; rotated and counted as the product does by default; the same with
self-votes counted, and excluded."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One point of the grid, in standard deviations of the answers' quality.

    `first` is added to what is shown first and taken off what is shown last, evenly in between. `lost` is the
    share of ballots that cannot be read, `alike` the share of the noise's variance that all judges have in common.
    """

    members: int
    noise: float
    first: float = 0.0
    own: Own = "fair"
    vanity: float = 0.0
    lost: float = 0.0
    alike: float = 0.0

    @property
    def biased(self) -> bool:
        return self.first > 0 or self.own != "fair"

    def __str__(self) -> str:
        own = self.own if self.own == "fair" else f"{self.own} {self.vanity:g}"
        return f"{self.members} members, noise {self.noise:g}, first {self.first:g}, own {own}, lost {self.lost:g}"


@dataclass(frozen=True, slots=True)
class Drawn:
    """`draws` councils: whether each scheme's winner is the best answer (a shared first place counts in
    part), and Kendall's W of our ballots.
    """

    right: Mapping[Scheme, Floats]
    agreement: Floats


def excludes(members: int) -> bool:
    """Whether the product leaves out self-votes by default."""
    return tally.count(range(members), [], CouncilConfig().self_votes).self_votes == "exclude"


def drawn(cell: Cell, draws: int, seed: int, *, checked: int = 0) -> Drawn:
    """The same answers, noise and lost ballots for every scheme; only the order shown and the count differ.

    The first `checked` are counted by the product, too: raises AssertionError where that has other winners.
    """
    chance = np.random.default_rng([seed, *map(ord, str(cell))])
    n = cell.members
    quality = chance.standard_normal((draws, n))
    best = quality.argmax(axis=1)
    scores_seen = _seen(cell, quality, chance)
    present = chance.random((draws, n)) >= cell.lost
    effect = cell.first * np.linspace(1.0, -1.0, n)
    ranks = _ranks(scores_seen + effect)
    rotated = _ranks(scores_seen + effect[_positions(n)[chance.integers(0, ROTATIONS, draws)]])
    winners = _counts(rotated, present)
    for which in range(checked):
        for exclude, won in winners.items():
            _check(rotated[which], present[which], won[which], exclude=exclude)
    at = np.arange(draws)
    right: dict[Scheme, Floats] = {
        "plain": _plain(ranks, present)[at, best],
        "counted": winners[False][at, best],
        "excluded": winners[True][at, best],
    }
    right["ours"] = right["excluded" if excludes(n) else "counted"]
    return Drawn(right, _agreement(rotated))


def _seen(cell: Cell, quality: Floats, chance: np.random.Generator) -> Floats:
    """(draws, judges, answers): what each judge thinks of each answer, before any effect of order."""
    draws, n = quality.shape
    noise = np.sqrt(1 - cell.alike) * chance.standard_normal((draws, n, n))
    if cell.alike:
        noise += np.sqrt(cell.alike) * chance.standard_normal((draws, 1, n))
    noise *= cell.noise
    scores_seen: Floats = quality[:, None, :] + noise
    own: Floats = np.einsum("djj->dj", scores_seen)  # a view: additions change `seen`
    if cell.own == "blind":
        own[:] = cell.vanity + np.einsum("djj->dj", noise)
    elif cell.own == "alike":
        own += cell.vanity
    elif cell.own == "uneven":
        own += 2 * cell.vanity * (chance.random((draws, n)) < 0.5)
    elif cell.own == "runner-up":
        own[np.arange(draws), quality.argsort(axis=1)[:, -2]] += cell.vanity
    return scores_seen


@cache
def _positions(n: int) -> Ints:
    """(rotations, judges, seats): the position of a seat's answer for a judge, as the product shows it."""
    shown = [rotation.display_orders(f"run-{at}", n, range(n)) for at in range(ROTATIONS)]
    positions: Ints = np.argsort(np.array(shown), axis=2)
    return positions


def _ranks(scores_seen: Floats) -> Ints:
    """(draws, judges, answers): places from 0."""
    return np.argsort(np.argsort(-scores_seen, axis=2), axis=2)


def _plain(ranks: Ints, present: NDArray[np.bool_]) -> Floats:
    """The winners by mean rank to two digits; ties go to the one that the first ballot ranks higher."""
    ballots = present.sum(axis=1)
    mean = (ranks * present[:, :, None]).sum(axis=1) / np.maximum(ballots, 1)[:, None]
    first = ranks[np.arange(len(ranks)), present.argmax(axis=1)]
    return _shared(-(mean.round(2) + first / 1_000), ballots)


def _counts(ranks: Ints, present: NDArray[np.bool_]) -> dict[bool, Floats]:
    """The winners, by whether self-votes are excluded: by score, then by the score without self-votes, then
    by first places.

    Of whole ballots the mean rank says the same as the score.
    """
    n = ranks.shape[2]
    own = np.einsum("djj->dj", ranks)[:, :, None]
    ballots = present[:, :, None] & np.ones((n, n), dtype=bool)
    counted, firsts = _score(ranks, ballots, n)
    moved = ranks - (ranks > own)  # without the judge's own, those below it move up
    excluded, firsts_moved = _score(moved, ballots & ~np.eye(n, dtype=bool), n - 1)
    judges_present = present.sum(axis=1)
    return {
        False: _shared(counted + excluded / 1e4 + firsts / 1e9, judges_present),
        True: _shared(excluded + firsts_moved / 1e9, judges_present),
    }


def _score(ranks: Ints, votes: NDArray[np.bool_], among: int) -> tuple[Floats, Ints]:
    """(draws, answers): Borda points per vote, 0 to 1, and the number of first places; -1 without a vote."""
    points = np.where(votes, (among - 1 - ranks) / max(among - 1, 1), 0.0).sum(axis=1)
    times = votes.sum(axis=1)
    score: Floats = np.where(times > 0, points / np.maximum(times, 1), -1.0)
    return score.round(12), ((ranks == 0) & votes).sum(axis=1)


def _shared(key: Floats, ballots: Ints) -> Floats:
    """(draws, answers): 1 for the largest key, divided among ties; among all if there is no ballot."""
    winners = np.abs(key - key.max(axis=1, keepdims=True)) < 1e-10
    winners[ballots == 0] = True
    share: Floats = winners / winners.sum(axis=1, keepdims=True)
    return share


def _check(ranks: Ints, present: NDArray[np.bool_], winners: Floats, *, exclude: bool) -> None:
    votes = [
        Vote(judge, [int(seat) for seat in order])
        for judge, order in enumerate(np.argsort(ranks, axis=1))
        if present[judge]
    ]
    first = tally.count(range(len(ranks)), votes, "exclude" if exclude else "count").first
    assert first == np.flatnonzero(winners).tolist() or not votes, (votes, first, winners)


def _agreement(ranks: Ints) -> Floats:
    """Kendall's W of ballots without ties or abstentions."""
    judges, n = ranks.shape[1:]
    sums = ranks.sum(axis=1)
    square_sum = ((sums - sums.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    agreement: Floats = 12 * square_sum / (judges**2 * (n**3 - n))
    return agreement
