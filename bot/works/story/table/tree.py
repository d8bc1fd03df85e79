"""The branches of a story as a tree: lines of text, and a picture, which takes a second or two the first time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Final

from bot.drawing import COLOURS, DPI, INK, PALE, PAPER, alone
from bot.words import Words
from bot.works.story import limits
from bot.works.story.log.story import Story

if TYPE_CHECKING:
    from storage.stories import BranchRow

NAME_CHARS: Final = limits.BRANCH_CHARS
DRAWN = 40
"""The maximum number of branches in a picture: the latest ones."""


@dataclass(frozen=True, slots=True)
class Twig:
    """A branch in the tree. `parent` is its parent's index in the list, -1 for none, and `depth` the number of parents.

    It leaves its parent after the scene with the number `leaves`.
    """

    id: str
    name: str
    code: str
    parent: int
    depth: int
    leaves: int
    length: int
    current: bool


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches in the order of a tree: each is followed by its own branches, the earliest first."""

    rows: list[Twig]

    @classmethod
    def of(
        cls, rows: Sequence[BranchRow], stories: Mapping[str, Story], current: str, say: Words
    ) -> Branches:
        by_parent: dict[str, list[BranchRow]] = {}
        for row in rows:
            by_parent.setdefault(row.parent, []).append(row)
        twigs: list[Twig] = []
        waiting = [(row, -1, 0) for row in by_parent.get("", ())]
        while waiting:
            row, parent, depth = waiting.pop()
            story = stories[row.id]
            leaves = story.path.index(row.turn) + 1 if row.turn in story.path else 0
            name = (row.name or say("story.main_branch"))[:NAME_CHARS]
            twig = Twig(row.id, name, row.alias, parent, depth, leaves, story.length, row.id == current)
            twigs.append(twig)
            place = len(twigs) - 1
            waiting += [(child, place, depth + 1) for child in reversed(by_parent.get(row.id, ()))]
        return cls(twigs)


def lines(branches: Branches, say: Words) -> list[str]:
    """The tree as a nested Markdown list."""
    lines = []
    for twig in branches.rows:
        key = "story.branch_line" if twig.parent >= 0 else "story.branch_first"
        size = say(key, leaves=twig.leaves, length=twig.length)
        name = f"**{twig.name}**" + (f" ← {say('story.you_are_here')}" if twig.current else "")
        lines.append(f"{'  ' * twig.depth}- {name} · {size} · `{twig.code}`")
    return lines


async def picture(branches: Branches) -> bytes:
    """A PNG with one line for each branch, from the point where it left its parent, as long as its number of scenes."""
    return await asyncio.to_thread(
        _drawn, branches.rows[-DRAWN:] if len(branches.rows) > DRAWN else branches.rows
    )


def _drawn(rows: Sequence[Twig]) -> bytes:
    from matplotlib.figure import Figure

    places = {twig.id: n for n, twig in enumerate(rows)}
    with alone:
        figure = Figure(figsize=(8.0, 1.0 + 0.5 * len(rows)), dpi=DPI, facecolor=PAPER)
        axes = figure.add_axes((0.04, 0.12, 0.92, 0.84), facecolor=PAPER)
        longest = max(twig.length for twig in rows) or 1
        for n, twig in enumerate(rows):
            y, colour = -n, COLOURS[n % len(COLOURS)]
            begins = twig.leaves
            if twig.parent >= 0 and 0 <= twig.parent < len(rows):
                parent = places[rows[twig.parent].id]
                axes.plot([begins, begins], [-parent, y], color=PALE, linewidth=1.2, zorder=1)
            axes.plot([begins, max(twig.length, begins)], [y, y], color=colour, linewidth=3, zorder=2)
            mark = "o" if not twig.current else "D"
            axes.plot([max(twig.length, begins)], [y], mark, color=colour, markersize=7, zorder=3)
            # A dollar sign would begin a formula.
            name = twig.name.replace("$", r"\$")
            weight = "bold" if twig.current else "normal"
            axes.text(begins + longest * 0.01, y + 0.16, name, color=INK, fontsize=10, fontweight=weight)
        axes.set_xlim(-0.02 * longest, longest * 1.06)
        axes.set_ylim(-len(rows) + 0.4, 0.8)
        axes.set_yticks([])
        for side in ("top", "left", "right"):
            axes.spines[side].set_visible(False)
        axes.tick_params(colors=PALE, labelsize=9)
        out = BytesIO()
        figure.savefig(out, format="png", facecolor=PAPER)
    return out.getvalue()
