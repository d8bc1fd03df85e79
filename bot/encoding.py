"""Makes every write to standard output and standard error succeed, even if their encoding lacks characters. Imports
none of our modules.
"""

from __future__ import annotations

import codecs
import io
import sys

_NEAREST = str.maketrans(
    {
        **dict.fromkeys("“”„«»", '"'),
        **dict.fromkeys("‘’", "'"),
        **dict.fromkeys("–—─━", "-"),
        **dict.fromkeys("│▍", "|"),
        "✓": "+",
        "✗": "x",
        "·": "-",
        "•": "*",
        "›": ">",
        "→": "->",
        "┼": "+",
        "…": "...",
    }
)
"""Symbols in our output that have an ASCII replacement."""


def accept_all() -> None:
    """Replace characters that a stream's encoding lacks with the nearest ones, at worst "?", instead of raising."""
    codecs.register_error("nearest", _nearest)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="nearest")


def _nearest(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from unicodedata import combining, normalize  # needed only for such terminals

    lacking = error.object[error.start : error.end]
    letters = normalize("NFKD", lacking.translate(_NEAREST))
    return "".join("" if combining(c) else c if c.isascii() else "?" for c in letters), error.end
