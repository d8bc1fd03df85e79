"""What in a stranger's Markdown belongs together, and whether a link leads where its words say.

Pure. Blocks are lossless: put together again (paragraphs with their lists, headings, tables, fenced code) they are the
text. Knows no platform.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from bot.readers.lines import opens_table

Kind = Literal["text", "heading", "table", "fence"]

LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"^((?:\s|>|[-*+](?=\s)|\d{1,9}[.)](?=\s)){0,40})(`{3,}|~{3,})([^\n`]*)$")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s")

LINK = re.compile(
    # Every repetition is bounded or cannot backtrack: the text is a stranger's.
    r"!?\[(?P<label>[^\[\]\n]{0,300})\]\(\s{0,9}<?(?P<url>[^\s<>()]{1,1000}(?:\([^\s<>()]{0,300}\)[^\s<>()]{0,300})?)"
    r">?(?P<title>\s{1,9}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?\s{0,9}\)"
)

_HOST = re.compile(r"(?:[\w-]{1,63}\.){1,8}[^\W\d]{2,63}")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u00ad"), None)


@dataclass(frozen=True, slots=True)
class Fence:
    """A line that opens fenced code. `before` stands before the marks: indents, quote and list markers."""

    before: str
    marks: str
    info: str

    def closed_by(self, line: str) -> bool:
        bare = line.lstrip("> \t").rstrip()
        return len(bare) >= len(self.marks) and bare == self.marks[0] * len(bare)


@dataclass(slots=True)
class Block:
    """`source` holds the block's lines with the blank lines after it; every line but the last ends in \\n."""

    kind: Kind
    source: str


def fence(line: str) -> Fence | None:
    """What the line opens, if it opens fenced code."""
    if "```" not in line and "~~~" not in line:
        return None
    found = _FENCE.match(line)
    return Fence(found[1], found[2], found[3].strip()) if found else None


def blocks(markdown: str) -> list[Block]:
    """The text's blocks in order. A list stays one block through the blank lines between its items."""
    found: list[Block] = []
    open_fence: Fence | None = None
    listed, blank = False, True
    lines = LINE.findall(markdown)
    for at, line in enumerate(lines):
        bare = line.rstrip("\n")
        if open_fence and ">" in open_fence.before and not bare.lstrip().startswith(">"):
            open_fence, blank = None, True
        if open_fence:
            found[-1].source += line
            if open_fence.closed_by(bare):
                open_fence, blank = None, True
            continue
        if not bare.strip():
            if found:
                found[-1].source += line
            else:
                found.append(Block("text", line))
            blank = True
            continue
        kind = _kind(bare, lines[at + 1].rstrip("\n") if at + 1 < len(lines) else "")
        last = found[-1].kind if found else None
        if kind == "text" and last == "table" and not blank and "|" in bare:
            kind = "table"
        item = bool(_ITEM.match(bare)) or (listed and bare.startswith("  "))
        if kind == last and kind != "heading" and kind != "fence" and (not blank or (listed and item)):
            found[-1].source += line
        else:
            found.append(Block(kind, line))
        listed = item if kind == "text" else listed and kind == "fence"
        open_fence = fence(bare) if kind == "fence" else None
        blank = False
    return found


def _kind(line: str, following: str) -> Kind:
    if fence(line):
        return "fence"
    if _HEADING.match(line):
        return "heading"
    return "table" if opens_table(line, following) else "text"


def misleads(label: str, url: str) -> bool:
    """Whether the label reads as one address, or as a citation, and the link leads to another place."""
    said = unicodedata.normalize("NFKC", label.translate(_INVISIBLE)).lower()
    if said.strip("[]() ").isdigit():
        return True
    try:
        host = (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return True
    return any(one[0].removeprefix("www.") != host for one in _HOST.finditer(said)) or (
        "://" in said and host not in said
    )
