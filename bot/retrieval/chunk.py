"""Cuts a Document into chunks: never across a heading, never longer than the cap, and tables only between rows.

Independent of search and storage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.readers.document import Document, Section
from bot.readers.lines import Block, Line, blocks, split_lines

SEPARATOR = " › "

_SETEXT = re.compile(r"[ \t>]*(=+|-+)[ \t]*$")
_WORD = re.compile(r"[^\W_]")
_CELL = re.compile(r"\|| {2,}|\t")
_LEAD = 4  # a paragraph of at most this part of the cap may lead in to a table or a list
_LINE = 8  # … and a paragraph of at most this part does not stand alone
_SENTENCE = re.compile(r"(?<=[.!?…:;])[\"”’)\]*_]*\s+")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one section. `document.text[start:end]` is `text` without a table's repeated heading.

    `ordinal` counts in the document, `section` is a Section's ordinal; `breadcrumb` stands apart from the text. `rows`
    are the rows of its tables for search, each after its table's heading.
    """

    ordinal: int
    section: int
    start: int
    end: int
    text: str
    breadcrumb: str
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    head: str = ""  # a table's heading and its lead-in, for all groups of rows except the first
    rows: tuple[str, ...] = ()


def chunks(document: Document, *, child_chars: int, parent_chars: int) -> list[Chunk]:
    """The chunks of a document in order, each at most `child_chars` characters.

    A section that fits into `child_chars` is one chunk. `parent_chars` bounds what `parents` may grow a chunk to; here
    it only caps a smaller `child_chars`. The heading's line is only in the breadcrumb.
    """
    cap = max(1, min(child_chars, max(parent_chars, 1)))
    result: list[Chunk] = []
    for section in document.sections:
        breadcrumb = SEPARATOR.join(section.path) or document.title
        start = body_start(document.text, section)
        for piece in _packed(document.text, list(_pieces(document.text, start, section.end, cap)), cap):
            text = piece.head + document.text[piece.start : piece.end]
            if not _WORD.search(text):  # a rule across the page
                continue
            result.append(
                Chunk(len(result), section.ordinal, piece.start, piece.end, text, breadcrumb, piece.rows)
            )
    return result


def windows(document: Document, *, chars: int, overlap: int) -> list[Chunk]:
    """The sentences of each section in windows of at most `chars` characters. Each window begins with the last
    sentences of the previous one, at most `overlap` characters of them.
    """
    result: list[Chunk] = []
    for section in document.sections:
        breadcrumb = SEPARATOR.join(section.path) or document.title
        start = body_start(document.text, section)
        spans = list(_sentence_spans(document.text, start, section.end, chars))
        at = 0
        while at < len(spans):
            past = at + 1
            while past < len(spans) and spans[past][1] - spans[at][0] <= chars:
                past += 1
            text = document.text[spans[at][0] : spans[past - 1][1]]
            if _WORD.search(text):
                result.append(
                    Chunk(len(result), section.ordinal, spans[at][0], spans[past - 1][1], text, breadcrumb)
                )
            following = past
            while following - 1 > at and spans[past - 1][1] - spans[following - 1][0] <= overlap:
                following -= 1
            at = following if past < len(spans) else past
    return result


def _sentence_spans(text: str, start: int, end: int, chars: int) -> Iterator[tuple[int, int]]:
    """The sentences of text[start:end] as (start, end); a sentence longer than `chars` is cut."""
    at = start
    for match in _SENTENCE.finditer(text, start, end):
        yield from ((piece.start, piece.end) for piece in _split(text, at, match.start(), chars))
        at = match.end()
    yield from ((piece.start, piece.end) for piece in _split(text, at, end, chars))


def parents(spans: list[tuple[int, int, int]], index: int, parent_chars: int) -> tuple[int, int]:
    """The characters [start, end) of the chunk at `index`, extended over its neighbours in the same section.

    `spans` are (section, start, end) of a document's chunks in order; growth alternates, after before, and stops before
    `parent_chars`.
    """
    section, start, end = spans[index]
    low = high = index
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
    """Where a section's body begins: after its heading's line and, for a setext heading, the rule."""
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
    """The paragraphs and groups of table rows in text[start:end], none longer than `cap`."""
    lines = split_lines(text, start, end)
    at = 0
    for block in blocks(lines):
        before = list(_paragraphs(text, lines[at].start, lines[block.first].start, cap))
        at = block.last
        stop = min(lines[block.last - 1].end, end)
        if block.kind in ("pipe", "rule"):
            lead = before.pop() if before and before[-1].end - before[-1].start <= cap // _LEAD else None
            yield from before
            yield from _table(text, lines[block.first : block.last], block, cap, lead)
        else:
            yield from before
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
    """A stretch cut at lines, sentences, spaces, or anywhere, so that no piece is longer than the cap."""
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


def _table(text: str, lines: list[Line], block: Block, cap: int, lead: _Piece | None) -> Iterator[_Piece]:
    """A table with the short paragraph that leads in to it: whole, or as groups of rows that each repeat both."""
    head_start, head_end = lines[0].start, lines[min(block.head, len(lines)) - 1].end
    head = text[head_start:head_end]
    rows = _row_spans(lines[block.head :])
    texts = [text[first:last] for first, last in rows]
    named = _named(head, texts) if _WORD.search(head) and len(rows) > 1 else [""] * len(rows)
    start, end = _trim(text, lead.start if lead else head_start, lines[-1].end)
    if end - start <= cap:
        yield _Piece(start, end, rows=tuple(filter(None, named)))
        return
    if not rows:
        yield from _split(text, start, end, cap)
        return
    if head_end - start > cap // 2 and lead:
        yield lead
        start = head_start
    if len(head) > cap // 2:  # a heading as long as that would leave no room for rows
        for line in lines:
            yield from _split(text, line.start, line.end, cap)
        return
    heading = text[start:head_end] + "\n"
    room = cap - len(heading)
    length = end - rows[0][0]
    even = min(room, length // -(-length // room) + cap // 8)  # no last group of a single row
    names: list[str] = []
    prefix, first, last = "", start, head_end
    for (row_start, row_end), row in zip(rows, named, strict=True):
        limit = (room if row_end == rows[-1][1] else even) + (0 if prefix else len(heading))
        if row_end - first <= limit:
            last = row_end
            names.append(row)
            continue
        if not prefix and not names:  # not even the first row fits, so begin it under its heading
            parts = list(_split(text, row_start, row_end, max(1, cap - (row_start - start))))
            yield _Piece(start, parts[0].end, rows=(row,) if row else ())
            for piece in parts[1:]:
                yield _Piece(piece.start, piece.end, heading, (row,) if row else ())
            prefix, first, last = heading, row_end, row_end
            continue
        if last > first:
            yield _Piece(*_trim(text, first, last), prefix, tuple(filter(None, names)))
        prefix = heading
        first, last, names = row_start, row_end, [row]
        if row_end - row_start > room:  # one row is longer than the room: cut it, still under the heading
            for piece in _split(text, row_start, row_end, room):
                yield _Piece(piece.start, piece.end, heading, (row,) if row else ())
            first, names = row_end, []
    if last > first:
        yield _Piece(*_trim(text, first, last), prefix, tuple(filter(None, names)))


def _row_spans(lines: list[Line]) -> list[tuple[int, int]]:
    """The characters of each row. If blank lines separate the rows (Pandoc), a row may have several lines."""
    parted = any(not line.text.strip() for line in lines)
    spans: list[tuple[int, int]] = []
    goes_on = False
    for line in lines:
        if not line.text.strip():
            goes_on = False
        elif spans and (goes_on or not _WORD.search(line.text)):
            spans[-1] = (spans[-1][0], line.end)
        else:
            spans.append((line.start, line.end))
            goes_on = parted
    return spans


def _named(head: str, rows: list[str]) -> list[str]:
    """Each row after its table's heading and after the row that names its group, which is a row of a single cell."""
    named: list[str] = []
    group, inner = "", False
    indents = [len(row) - len(row.lstrip(" |")) for row in rows]
    least = min(indents, default=0)
    for row, indent in zip(rows, indents, strict=True):
        cells = [cell for cell in _CELL.split(row.strip().strip("|")) if _WORD.search(cell)]
        outer = indent == least
        alone = outer and len(cells) == 1
        if outer and (inner or alone):  # the rows indented under the previous one are over
            group, inner = "", False
        inner = inner or not outer
        named.append(f"{head}\n{group}\n{row}" if cells else "")
        group = cells[0] if alone else group
    return named


def _packed(text: str, pieces: list[_Piece], cap: int) -> Iterator[_Piece]:
    """Neighbouring pieces joined while they fit, in chunks of about equal length; a lead-in stays with its list."""
    total = pieces[-1].end - pieces[0].start if pieces else 0
    even = min(cap, -(-total // max(1, -(-total // cap))) + cap // 8)
    group: list[_Piece] = []
    pieces = [piece for piece in reversed(pieces) if piece.start < piece.end]
    while pieces:
        piece = pieces.pop()
        limit = even if pieces else cap
        if group and not piece.head and not group[0].head and piece.end - group[0].start <= limit:
            group.append(piece)
            continue
        lead = group[-1] if group else None
        if lead and not piece.head and _leads_in(text, lead, cap, alone=len(group) == 1):
            together = _together(text, lead, piece, cap)
            if together:
                if group[:-1]:
                    yield _joined(group[:-1])
                group = together[0]
                pieces += reversed(together[1])
                continue
        if group:
            yield _joined(group)
        group = [piece]
    if group:
        yield _joined(group)


def _leads_in(text: str, piece: _Piece, cap: int, *, alone: bool) -> bool:
    """Whether a piece says little without the next one: it ends in a colon, or is a line too short to stand alone."""
    length = piece.end - piece.start
    if piece.rows or piece.head or length > cap // _LEAD:
        return False
    return text[piece.start : piece.end].rstrip("*_").endswith(":") or (alone and length <= cap // _LINE)


def _together(text: str, lead: _Piece, piece: _Piece, cap: int) -> tuple[list[_Piece], list[_Piece]] | None:
    """A lead-in joined with what follows, as much as the cap allows, and the rest; None if they cannot be joined."""
    if piece.end - lead.start <= cap:
        return [lead, piece], []
    first, *rest = _split(text, lead.start, piece.end, cap)
    return ([first], rest) if first.end > piece.start and not piece.rows else None


def _joined(pieces: list[_Piece]) -> _Piece:
    rows = tuple(row for piece in pieces for row in piece.rows)
    return _Piece(pieces[0].start, pieces[-1].end, pieces[0].head, rows)
