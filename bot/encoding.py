"""Standard output and errors in an encoding that lacks characters of ours: a write is never refused. A leaf."""

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
"""Signs that mean something in our output, as ASCII."""


def accept_all() -> None:
    """Write what a stream's encoding lacks as the nearest that it has, "?" at worst, instead of raising."""
    codecs.register_error("nearest", _nearest)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="nearest")


def _nearest(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from unicodedata import combining, normalize  # only such a terminal needs it

    lacking = error.object[error.start : error.end]
    letters = normalize("NFKD", lacking.translate(_NEAREST))
    return "".join("" if combining(c) else c if c.isascii() else "?" for c in letters), error.end
