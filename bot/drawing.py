"""What all pictures share: colours, resolution, sheets, and a lock for drawing one at a time. Imports heavy libraries
only when a picture is drawn.
"""

from __future__ import annotations

import threading
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150
"""A picture of eight inches is 1200 pixels wide: sharp at the 550 that Discord shows, and well below its limits."""

COLOURS = ("#0072b2", "#bd5400", "#00845f", "#b74687", "#806500", "#5b4fb5", "#2b7a8c", "#7a3b1d")
"""After Okabe and Ito, darkened to 4.5:1 on the paper (WCAG 2.2, 1.4.3): names are written in these colours."""

PAPER, INK, PALE, RULE = "#fcfbf8", "#23262f", "#6a6f7d", "#dcdad3"

alone = threading.Lock()
"""The lock to hold while drawing: matplotlib is documented as not thread-safe."""


def sheet(height: float, title: str) -> tuple[Figure, Axes]:
    """An empty sheet, eight inches wide and `height` inches high."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, height), dpi=DPI, facecolor=PAPER, layout="constrained")
    figure.suptitle(plain(title), color=INK, fontsize=12, fontweight="bold", parse_math=False)
    return figure, figure.add_subplot(facecolor=PAPER)


def bare(axes: Axes, ink: str = PALE) -> None:
    """Remove the frame and the marks."""
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0, labelsize=8.5, labelcolor=ink)


def png(figure: Figure) -> bytes:
    """The figure as a PNG."""
    out = BytesIO()
    figure.savefig(out, format="png", facecolor=PAPER, metadata={"Software": None})
    return out.getvalue()


def plain(words: str) -> str:
    """The words without characters that the font lacks, and without dollar signs, which would begin a formula."""
    shown = "".join(char if ord(char) in _glyphs() else "\ufffd" for char in " ".join(words.split()))
    return shown.replace("$", r"\$")


@cache
def _glyphs() -> frozenset[int]:
    """The characters that the font has, read from it once: reading them takes longer than drawing a word."""
    from matplotlib import font_manager

    return frozenset(font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap())
