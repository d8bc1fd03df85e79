"""The picture for `usage`: a bar for each group, or for each day with its parts, as a PNG.

Blocking (a second or two the first time): call it in a thread. Knows no words except its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bot.drawing import COLOURS, INK, PALE, RULE, alone, bare, plain, png, sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bot.works.house.bars import Bars

NAME_CHARS: Final = 24
"""The maximum length of a name in the picture; longer names are cut."""
DATES: Final = 8
"""How many days have their dates written."""


def draw(bars: Bars, mark: Callable[[float], str]) -> bytes:
    """The picture as a PNG; `mark` formats an amount."""
    with alone:
        by_day = bars.by == "day"
        figure, axes = sheet(3.6 if by_day else 1.3 + 0.34 * len(bars.names), bars.title)
        (_vertical_bars if by_day else _horizontal_bars)(axes, bars, mark)
        bare(axes, PALE if by_day else INK)
        return png(figure)


def _vertical_bars(axes: Axes, bars: Bars, mark: Callable[[float], str]) -> None:
    """Draw a bar for each day, in coloured parts."""
    at = range(len(bars.names))
    below = [0.0] * len(bars.names)
    for n, (name, amounts) in enumerate(bars.parts.items()):
        colour = COLOURS[n % len(COLOURS)]
        axes.bar(at, amounts, bottom=below, width=0.85, color=colour, linewidth=0, label=_cut(name))
        below = [low + amount for low, amount in zip(below, amounts, strict=True)]
    step = max(1, -(-len(bars.names) // DATES))
    axes.set_xticks(list(at)[::step], bars.names[::step])
    axes.yaxis.set_major_formatter(lambda value, _: plain(mark(value)))
    axes.grid(axis="y", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_ylim(0)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="upper left", bbox_to_anchor=(1, 1))


def _horizontal_bars(axes: Axes, bars: Bars, mark: Callable[[float], str]) -> None:
    """Draw a bar for each group, the largest at the top, with its amount."""
    (amounts,) = bars.parts.values()
    at = [-n for n in range(len(bars.names))]
    axes.barh(at, amounts, height=0.62, color=COLOURS[0], linewidth=0)
    for y, amount in zip(at, amounts, strict=True):
        axes.text(amount, y, "  " + plain(mark(amount)), color=PALE, fontsize=8.5, va="center")
    axes.set_yticks(at, [_cut(name) for name in bars.names])
    axes.set_xticks([])
    axes.set_xlim(0, 1.18 * max(amounts))


def _cut(name: str) -> str:
    return plain(name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS - 1]}…")
