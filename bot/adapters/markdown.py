"""Untrusted Markdown prepared for a platform: control codes and mentions removed, split at a length into blocks that
belong together, misleading links detected.

Pure: no I/O, no platform. The caller sets the limits. Splitting is lossless: the blocks (paragraphs with their lists,
headings, tables, fenced code) joined are the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal
from urllib.parse import urlsplit

from bot.readers.lines import opens_table

Kind = Literal["text", "heading", "table", "fence"]

LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"^((?:\s|>|[-*+](?=\s)|\d{1,9}[.)](?=\s)){0,40})(`{3,}|~{3,})([^\n`]*)$")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:\s|$)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,9}[.)])\s")

LINK = re.compile(
    # Every repetition is bounded or cannot backtrack, because the text is untrusted.
    r"!?\[(?P<label>[^\[\]\n]{0,300})\]\(\s{0,9}<?(?P<url>[^\s<>()]{1,1000}(?:\([^\s<>()]{0,300}\)[^\s<>()]{0,300})?)"
    r">?(?P<title>\s{1,9}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?\s{0,9}\)"
)

_HOST = re.compile(r"(?:[\w-]{1,63}\.){1,8}[^\W\d]{2,63}")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u00ad"), None)

# No sequence contains the beginning of another; otherwise each of many would be tried up to the text's end.
_SEQUENCE = re.compile(
    "(?:\x1b\\]|\x9d)[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\\\|\x9c)"  # OSC, such as a window title or a link
    "|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x90\x98\x9c-\x9f]*(?:\x1b\\\\|\x9c)"  # DCS, SOS, PM, APC
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI, such as a colour or a cursor movement (ECMA-48, 5.4)
    "|\x1b[ -/]*[0-~]"
)
# C0 except tab and newline, DEL, C1; marks, embeddings, overrides and isolates of direction (UAX 9); invisible
# characters without a meaning of their own: word joiner and operators, deprecated format characters, BOM, annotation
# anchors; and tags, unless a flag is spelt with them (UTS 51). Not the zero-width (non-)joiners, which scripts and
# emoji are written with, nor the zero-width space, with which `neutralise` works.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
    "|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]+"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile("\r\n|[\u2028\u2029]")
# Discord treats @everyone as a mention even with more letters before or after it.
_MENTION = re.compile(
    r"@(?=everyone|here\b|channel\b)|(?<!\w)@(?=here|channel)|<(?=[@!#])",
    re.IGNORECASE,
)
_OPEN_CODE = re.compile(r"^ {0,3}(```+|~~~+)", re.MULTILINE)
_BOLD = ("**", "__", "~~")
_QUOTED = re.compile("^[> ]+", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]*_`]*\s")
_BROKEN = "\u200b"

_READ_CHARS = 4_000  # the part of a text that a title is made from
TITLE_CHARS = 90
"""The longest title of a conversation; every platform allows at least 100 characters for a thread's name."""

BOLD_CHARS = 200
"""How far back, in characters, an open bold mark is searched for; longer bold texts are rare."""

FULL = 2 / 3
"""The fill above which a part ends before a block that does not fit; a part that is less full takes a piece of the
block.
"""

Size = Callable[[str], int]
"""Gives the length of a text as the platform counts it; `len` counts code points."""

Divide = Callable[[str, int], tuple[str, str]]
"""Divides a piece's text in two; the first has at most so many units. Returns "" and the text if it must not be cut."""


def clean(text: str) -> str:
    """The text without control codes for terminals and reading direction; line ends become \\n."""
    text = _LINE_END.sub("\n", text)
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", _SEQUENCE.sub("", text)))


def neutralise(text: str) -> str:
    """The text with @everyone, <@…>, <!channel> and the like broken up, so that they mention nobody."""
    return _MENTION.sub(lambda mention: mention[0] + _BROKEN, text)


def title(text: str) -> str:
    """A conversation's title from its question: one line without Markdown's quotation marks; "" if nothing remains."""
    unquoted = _QUOTED.sub("", clean(text[:_READ_CHARS]))
    line = neutralise(" ".join(unquoted.split()))
    if len(line) <= TITLE_CHARS:
        return line
    cut = line.rfind(" ", TITLE_CHARS // 2, TITLE_CHARS)
    return line[: cut if cut > 0 else TITLE_CHARS - 1].rstrip() + "…"


def file_name(name: str, used: set[str], unsafe: re.Pattern[str]) -> str:
    """The file's name without `unsafe` characters and unique within `used`, to which it is added. Its suffix stays."""
    safe_name = unsafe.sub("_", clean(name))
    kept = safe_name.lstrip("._- ")
    if "." not in kept and kept and safe_name.removesuffix(kept).endswith("."):  # only the suffix is left
        kept = f"file.{kept}"
    path = PurePath(kept[-80:].strip() or "file")
    unique, number = path.name, 2
    while unique in used:
        unique, number = f"{path.stem}-{number}{path.suffix}", number + 1
    used.add(unique)
    return unique


def shortened(text: str, most: int, size: Size) -> str:
    """The text in at most `most` units, cut after a word with an ellipsis."""
    if size(text) <= most:
        return text
    shortest = text[: most - 2]
    while size(shortest) > most - 2:
        shortest = shortest[:-1]
    at = shortest.rfind(" ", most // 2)
    return (shortest[:at] if at > 0 else shortest).rstrip() + " …"


@dataclass(frozen=True, slots=True)
class Fence:
    """A line that opens fenced code. `before` is what precedes the marks: indents, quote and list markers."""

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
    """The fence that the line opens, or None."""
    if "```" not in line and "~~~" not in line:
        return None
    opening = _FENCE.match(line)
    return Fence(opening[1], opening[2], opening[3].strip()) if opening else None


def blocks(markdown: str) -> list[Block]:
    """The text's blocks in order. Blank lines between a list's items do not split it."""
    result: list[Block] = []
    open_fence: Fence | None = None
    listed, blank = False, True
    lines = LINE.findall(markdown)
    for at, line in enumerate(lines):
        bare = line.rstrip("\n")
        if open_fence and ">" in open_fence.before and not bare.lstrip().startswith(">"):
            open_fence, blank = None, True
        if open_fence:
            result[-1].source += line
            if open_fence.closed_by(bare):
                open_fence, blank = None, True
            continue
        if not bare.strip():
            if result:
                result[-1].source += line
            else:
                result.append(Block("text", line))
            blank = True
            continue
        following = lines[at + 1].rstrip("\n") if at + 1 < len(lines) else ""
        last = result[-1].kind if result else None
        kind: Kind = "text"
        if opened := fence(bare):
            kind = "fence"
        elif _HEADING.match(bare):
            kind = "heading"
        elif opens_table(bare, following) or (last == "table" and not blank and "|" in bare):
            kind = "table"
        item = bool(_ITEM.match(bare)) or (listed and bare.startswith("  "))
        if kind == last and kind != "heading" and kind != "fence" and (not blank or (listed and item)):
            result[-1].source += line
        else:
            result.append(Block(kind, line))
        listed = item if kind == "text" else listed and kind == "fence"
        open_fence = opened
        blank = False
    return result


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text that is not cut further. `gap` has the line ends after it, if something follows.

    A piece that `leads` never ends a part: a heading stays with the text below it.
    """

    text: str
    gap: str = "\n\n"
    leads: bool = False


def without_line(text: str, line: str) -> str:
    """The text without its first line equal to `line`, unless that is the whole text."""
    lines = text.split("\n")
    if line in lines and len(lines) > 1:
        lines.remove(line)
    return "\n".join(lines)


def split(markdown: str, limit: int, size: Size = len) -> list[str]:
    """Split the text into parts of at most `limit` characters, in order, at the best places.

    Cuts are made between blocks rather than inside one, and between lines rather than inside one. Fenced code, lists
    and tables stay whole if they fit. A fence that must be cut is closed and opened again. Raises ValueError if `limit`
    is too small to hold a reopened fence.
    """
    if limit < 40:
        raise ValueError("a limit below 40 characters leaves no room for a fence")
    pieces = []
    for block in blocks(markdown):
        text = block.source.rstrip("\n")
        *full, last = cut(text, limit, size)
        pieces += [Piece(part, "\n") for part in full]
        pieces.append(Piece(last, block.source[len(text) :], block.kind == "heading"))
    parts = pack(pieces, limit, size)
    return [stripped for part in parts if (stripped := part.strip("\n")).strip()]


def pack(pieces: Iterable[Piece], limit: int, size: Size = len, divide: Divide | None = None) -> list[str]:
    """Join pieces of at most `limit` to parts of at most `limit`.

    Each part is filled before the next begins, so that the full parts of a growing text do not change. With `divide` a
    piece may be divided where much room would be left, because platforms allow few messages.
    """
    parts: list[list[Piece]] = []
    part: list[Piece] = []
    used = 0
    for piece in pieces:
        length = size(piece.text)
        if part and used + length > limit:
            if divide is not None and used < limit * FULL:
                head, remainder = divide(piece.text, limit - used)
                part += [Piece(head)] if head else []
                piece, length = Piece(remainder, piece.gap, piece.leads), size(remainder)
            at = len(part)
            while at and part[at - 1].leads:
                at -= 1
            at = at or len(part)  # a part of nothing but headings is not moved
            parts.append(part[:at])
            part = part[at:]
            used = sum(size(leading.text + leading.gap) for leading in part)
            if part and used + length > limit:
                parts.append(part)
                part, used = [], 0
        part.append(piece)
        used += length + len(piece.gap)
    parts.append(part)
    return ["".join(each.text + each.gap for each in part[:-1]) + part[-1].text for part in parts if part]


def cut(block: str, limit: int, size: Size = len) -> list[str]:
    """The whole block; if it is longer than `limit`, cut at lines, then sentences, words and characters."""
    if size(block) <= limit:
        return [block]
    lines = LINE.findall(block)
    opened = fence(lines[0].rstrip("\n"))
    head, foot = "", ""
    if opened and size(lines[0]) + len(opened.marks) + 20 <= limit:
        head, foot = lines[0], opened.marks
        if opened.closed_by(lines[-1]):
            lines = lines[:-1]
        lines = lines[1:]
    elif not opened and len(lines) > 2 and opens_table(lines[0], lines[1].rstrip("\n")):
        head = "".join(lines[:2])  # a table's header is repeated in each part
        head = head if size(head) * 2 <= limit else ""
        lines = lines[2:] if head else lines
    room = limit - size(head) - len(foot) - 1
    parts, body, used = [], "", 0
    for line in lines:
        for piece in _pieces(line, room, size):
            length = size(piece)
            if body and used + length > room:
                parts.append(body)
                body, used = "", 0
            body += piece
            used += length
    parts.append(body)
    return [head + (part if not foot or part.endswith("\n") else part + "\n") + foot for part in parts]


def _pieces(line: str, room: int, size: Size) -> list[str]:
    """A line in pieces of at most `room`, each cut after a sentence in the last third, or at an earlier space."""
    pieces = []
    while len(line) > room or size(line) > room:
        most = min(len(line), room)
        while size(line[:most]) > room:
            most -= max(1, (size(line[:most]) - room) // 2)
        ends = [sentence.end() for sentence in _SENTENCE_END.finditer(line, most * 2 // 3, most)]
        at = ends[-1] if ends else line.rfind(" ", most // 3, most) + 1 or most
        pieces.append(line[:at])
        line = line[at:]
    return [*pieces, line]


def roll_offset(text: str, new: str, *, overdue: bool) -> int | None:
    """The offset in `text + new`, after len(text), where a growing text continues in another message; None to wait.

    Needed for an old message, because a platform's stream ends by itself after some minutes. The offset is between two
    lines, outside code and tables. With `overdue` it may also be between two words that are not bold, and anywhere in
    code and tables: pages reopen those, and never divide a link or code within a line.
    """
    joined = text + new
    for end in re.finditer(r"\n+|[ \t]+" if overdue else r"\n+", new):
        at = len(text) + end.end()
        if not joined[:at].strip():
            continue
        line = joined[joined.rfind("\n", 0, at - len(end[0])) + 1 : at]
        if overdue:
            inside = "\n" not in end[0] and any(line[-BOLD_CHARS:].count(mark) % 2 for mark in _BOLD)
        else:
            inside = "|" in line or _inside_code(joined[:at])
        if not inside:
            return at
    return None


def _inside_code(text: str) -> bool:
    opened = ""
    for mark_line in _OPEN_CODE.finditer(text):
        mark = mark_line[1]
        if not opened:
            opened = mark
        elif mark[0] == opened[0] and len(mark) >= len(opened):
            opened = ""
    return bool(opened)


def is_misleading(label: str, url: str) -> bool:
    """Whether the label looks like an address or a citation while the link leads to another host."""
    label_shown = unicodedata.normalize("NFKC", label.translate(_INVISIBLE)).lower()
    if label_shown.strip("[]() ").isdigit():
        return True
    try:
        host = (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return True
    return any(host_shown[0].removeprefix("www.") != host for host_shown in _HOST.finditer(label_shown)) or (
        "://" in label_shown and host not in label_shown
    )
