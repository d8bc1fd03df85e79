"""Markdown made safe for Slack: for a `markdown` block, in pieces that can be appended to a stream, or as mrkdwn. Pure.

The pieces of a text's beginning must also be pieces of the whole text, because a stream can only be appended to. So
everything that may still change as the text grows is held back: the last word, half a link or code, a table. A table is
code or a list, which all of Slack's forms show; its piece also has the table for a `markdown` block.

Any line may turn out to be a table's header (GFM, 4.10: it need not begin with a pipe), and every answer begins with a
line. So a line is held back whole only if it begins with a pipe, or if a pipe follows its first word; in other lines
the part after the first pipe is held back. If such a line turns out to be a header after words of it have been shown,
the table replaces them. This is the only case in which a stream is ended and its message rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from bot.adapters.markdown import Fence, clean, fence
from bot.adapters.slack.text.escaping import (
    BROKEN,
    as_mrkdwn,
    atoms,
    cell_text,
    coded,
    converted,
    cost,
    inline,
)
from bot.adapters.tables import cells, tables
from bot.readers.lines import opens_table
from bot.text_cache import GROWING_S, cached

TABLE = 1_500
"""The most units of one part of a long table, as `cost` counts."""
WHOLE = 2_400
"""The most units of a part whose single row is longer than that but still fits into one message."""
ROWS, COLUMNS = 100, 20
"""The most rows and columns of a table in a `markdown` block (Slack's documentation, "Table block")."""
_CHUNK = 400
"""The most characters of a word that is not cut."""
_INDENT = 24

_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_LINE_END = re.compile("\n|[\u2028\u2029]")
_STEERING = re.compile("[\x1b\x90\x98\x9b\x9d-\x9f]")
_UNDECIDED = re.compile(r"[\s>*+_=#~`.)\d-]*")
_RULE_BEGUN = re.compile(r"[\s>|:-]*")
"""A line that may be the beginning of the rule under a table's header."""
_TWO_WORDS = re.compile(rf"[^\s|]+\s+[^\s|]|[^\s|]*[{_CJK}][^\s|]{{4}}")
"""The beginning of a line, without quotation marks, that is unlike a table's header because it has more than one word.
In a language without blanks: more characters than a short cell has.
"""
_QUOTED = re.compile(r"^[ \t]*(?:>[ \t]?)+")
_SMALL_PRINT = re.compile(r"\A-# (.*)")
_LANGUAGE = re.compile(r"[\w+#.-]{1,20}", re.ASCII)
_RULE = re.compile(r"^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-{1,2})[ \t]*$")
"""A line that would make the previous line a heading."""
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:[ \t]+|$)")
_QUOTE = re.compile(r"^\s*(?:>[ \t]*)+(?![=<-])")
_ITEM = re.compile(r"^(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+)(?=\S)")
_SINGLE = re.compile(f"[{_CJK}]")
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+|\s+")
_OPENING = re.compile(r"^(?:#{1,6}|[-*+>]|\d{1,9}[.)])$")
_RULED = "─" * 24


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the text that is not divided; `lead` separates it from the previous piece in the same message.

    `head` precedes it at the top of another message. `code`: it is inside code that is still open. `glued`: it stays
    with the previous piece. `table`: it is a table, in the form for a `markdown` block; "" if such a block does not
    accept it.
    """

    text: str
    lead: str = ""
    head: str = ""
    code: bool = False
    glued: bool = False
    table: str | None = None


def safe(markdown: str) -> str:
    """Markdown from a model or a document, made safe for a `markdown` block or a stream. Idempotent."""
    return "".join(piece.lead + piece.text for piece in pieces(markdown))


def mrkdwn(markdown: str) -> str:
    """The same as mrkdwn, for a text, a section or a context."""
    return converted(safe(markdown))


def line(markdown: str, most: int) -> str:
    """Markdown as one line of mrkdwn, of at most `most` characters."""
    return as_mrkdwn(safe, " ".join(clean(markdown).split()), most)


def pieces(markdown: str, *, whole: bool = True) -> list[Piece]:
    """The pieces of the text; unless it is `whole`, only those that no continuation can change."""
    writer = _Writer()
    *lines, last = _LINE_END.split(markdown)
    if whole:
        lines.append(last)
    lines = list(map(_cleaned, lines))
    if steered := _STEERING.search(last):
        last = last[: steered.start()]
    last = clean(last)
    decided = "" if whole else None if _RULE_BEGUN.fullmatch(last) else last
    for line, following in zip(lines, [*lines[1:], decided], strict=False):
        if not writer.line(line, following):
            return writer.pieces
    if whole:
        writer.end()
    else:
        writer.growing(last)
    return writer.pieces


@dataclass(slots=True)
class _Writer:
    pieces: list[Piece] = field(default_factory=list)
    gap: bool = False
    fence: Fence | None = None
    opening: str = ""
    opened: bool = False
    glue: bool = False
    table: list[str] = field(default_factory=list)
    quoted: bool = False

    def line(self, line: str, following: str | None) -> bool:
        """Add a whole line. Returns False if the next line must be known first."""
        if self.fence is not None:
            if ">" not in self.fence.before or line.lstrip().startswith(">"):
                self._code_line(self.fence, line)
                return True
            self._close()
        bare = _QUOTED.sub("", line, count=1)
        quoted = bare != line
        if self.table:
            if "|" in bare and quoted == self.quoted:
                self.table.append(bare)
                return True
            self._end_table()
        if not line.strip():
            self.gap = True
            return True
        if opened := fence(line):
            self._open(opened)
            return True
        if "|" in bare:
            if following is None:
                self.growing(line)
                return False
            quoted_line = _QUOTED.sub("", following, count=1)
            if (quoted_line != following) == quoted and opens_table(bare, quoted_line):
                self.table, self.quoted = [bare], quoted
                return True
        self._add(*_line_pieces(line))
        return True

    def growing(self, line: str) -> None:
        """Add the beginning of an unfinished last line."""
        if self.table:
            for part in self._parts()[:-1]:
                self._add_part(part)
            return
        before = line.partition("|")[0]
        has_begun = _TWO_WORDS.match(before.lstrip(" \t>")) and not _UNDECIDED.fullmatch(before)
        if self.fence is None and has_begun and not fence(line):
            self._add(*_growing_pieces(before))

    def end(self) -> None:
        if self.table:
            self._end_table()
        if self.fence is not None:
            self._close()

    def _add(self, *added: Piece) -> None:
        """Add the pieces of a line, or a block."""
        lead = "" if not self.pieces else "\n\n" if self.gap else "\n"
        self.gap = False
        for at, piece in enumerate(added):
            self.pieces.append(replace(piece, lead=lead, glued=self.glue) if at == 0 else piece)
            self.glue = False
        self.glue = bool(added) and _HEADING.match(added[0].text) is not None

    def _open(self, opened: Fence) -> None:
        if marker := opened.before.replace(">", " ").strip():
            # A hyphen alone on a line would make the previous line a heading.
            self._add(Piece("•" if marker in "-*+" else marker))
        language = _LANGUAGE.fullmatch(opened.info)
        self.fence, self.opening, self.opened = opened, f"```{opened.info if language else ''}\n", False
        if opened.info and not language:
            self._code(opened.info)

    def _code_line(self, opened: Fence, line: str) -> None:
        if opened.closed_by(line):
            self._close()
            return
        indent = len(opened.before)
        if ">" in opened.before:
            line = re.sub(r"^\s*(?:> ?)+", "", line)
        elif not line[:indent].strip():
            line = line[indent:]
        self._code(line.rstrip())

    def _code(self, line: str) -> None:
        text = _coded(line)
        parts = [text[at : at + _CHUNK] for at in range(0, len(text), _CHUNK)] or [""]
        for at, part in enumerate(parts):
            if self.opened:
                lead = "\n" if at == 0 else ""
                self.pieces.append(Piece(part, lead, self.opening, code=True))
            else:
                # The opening is part of the first line's piece, so that it never stands alone at the end of a message.
                self._add(Piece(self.opening + part, code=True))
                self.opened = True

    def _close(self) -> None:
        if not self.opened:
            self._code("")
        self.pieces.append(Piece("```", "\n", glued=True))
        self.fence = None

    def _parts(self) -> list[str]:
        return list(_tabled("\n".join(self.table)))

    def _end_table(self) -> None:
        parts = self._parts()
        table = _native("\n".join(self.table)) if len(parts) == 1 and not self.quoted else ""
        for part in parts:
            self._add_part(part, table)
        self.table = []

    def _add_part(self, part: str, table: str = "") -> None:
        lines = part.split("\n")
        if self.quoted and lines[0] != "```":  # code is not possible in a quotation
            lines = [f"> {quoted_line}" for quoted_line in lines]
            part = "\n".join(lines)
        if cost(part) <= WHOLE:
            self._add(Piece(part, table=table))
        elif lines[0] == "```":
            self.opening, self.opened = "```\n", False
            for line in lines[1:-1]:
                self._code(line)
            self._close()
        else:
            for line in lines:
                self._add(*_line_pieces(line))


# Cached, because nearly every line of a growing text is unchanged since the last call.
_cleaned = cached(1_000_000, seconds=GROWING_S)(clean)
_coded = cached(500_000, seconds=GROWING_S)(coded)
# Nearly every cell of a growing table is unchanged too, and each is used several times.
_celled = cached(500_000, seconds=GROWING_S)(cell_text)
_prosed = cached(500_000, seconds=GROWING_S)(inline)


@cached(500_000, seconds=GROWING_S)
def _tabled(source: str) -> tuple[str, ...]:
    parts = tables(source, TABLE, cost, code=_celled, prose=_prosed)
    # The column names above a list of records are small print on other platforms.
    return tuple(_SMALL_PRINT.sub(r"_\1_", part) for part in parts)


@cached(500_000, seconds=GROWING_S)
def _native(source: str) -> str:
    """The table for a `markdown` block; "" if it is too large for one."""
    header, rule, *rows = [cells(line) for line in source.split("\n") if line.strip()]
    if len(rows) >= ROWS or len(header) > COLUMNS:
        return ""
    lines = [header, *(row[: len(header)] for row in rows)]
    shown = [" | ".join(_prosed(cell).replace("|", "\\|") for cell in line) for line in lines]
    return "\n".join(f"| {line} |" for line in [shown[0], " | ".join(rule[: len(header)]), *shown[1:]])


def _pieces_of(line: str, *, whole: bool) -> tuple[Piece, ...]:
    """The pieces of a line of known kind; unless it is `whole`, only those that no continuation can change."""
    if _RULE.match(line):
        return (Piece(_RULED),)
    if _UNDERLINE.match(line):
        return (Piece(f"\\{line.strip()}"),)
    if heading := _HEADING.match(line):
        return _words_of(heading[1] + " ", line[heading.end() :], whole=whole)
    head = indent = ""
    if quote := _QUOTE.match(line):
        head, line = "> ", line[quote.end() :].lstrip()
    else:
        remainder = line.lstrip()
        indent = " " * min(len(line[: len(line) - len(remainder)].expandtabs(4)), _INDENT)
        line = remainder
    marker = ""
    if item := _ITEM.match(line):
        marker = f"{item[1]}. " if item[1] else "- "
        line = line[item.end() :]
    return _words_of(f"{head}{indent}{marker}", line, whole=whole, head=head)


_line_pieces = cached(500_000, seconds=GROWING_S)(partial(_pieces_of, whole=True))
# The next state of a growing line is another text, so a larger cache would keep what is never looked up again.
_growing_pieces = cached(20_000)(partial(_pieces_of, whole=False))


def _words_of(prefix: str, rest: str, *, whole: bool, head: str = "") -> tuple[Piece, ...]:
    """The line's words; unless it is `whole`, only the finished ones."""
    if rest.startswith("~~~"):
        rest = "~" + BROKEN + rest[1:]
    words: list[Piece] = []
    text, lead, used, settled = prefix, "", 0, 0

    def end() -> None:
        nonlocal text, lead, used
        if text.strip():
            # At the top of another message it must not turn into a heading or a list.
            top = head + (BROKEN if _OPENING.match(text) else "") if words else ""
            words.append(Piece(text, lead, top))
            text, lead, used = "", "", 0

    for part, solid in _parts(rest, whole):
        single = not solid and _SINGLE.match(part) is not None
        if single or part == " " or used + len(part) > _CHUNK:
            end()
        if part == " ":
            lead, settled = " " if words else "", len(words)
        else:
            text, used = text + part, used + len(part)
            if single:
                end()
                settled = len(words)
    end()
    return tuple(words if whole else words[:settled])


def _parts(line: str, whole: bool) -> Iterator[tuple[str, bool]]:
    """The line's parts, runs of blanks as one, and whether each is solid; none is longer than a piece may be."""
    for atom in atoms(line, whole=whole):
        if atom.solid:
            yield atom.text, True
            continue
        for match in _WORD.finditer(atom.text):
            part = " " if match[0].isspace() else match[0]
            for at in range(0, len(part), _CHUNK):
                yield part[at : at + _CHUNK], False
