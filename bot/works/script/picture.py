"""The pictures of a script's report, as PNGs: its pace, who is where, and who is with whom.

Pure, and blocking (a second or two the first time): call it in a thread. Knows no words except its arguments. The
pictures have their own background, so that they are readable on dark and light pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bot.drawing import COLOURS, INK, PAPER, RULE, alone, bare, plain, png, sheet
from bot.works.script.length import pages

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bot.works.script.model import Script
    from bot.works.script.report import Presence

NAME_CHARS: Final = 18
"""The maximum length of a name in a picture; longer names are cut."""
SHOWN: Final = 12
"""How many characters are in a picture: those who speak in the most scenes."""
BARS: Final = 300
"""Up to this many scenes each have a bar: with more, nobody sees the gaps, and each bar takes time."""
_WINDOW: Final = 9
"""Over how many scenes the share of dialogue is averaged: that of single scenes varies too much."""


def pace(script: Script, title: str, lengths: str, dialogue: str) -> bytes:
    """Draw a bar for each scene, as high as its length in pages, and a line for the share of dialogue around it."""
    numbers = [scene.number for scene in script.scenes]
    with alone:
        figure, axes = sheet(4.2, title)
        high = [scene.eighths / 8 for scene in script.scenes]
        if len(numbers) <= BARS:
            axes.bar(numbers, high, width=0.9, color=COLOURS[0])
        else:
            axes.fill_between(numbers, high, step="mid", color=COLOURS[0], linewidth=0)
            axes.set_ylim(0)
        from matplotlib.ticker import MultipleLocator

        step = next((step for step in (1 / 8, 1 / 2, 1.0) if max(high, default=0) <= 8 * step), 5.0)
        axes.yaxis.set_major_locator(MultipleLocator(step))
        axes.yaxis.set_major_formatter(lambda height, _: pages(round(8 * height)))
        _whole_scenes(axes)
        axes.set_ylabel(plain(lengths), color=COLOURS[0], fontsize=9)
        axes.set_xlim(0.3, len(numbers) + 0.7)
        right = axes.twinx()
        right.plot(numbers, _shares(script), color=COLOURS[1], linewidth=2)
        right.set_ylim(0, 100)
        right.set_ylabel(plain(dialogue), color=COLOURS[1], fontsize=9)
        bare(axes)
        bare(right)
        return png(figure)


def _shares(script: Script) -> list[float]:
    """The percentage of dialogue among the words of dialogue and action, around each scene."""
    half = _WINDOW // 2
    percentages = []
    for at in range(len(script.scenes)):
        nearby = script.scenes[max(0, at - half) : at + half + 1]
        spoken = sum(scene.dialogue_words for scene in nearby)
        percentages.append(100 * spoken / max(1, spoken + sum(scene.action_words for scene in nearby)))
    return percentages


def presence(presences: Sequence[Presence], scenes: int, title: str) -> bytes:
    """Draw a row for each character, with a mark for each scene in which they speak."""
    shown = presences[:SHOWN]
    with alone:
        figure, axes = sheet(1.4 + 0.32 * len(shown), title)
        for row, presence in enumerate(shown):
            axes.hlines(-row, 1, scenes, color=RULE, linewidth=0.8)
            axes.plot(
                presence.scenes,
                [-row] * len(presence.scenes),
                "|",
                color=COLOURS[row % len(COLOURS)],
                ms=11,
                mew=2,
            )
        axes.set_yticks([-row for row in range(len(shown))], [_name(presence.name) for presence in shown])
        axes.set_xlim(0.3, scenes + 0.7)
        axes.set_ylim(-len(shown) + 0.4, 0.6)
        _whole_scenes(axes)
        bare(axes, INK)
        return png(figure)


def together(presences: Sequence[Presence], scenes: Sequence[Sequence[int]], title: str) -> bytes:
    """Draw a square of numbers: in how many scenes each pair speaks. The colour only supports the number."""
    names = [_name(presence.name) for presence in presences[: len(scenes)]]
    most = max((count for row in scenes for count in row), default=1) or 1
    with alone:
        figure, axes = sheet(1.9 + 0.42 * len(names), title)
        for row, counts in enumerate(scenes):
            for column, count in enumerate(counts):
                if not count:
                    continue
                shade = 0.12 + 0.88 * count / most
                axes.barh(-row, 0.94, 0.94, left=column - 0.47, color=COLOURS[0], alpha=shade)
                ink = PAPER if shade > 0.8 else INK
                axes.text(column, -row, str(count), color=ink, fontsize=9, ha="center", va="center")
        axes.set_xticks(range(len(names)), names, rotation=40, ha="left")
        axes.set_yticks([-row for row in range(len(names))], names)
        axes.xaxis.tick_top()
        axes.set_xlim(-0.6, len(names) - 0.4)
        axes.set_ylim(-len(names) + 0.4, 0.6)
        bare(axes, INK)
        return png(figure)


def _whole_scenes(axes: Axes) -> None:
    """Number the scenes below by whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _name(name: str) -> str:
    name = plain(name)
    return name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS - 1]}…"
