"""The chart of `council stats`: the members' results from council to council, as a PNG.

Pure, and blocking (a second or two the first time): call it in a thread. Knows no storage and no words except its
arguments. It has its own background, so that it is readable on dark and light pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from io import BytesIO
from typing import TYPE_CHECKING, Any

from bot.drawing import COLOURS, DPI, INK, PALE, PAPER, RULE, alone
from bot.markdown import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES = (8.0, 6.4)
MARKS = ("o", "s", "^", "D", "v", "P", "X", "h")

NAME_CHARS = 20
LINE_CHARS = 100
DATES = 6
DOTS = 60
"""Up to this many councils each have a dot; more dots would overlap."""


@dataclass(frozen=True, slots=True)
class Series:
    """The results of one member: `values[i]` belongs to council number `at[i]` (from 0), `trend` is the smoothed line
    through them.
    """

    name: str
    at: Sequence[int]
    values: Sequence[float]
    trend: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """`mark` formats a value of the axis; `high` is the end of the axis, None to fit the values.

    A member has the same index in every panel's `series`, which decides its colour.
    """

    title: str
    series: Sequence[Series]
    mark: Callable[[float], str]
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """The first panel is the large one. `dates` are those of the councils, oldest first."""

    title: str
    subtitle: str
    dates: Sequence[date]
    panels: Sequence[Panel] = field(default_factory=tuple)


def draw(chart: Chart) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with alone:
        figure = Figure(figsize=INCHES, dpi=DPI, facecolor=PAPER, edgecolor=RULE, linewidth=2)
        FigureCanvasAgg(figure)
        _write(figure, 0.045, 0.955, chart.title, INK, size=15, weight="bold")
        _write(figure, 0.045, 0.912, chart.subtitle, PALE, size=9)
        large, *small = chart.panels
        _panel(
            figure.add_axes((0.085, 0.435 if small else 0.1, 0.69, 0.395 if small else 0.72)), large, chart
        )
        for n, panel in enumerate(small[:2]):
            width = 0.38 if len(small) > 1 else 0.86
            _panel(figure.add_axes((0.085 + n * 0.48, 0.08, width, 0.225)), panel, chart, small=True)
        out = BytesIO()
        figure.savefig(out, format="png", facecolor=PAPER, edgecolor=RULE, metadata={"Software": None})
        return out.getvalue()


def _panel(axes: Axes, panel: Panel, chart: Chart, *, small: bool = False) -> None:
    axes.set_facecolor(PAPER)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(RULE)
    axes.grid(axis="y", color=RULE, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=PALE)
    axes.text(
        0, 1.06 if not small else 1.1, panel.title, transform=axes.transAxes, color=INK,
        fontsize=10 if not small else 9.5, fontweight="bold", va="bottom", parse_math=False,
    )  # fmt: skip
    for n, series in enumerate(panel.series):
        colour = COLOURS[n % len(COLOURS)]
        if len(chart.dates) <= DOTS:
            axes.plot(
                series.at, series.values, MARKS[n % len(MARKS)], color=colour, alpha=0.3, markersize=4, mew=0
            )
        axes.plot(
            series.at, series.trend, color=colour, linewidth=2.2 if not small else 1.6, solid_capstyle="round"
        )
        if series.at:
            axes.plot(
                series.at[-1:], series.trend[-1:], MARKS[n % len(MARKS)], color=colour, markersize=6, mew=0
            )
    _scale(axes, panel, chart, few=small)
    if not small:
        _write_names(axes, panel)


def _scale(axes: Axes, panel: Panel, chart: Chart, *, few: bool) -> None:
    """Scale both axes: the values from 0 up, the councils by number with some of their dates."""
    most = panel.high or max((value for series in panel.series for value in series.values), default=0.0)
    step = most / 4 if panel.high else _round_step(most)
    ticks = [step * n for n in range(max(1, math.ceil(most / step - 1e-9)) + 1)]
    high = ticks[-1]
    axes.set_ylim(-0.03 * high, high * 1.03)
    axes.set_yticks(ticks, [panel.mark(tick) for tick in ticks], parse_math=False)
    last = len(chart.dates) - 1
    axes.set_xlim(-0.02 * last - 0.1, last + 0.02 * last + 0.1)
    labels_shown = min(DATES // 2 if few else DATES, last + 1)
    at = sorted({round(last * n / max(labels_shown - 1, 1)) for n in range(labels_shown)})
    days = {f"{chart.dates[index]:%Y-%m-%d}": index for index in reversed(at)}  # a day's first council
    axes.set_xticks(list(days.values()), list(days))


def _round_step(most: float) -> float:
    """A round step, of which three or four reach `most`."""
    if most <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(most / 3))
    return next(size * step for step in (1, 2, 2.5, 5, 10) if size * step * 4 >= most)


def _write_names(axes: Axes, panel: Panel) -> None:
    """Write each line's name at its end, and move names apart where two ends are close."""
    low, high = axes.get_ylim()
    gap = (high - low) * 0.075
    ends = sorted((series.trend[-1], n) for n, series in enumerate(panel.series) if series.trend)
    heights: list[float] = []
    for value, _ in ends:
        heights.append(max(value, heights[-1] + gap) if heights else value)
    top = high - gap / 2
    for at in range(len(heights) - 1, -1, -1):
        heights[at] = min(heights[at], top)
        top = heights[at] - gap
    right = axes.get_xlim()[1]
    for (_, n), height in zip(ends, heights, strict=True):
        axes.text(
            right, height, "  " + _printable(panel.series[n].name), color=COLOURS[n % len(COLOURS)],
            fontsize=9, fontweight="bold", va="center", clip_on=False, parse_math=False,
        )  # fmt: skip


def _write(
    figure: Figure, x: float, y: float, text: str, colour: str, *, size: float, weight: str = "normal"
) -> None:
    figure.text(
        x, y, _printable(text, LINE_CHARS), color=colour, fontsize=size, fontweight=weight, parse_math=False
    )


def _printable(text: str, most: int = NAME_CHARS) -> str:
    """The text in at most `most` characters, without characters that the font lacks."""
    drawable = _charmap()
    return one_line("".join(char if ord(char) in drawable or char.isspace() else "�" for char in text), most)


def _charmap() -> dict[int, Any]:
    from matplotlib import font_manager

    return font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap()
