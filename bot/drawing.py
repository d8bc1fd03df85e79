"""What all pictures share: colours, resolution, and a lock, as one is drawn at a time. Imports nothing heavy."""

from __future__ import annotations

import threading

DPI = 150
"""A picture of eight inches is 1200 pixels wide: sharp at the 550 that Discord shows, and well below its limits."""

COLOURS = ("#0072b2", "#bd5400", "#00845f", "#b74687", "#806500", "#5b4fb5", "#2b7a8c", "#7a3b1d")
"""After Okabe and Ito, darkened to 4.5:1 on the paper (WCAG 2.2, 1.4.3): names are written in them."""

PAPER, INK, PALE, RULE = "#fcfbf8", "#23262f", "#6a6f7d", "#dcdad3"

alone = threading.Lock()
"""Held while drawing: matplotlib is not thread-safe, by its documentation."""
