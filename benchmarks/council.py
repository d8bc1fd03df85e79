"""Simulates which answer a council puts first, and compares our way of showing and counting answers with a
plain one.

    python -m benchmarks.council [bias] [losses] [own] [copies]

The plain way, which the project began with, shows every judge the same order, counts its vote for its own answer
too, and takes the best mean rank. Ours rotates (`bot.works.council.rotation`) and counts with the defaults of `.tally`.
The tables cover all of GRID. Gains are in points of top-1 accuracy, with
their 95 % interval by paired bootstrap.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.council_draws import Cell, Own, Scheme, drawn, excludes
from benchmarks.figures import Figure
from tests.wire.council_time import Timing, timed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SEED = 5
DRAWS = 8_000
CHECKED = 3
"""How many draws of each cell the product itself counts, too."""

SAMPLES = 2_000
AGAIN = 5
"""A cell that lost is drawn again, this many times as often; it counts as lost only if it loses again."""

TRIES = 3
"""How often a council's wall time is measured; the best counts, because anything else on the machine only adds
to it.
"""

SIZES = (3, 4, 5, 8)
NOISES = (0.5, 1.0, 2.0)
FIRST = (0.0, 0.5, 1.0)
OWN: tuple[tuple[Own, float], ...] = (
    ("fair", 0.0), ("alike", 0.5), ("alike", 1.0), ("alike", 2.0), ("uneven", 1.0), ("blind", 1.0),
    ("runner-up", 4.0),
)  # fmt: skip
LOST = (0.0, 0.2)
GRID = [
    Cell(members, noise, first, own, vanity, lost)
    for members, noise, first, (own, vanity), lost in itertools.product(SIZES, NOISES, FIRST, OWN, LOST)
]

TOLD: dict[tuple[Own, float], str] = {
    ("fair", 0.0): "as it is",
    ("alike", 0.5): "½ better, all judges alike",
    ("alike", 1.0): "1 better, all judges alike",
    ("alike", 2.0): "2 better, all judges alike",
    ("uneven", 1.0): "2 better, half of the judges",
    ("blind", 1.0): "1 better than an average one, whatever it is",
    ("runner-up", 4.0): "4 better, only the second best's author",
}


@dataclass(frozen=True, slots=True)
class Gain:
    """The gain of one scheme over another: both accuracies, and the bootstrap's samples of their difference."""

    base: float
    made: float
    sample: Floats

    @property
    def interval(self) -> tuple[float, float]:
        low, high = np.percentile(self.sample, [2.5, 97.5])
        return float(low), float(high)

    @property
    def loses(self) -> bool:
        return self.interval[1] < 0

    @property
    def wins(self) -> bool:
        return self.interval[0] > 0

    def __str__(self) -> str:
        low, high = (100 * edge for edge in self.interval)
        text = f"{100 * (self.made - self.base):+.1f} ({low:+.1f} to {high:+.1f})".replace("-", "−")
        return f"**{text}**" if self.wins or self.loses else text


@cache
def right(cell: Cell, draws: int, seed: int) -> dict[Scheme, Floats]:
    return dict(drawn(cell, draws, seed, checked=CHECKED).right)


def gain(
    cells: Sequence[Cell], scheme: Scheme = "ours", base: Scheme = "plain", draws: int = 0, seed: int = SEED
) -> Gain:
    """The gain over all cells, equally weighted; resampled within each."""
    chance = np.random.default_rng(seed)
    shares = [right(cell, draws or DRAWS, seed) for cell in cells]
    samples = np.mean(
        [_resampled(share[scheme] - share[base], chance) for share in shares],
        axis=0,
    )
    return Gain(
        float(np.mean([share[base].mean() for share in shares])),
        float(np.mean([share[scheme].mean() for share in shares])),
        samples,
    )


def _resampled(values: Floats, chance: np.random.Generator) -> Floats:
    """Means of bootstrap samples. There are few different values, so it is enough to draw how often each
    occurs.
    """
    different, times = np.unique(values, return_counts=True)
    drawn_times = chance.multinomial(len(values), times / len(values), SAMPLES)
    means: Floats = drawn_times @ different / len(values)
    return means


def where(**attributes: object) -> list[Cell]:
    return [cell for cell in GRID if all(getattr(cell, name) == value for name, value in attributes.items())]


def bias() -> Iterator[str]:
    """Ours compared with the plain way, by the judges' faults."""
    yield "| shown first | one's own answer | " + " | ".join(f"{n} members" for n in SIZES) + " |"
    yield "|---|---|" + "---:|" * len(SIZES)
    for first, (own, vanity) in itertools.product(FIRST, OWN):
        cells = []
        for members in SIZES:
            comparison = gain(where(members=members, first=first, own=own, vanity=vanity, lost=0.0))
            cells.append(f"{100 * comparison.base:.1f} → {100 * comparison.made:.1f}: {comparison}")
        firstness = f"{first:g} better" if first else "as the rest"
        yield f"| {firstness} | {TOLD[own, vanity]} | {' | '.join(cells)} |"


def losses() -> Iterator[str]:
    """Every cell of the grid in which ours loses, and its result when simulated again."""
    lost = [cell for cell in GRID if gain([cell]).loses]
    won = sum(gain([cell]).wins for cell in GRID)
    second_draw = {cell: gain([cell], draws=AGAIN * DRAWS, seed=SEED + 1) for cell in lost}
    lasting = [cell for cell in lost if second_draw[cell].loses]
    fair = [cell for cell in GRID if not cell.biased]
    yield (
        f"{len(GRID)} cells, {DRAWS} draws each: ours wins in {won}, loses in {len(lost)} (by chance alone "
        f"{0.025 * len(GRID):.0f} would, were there no difference anywhere), and again in {len(lasting)} of these, "
        f"with {AGAIN * DRAWS} new draws. Of the {len(fair)} without bias it loses in "
        f"{sum(cell in lost for cell in fair)}, and again in {sum(cell in lasting for cell in fair)}."
    )
    yield ""
    yield "| cell | gain | drawn again |"
    yield "|---|---:|---:|"
    for cell in lost:
        yield f"| {cell} | {gain([cell])} | {second_draw[cell]} |"


def own() -> Iterator[str]:
    """The gain from leaving out self-votes, both rotated."""
    yield "| one's own answer | " + " | ".join(f"{n} members" for n in SIZES) + " |"
    yield "|---|" + "---:|" * len(SIZES)
    for kind, vanity in OWN:
        gains = [
            gain(where(members=n, first=0.0, own=kind, vanity=vanity, lost=0.0), "excluded", "counted")
            for n in SIZES
        ]
        yield f"| {TOLD[kind, vanity]} | {' | '.join(map(str, gains))} |"


def copies() -> Iterator[str]:
    """Judges with the same errors: the effect on the winner and on their agreement."""
    yield "| errors in common | " + " | ".join(f"{n} members: right, W" for n in SIZES) + " |"
    yield "|---|" + "---:|" * len(SIZES)
    for alike in (0.0, 0.5, 0.9):
        cells = []
        for members in SIZES:
            counted = drawn(Cell(members, 1.0, alike=alike), DRAWS, SEED)
            cells.append(f"{100 * counted.right['ours'].mean():.1f} %, {counted.agreement.mean():.2f}")
        yield f"| {100 * alike:.0f} % | {' | '.join(cells)} |"


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "bias": bias, "losses": losses, "own": own, "copies": copies,
}  # fmt: skip


def figures() -> Iterator[Figure]:
    """The figures for `make bench`: a quarter of the draws, and how long a council of eight takes."""
    draws = DRAWS // 4
    fair = gain([cell for cell in GRID if not cell.biased], draws=draws)
    yield Figure(
        "right winner, over the plain way's: judges without bias", str(fair), "no loss", "", not fair.loses
    )
    for members in SIZES:
        comparison = gain(where(members=members, first=1.0, own="fair", lost=0.0), draws=draws)
        label = f"right winner, over the plain way's: what stands first seems 1 better, {members} members"
        yield Figure(label, str(comparison), "a gain", "", comparison.wins)
    timing = min((_timed() for _ in range(TRIES)), key=lambda timed: timed.ratio)
    yield Figure(
        "eight members, wall time over the sum of each stage's slowest call",
        f"{timing.ratio:.3f} ({timing.wall_s:.2f} s)",
        "≤ 1.05",
        "1",
        timing.ratio <= 1.05,
    )


def _timed() -> Timing:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(timed(Path(folder)))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.council")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    excluded = [members for members in SIZES if excludes(members)]
    print(f"Self-votes are left out by default with {excluded or 'no number of'} members.")
    for part in parser.parse_args(arguments).parts or PARTS:
        print(f"\n### {PARTS[part].__doc__}\n", flush=True)
        for line in PARTS[part]():
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
