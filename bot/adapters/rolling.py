"""Where a growing text goes on in another message, because the one that it stands in has grown old. Pure.

A platform's stream ends by itself after some minutes; whoever begins another in time loses nothing.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_BOLD = ("**", "__", "~~")
LOOK_BACK = 200
"""Characters before a place in which something bold may have begun that ends after it; longer ones are rare."""


def cut(text: str, new: str, *, overdue: bool) -> int | None:
    """The offset in `text + new`, after len(text), from which on it belongs to the next message; None to wait on.

    Between two lines, outside code and tables. If `overdue`, also between two words, but for what is bold, and anywhere
    in code and tables: the pages reopen those, and take no link and no code within a line apart.
    """
    whole = text + new
    for end in re.finditer(r"\n+|[ \t]+" if overdue else r"\n+", new):
        at = len(text) + end.end()
        if not whole[:at].strip():
            continue
        line = whole[whole.rfind("\n", 0, at - len(end[0])) + 1 : at]
        if overdue:
            held = "\n" not in end[0] and any(line[-LOOK_BACK:].count(mark) % 2 for mark in _BOLD)
        else:
            held = "|" in line or _inside_code(whole[:at])
        if not held:
            return at
    return None


def _inside_code(text: str) -> bool:
    opened = ""
    for found in _FENCE.finditer(text):
        mark = found[1]
        if not opened:
            opened = mark
        elif mark[0] == opened[0] and len(mark) >= len(opened):
            opened = ""
    return bool(opened)
