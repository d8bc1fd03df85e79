"""Turns columns of text, which Discord would not keep aligned, into code or into tables that the renderer lays out.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from bot.adapters.markdown import Fence, fence
from bot.readers.lines import opens_table

_INDENTED = re.compile(r"(?: {4}|\t)\s*\S")
_GAP = re.compile(r"\S(?: {2,}|\t+)\S")
"""The gap between two columns that are aligned by blanks."""
_QUOTE_MARK = re.compile(r"\s{0,3}> ?")
PERHAPS = re.compile(r"^(?: {4}|\t)\s*\S|^\s{0,3}>.*\|", re.MULTILINE)
"""A line that may belong to columns aligned by blanks, or to a quoted table."""


def with_columns_as_code(markdown: str) -> str:
    """Make each indented block of columns that blanks align fenced code, because Discord shows no indented code.

    A quoted table of pipes loses its quotation marks, so that it is laid out as a table.
    """
    lines, result = markdown.split("\n"), list[str]()
    open_fence: Fence | None = None
    at = 0
    while at < len(lines):
        line = lines[at]
        if open_fence is not None:
            open_fence = None if open_fence.closed_by(line) else open_fence
        elif (opened := fence(line)) is not None:
            open_fence = opened
        elif (end := _columns(lines, at)) > at:
            indent = min(len(row) - len(row.lstrip()) for row in lines[at:end])
            result += ["```", *(row[indent:] for row in lines[at:end]), "```"]
            at = end
            continue
        elif (end := _quoted_table(lines, at)) > at:
            result += [_QUOTE_MARK.sub("", row) for row in lines[at:end]]
            at = end
            continue
        result.append(line)
        at += 1
    return "\n".join(result)


def _columns(lines: Sequence[str], at: int) -> int:
    """The line after the indented columns that begin at `at`; `at` itself if none begin."""
    if at and lines[at - 1].strip():
        return at
    end = at
    while end < len(lines) and _INDENTED.match(lines[end]):
        end += 1
    rows = lines[at:end]
    pipes = any(opens_table(row, following) for row, following in pairwise(rows))
    return end if not pipes and sum(bool(_GAP.search(row)) for row in rows) > 1 else at


def _quoted_table(lines: Sequence[str], at: int) -> int:
    """The line after the quoted table that begins at `at`; `at` itself if none begins."""
    end = at
    while end < len(lines) and _QUOTE_MARK.match(lines[end]) and "|" in lines[end]:
        end += 1
    rows = [_QUOTE_MARK.sub("", row) for row in lines[at:end]]
    return end if len(rows) > 1 and opens_table(rows[0], rows[1]) else at
