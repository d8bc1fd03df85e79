"""Where a growing text goes on in another message, because the one that it stands in has grown old. Pure.

A platform's stream ends by itself after some minutes; whoever begins another in time loses nothing.
"""

from __future__ import annotations

import re

_FENCE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_LINK = re.compile(r"\[[^\[\]]*\]\([^()]*\)")


def cut(text: str, new: str, *, overdue: bool) -> int | None:
    """The offset in `text + new`, after len(text), from which on it belongs to the next message.

    Between two lines; in the middle of one only if `overdue`. None to wait on: code and tables are not taken apart,
    nor is what is bold, a link or code within a line.
    """
    whole = text + new
    for end in re.finditer(r"\n+|[ \t]+" if overdue else r"\n+", new):
        at = len(text) + end.end()
        begin = whole.rfind("\n", 0, at - len(end[0])) + 1
        line = whole[begin:at]
        if not whole[:at].strip() or "|" in line or _inside_code(whole[:at]):
            continue
        if "\n" in end[0] or not _open(line):
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


def _open(line: str) -> bool:
    """Whether something begins in the line that does not end in it."""
    rest = _LINK.sub("", _CODE.sub("", line))
    return "`" in rest or "[" in rest or any(rest.count(mark) % 2 for mark in ("**", "__", "~~"))
