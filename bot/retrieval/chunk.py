"""A Document cut into chunks: never across a heading, never over the cap, tables whole by groups of rows.

Knows no search and no storage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.readers.document import Document, Section
from bot.readers.lines import Block, blocks, split_lines

SEPARATOR = " › "

_SETEXT = re.compile(r"[ \t>]*(=+|-+)[ \t]*$")
_SENTENCE = re.compile(r"(?<=[.!?…:;])[\"”’)\]*_]*\s+")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one section. `document.text[start:end]` is `text`, less a table's repeated heading in front.

    `ordinal` counts in the document, `section` is a Section's ordinal; `breadcrumb` stands apart from the text.
    """

    ordinal: int
    section: int
    start: int
    end: int
    text: str
    breadcrumb: str


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    head: str = ""  # a table's heading, for all its groups of rows but the first
    table: bool = False


def chunks(document: Document, *, child_chars: int, parent_chars: int) -> list[Chunk]:
    """The chunks of a document in order, each at most `child_chars` characters.

    A section that fits into `child_chars` is one chunk. `parent_chars` bounds what `parents` may grow a chunk
    to; here it only caps a smaller `child_chars`. The heading's line is left to the breadcrumb.
    """
    cap = max(1, min(child_chars, max(parent_chars, 1)))
    made: list[Chunk] = []
    for section in document.sections:
        breadcrumb = SEPARATOR.join(section.path) or document.title
        start = body_start(document.text, section)
        for piece in _packed(document.text, list(_pieces(document.text, start, section.end, cap)), cap):
            text = piece.head + document.text[piece.start : piece.end]
            made.append(Chunk(len(made), section.ordinal, piece.start, piece.end, text, breadcrumb))
    return made


def parents(spans: list[tuple[int, int, int]], wanted: int, parent_chars: int) -> tuple[int, int]:
    """The characters [start, end) of chunk `wanted` grown over its neighbours in the same section.

    `spans` are (section, start, end) of a document's chunks in order; growth alternates, after before, and
    stops before `parent_chars`.
    """
    section, start, end = spans[wanted]
    low = high = wanted
    grew = True
    while grew:
        grew = False
        if (
            high + 1 < len(spans)
            and spans[high + 1][0] == section
            and spans[high + 1][2] - start <= parent_chars
        ):
            high += 1
            end = spans[high][2]
            grew = True
        if low and spans[low - 1][0] == section and end - spans[low - 1][1] <= parent_chars:
            low -= 1
            start = spans[low][1]
            grew = True
    return start, end


def body_start(text: str, section: Section) -> int:
    """Where a section's body begins: behind its heading's line, and a setext heading's rule."""
    start = section.start
    line_end = text.find("\n", start)
    first = text[start : line_end if 0 <= line_end < section.end else section.end]
    if not section.level or not section.title or not _is_heading(first, section.title):
        return start
    if line_end < 0 or line_end >= section.end:
        return section.end
    start = line_end + 1
    line_end = text.find("\n", start)
    second = text[start : line_end if 0 <= line_end < section.end else section.end]
    if "#" not in first and _SETEXT.match(second):
        start = min(start + len(second) + 1, section.end)
    return start


def _is_heading(line: str, title: str) -> bool:
    if re.match(r"[ \t>]*#{1,6}(\s|$)", line):
        return True
    letters = re.compile(r"\w")
    return (
        "".join(letters.findall(title)) in "".join(letters.findall(line)) and len(line) <= 2 * len(title) + 20
    )


def _pieces(text: str, start: int, end: int, cap: int) -> Iterator[_Piece]:
    """Paragraphs, and groups of table rows, of text[start:end]: none longer than `cap`."""
    lines = split_lines(text, start, end)
    at = 0
    for block in blocks(lines):
        yield from _paragraphs(text, lines[at].start, lines[block.first].start, cap)
        at = block.last
        stop = min(lines[block.last - 1].end, end)
        if block.kind in ("pipe", "rule"):
            yield from _rows(
                text, [(line.start, line.end) for line in lines[block.first : block.last]], block, cap
            )
        else:
            yield from _paragraphs(text, lines[block.first].start, stop, cap)
        if at >= len(lines):
            return
    if at < len(lines):
        yield from _paragraphs(text, lines[at].start, end, cap)


def _paragraphs(text: str, start: int, end: int, cap: int) -> Iterator[_Piece]:
    at = start
    for gap in re.finditer(r"\n[ \t>]*\n\s*", text[start:end]):
        yield from _split(text, at, start + gap.start(), cap)
        at = start + gap.end()
    yield from _split(text, at, end, cap)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _split(text: str, start: int, end: int, cap: int) -> Iterator[_Piece]:
    """A stretch cut at lines, sentences, spaces, or anywhere, so that each piece holds the cap."""
    start, end = _trim(text, start, end)
    while end - start > cap:
        window = text[start : start + cap]
        cut = 0
        for pattern in (re.compile(r"\n+"), _SENTENCE, re.compile(r"\s+")):
            ends = [match.end() for match in pattern.finditer(window)]
            if ends and ends[-1] > cap // 3:
                cut = ends[-1]
                break
        piece = _trim(text, start, start + (cut or cap))
        if piece[0] < piece[1]:
            yield _Piece(*piece)
        start, end = _trim(text, start + (cut or cap), end)
    if start < end:
        yield _Piece(start, end)


def _rows(text: str, lines: list[tuple[int, int]], block: Block, cap: int) -> Iterator[_Piece]:
    whole = _trim(text, lines[0][0], lines[-1][1])
    if whole[1] - whole[0] <= cap:
        yield _Piece(*whole, table=True)
        return
    head = text[lines[0][0] : lines[min(block.head, len(lines)) - 1][1]] + "\n"
    if len(head) > cap // 2:  # a heading as long as that would leave no room for rows
        for start, end in lines:
            yield from _split(text, start, end, cap)
        return
    first, last = lines[0][0], lines[min(block.head, len(lines)) - 1][1]
    prefix = ""
    for start, end in lines[block.head :]:
        if len(prefix) + end - first <= cap:
            last = end
            continue
        if last > first:
            yield _Piece(*_trim(text, first, last), head=prefix, table=True)
        prefix = head
        first, last = start, end
        if len(prefix) + end - start > cap:  # one row longer than the room: cut it, still under the heading
            for piece in _split(text, start, end, cap - len(prefix)):
                yield _Piece(piece.start, piece.end, head=prefix, table=True)
            first = last = end
    if last > first:
        trimmed = _trim(text, first, last)
        if trimmed[0] < trimmed[1]:
            yield _Piece(*trimmed, head=prefix, table=True)


def _packed(text: str, pieces: list[_Piece], cap: int) -> Iterator[_Piece]:
    """Neighbouring pieces joined while they fit, in chunks of about even length."""
    total = pieces[-1].end - pieces[0].start if pieces else 0
    even = min(cap, -(-total // max(1, -(-total // cap))) + cap // 8)
    held: _Piece | None = None
    for piece in pieces:
        if piece.start >= piece.end:
            continue
        limit = cap if held is not None and piece.end == pieces[-1].end else even
        if held is not None and not piece.head and not held.head and piece.end - held.start <= limit:
            held = _Piece(held.start, piece.end, table=held.table or piece.table)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held
