"""Markdown that arrives in pieces, as lines for a terminal: styled, wrapped at words, with aligned tables.

Independent of prompts and runs. What is not complete yet is the tail, which the caller shows separately.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from bot.adapters.markdown import clean
from bot.adapters.tables import cells as cells_of

_INLINE = re.compile(
    r"\\([!-/:-@\[-`{-~])|(`[^`]+`)|\*\*(.+?)\*\*|~~(.+?)~~|(?<![\w*])[*_](?! )([^*_]+?)[*_](?![\w*])|(\[\d{1,3}\])"
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARK = re.compile(r"\x1b\[[0-9;]*m")
_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])\s+")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE = re.compile(r"^[\s|:-]+$")

BOLD, DIM, ITALIC, STRUCK = "1", "2", "3", "9"
RED, GREEN, YELLOW, BLUE, CYAN = "31", "32", "33", "34", "36"


def coloured(tty: bool) -> bool:
    """Whether to use colours: for a person, unless NO_COLOR is set (https://no-color.org)."""
    return tty and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


@dataclass(frozen=True, slots=True)
class Ink:
    """The width of the output, and whether it is coloured."""

    colour: bool
    width: int = 80

    def __call__(self, text: str, *codes: str) -> str:
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.colour and text else text

    def inline(self, text: str) -> str:
        """The text with code, **bold**, *italic*, ~~struck~~ and [n] styled, and \\* as a plain star. Without colours
        the styles stay as they are written.
        """
        return _INLINE.sub(self._inline, text)

    def _inline(self, match: re.Match[str]) -> str:
        escaped, code, bold, struck, italic, marker = match.groups()
        if escaped:
            return str(escaped)
        if code:
            return self(code[1:-1], CYAN) if self.colour else match[0]
        if not self.colour:
            return _ESCAPED.sub(r"\1", match[0])
        if bold:
            return self(_ESCAPED.sub(r"\1", bold), BOLD)
        if struck:
            return self(_ESCAPED.sub(r"\1", struck.strip("*")), DIM, STRUCK)  # a dropped die may be bold too
        return self(_ESCAPED.sub(r"\1", italic), ITALIC) if italic else self(marker, GREEN)

    def wrap(self, text: str, first: str = "", rest: str = "") -> str:
        """Styled text wrapped at spaces. Indents count towards the width, colour codes do not."""
        if "\n" in text:
            head, tail = text.split("\n", 1)
            return f"{self.wrap(head, first, rest)}\n{self.wrap(tail, rest, rest)}"
        lines, line, used = [], first, width_of(first)
        open_code = ""
        for word in text.split(" "):
            size = width_of(word)
            # A line of blanks would be searched again for each further one.
            if not word and used > self.width:
                continue
            if used + size > self.width and line.strip() and _MARK.sub("", line) != rest:
                lines.append(line.rstrip(" ") + ("\x1b[0m" if open_code else ""))
                line, used = rest + open_code, width_of(rest)
            line += word + " "
            used += size + 1
            for code in _MARK.findall(word):
                open_code = "" if code == "\x1b[0m" else code
        return "\n".join([*lines, line.rstrip(" ")])


def width_of(text: str) -> int:
    """The number of terminal cells that the text takes."""
    bare = _MARK.sub("", text)
    if bare.isascii():
        return len(bare)
    from wcwidth import wcswidth  # prompt_toolkit installs it; plain text does not need it

    return max(wcswidth(bare), 0)


@dataclass(slots=True)
class MarkdownStream:
    """Accepts pieces and returns finished lines; the open paragraph or table is kept."""

    ink: Ink
    _tail: str = ""
    _table: list[str] = field(default_factory=list)
    _fenced: bool = False

    def feed(self, piece: str) -> list[str]:
        """The lines that this piece completes."""
        *lines, self._tail = (self._tail + clean(piece)).split("\n")
        return [styled for line in lines for styled in self._line(line)]

    def end(self) -> list[str]:
        """The rest, at the end of the text."""
        tail, self._tail = self._tail, ""
        lines = self._line(tail) if tail else []
        lines += self._rows()
        self._fenced = False
        return lines

    def tail(self) -> str:
        """The open block so far, styled."""
        table = "\n".join(self._table)
        if not self._tail:
            return table
        return f"{table}\n{self._tail}" if table else self._styled(self._tail)

    def _line(self, line: str) -> list[str]:
        if not self._fenced and _ROW.match(line):
            self._table.append(line)
            return []
        lines = self._rows()
        if line.lstrip().startswith(("```", "~~~")):
            self._fenced = not self._fenced
            return lines
        return [*lines, self._styled(line)]

    def _styled(self, line: str) -> str:
        ink = self.ink
        if self._fenced:
            return "    " + ink(line, CYAN)
        if heading := re.match(r"^(#{1,6}) +(.*)", line):
            return ink.wrap(ink(_ESCAPED.sub(r"\1", heading[2]), BOLD))
        if line.startswith(">"):
            return ink.wrap(ink.inline(line.lstrip("> ")), ink("│ ", DIM), ink("│ ", DIM))
        if item := _ITEM.match(line):
            bullet = item[2] if item[2][0].isdigit() else "•"
            first = f"{item[1]}{bullet} "
            return ink.wrap(ink.inline(line[item.end() :]), first, " " * len(first))
        return ink.wrap(ink.inline(line))

    def _rows(self) -> list[str]:
        """The finished table with aligned columns; a table that is too wide for the screen becomes a list
        of its rows.
        """
        rows = [cells_of(row) for row in self._table]
        raw, self._table = self._table, []
        if not rows:
            return []
        columns = max(len(row) for row in rows)
        cells = [[self.ink.inline(cell) for cell in row] + [""] * (columns - len(row)) for row in rows]
        ruled = [bool(_RULE.match(line)) for line in raw]
        widths = [
            max((width_of(row[at]) for row, rule in zip(cells, ruled, strict=True) if not rule), default=0)
            for at in range(columns)
        ]
        if sum(widths) + 3 * (columns - 1) > self.ink.width:
            if ruled[1:2] == [True] and len(rows) > 2:
                return self._records(cells[0], cells[2:])
            return [self.ink.wrap(self.ink.inline(line)) for line in raw]
        lines = []
        for number, (row, rule) in enumerate(zip(cells, ruled, strict=True)):
            if rule:
                lines.append(self.ink("─┼─".join("─" * width for width in widths), DIM))
                continue
            line = " │ ".join(
                cell + " " * (width - width_of(cell)) for cell, width in zip(row, widths, strict=True)
            )
            lines.append(self.ink(line, BOLD) if number == 0 and len(rows) > 1 else line.rstrip())
        return lines

    def _records(self, header: list[str], rows: list[list[str]]) -> list[str]:
        """Each row as an item: its first cell, then the others under their column names."""
        lines = []
        for title, *cells in rows:
            others_named = [
                f"{name}: {cell}" if name else cell
                for name, cell in zip(header[1:], cells, strict=True)
                if cell
            ]
            lines.append(self.ink.wrap(" · ".join([self.ink(title, BOLD), *others_named]), "• ", "  "))
        return lines
