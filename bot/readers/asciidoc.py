"""AsciiDoc (.adoc) into Documents: its headings, lists, tables, listings and asides, without its markup.

Follows Asciidoctor's documentation as far as text is concerned. Includes, conditions and passthrough blocks are not
processed; comments and pictures are left out.
"""

from __future__ import annotations

import re
from typing import Final

from bot.events import UserError
from bot.readers.decode import decode
from bot.readers.document import Document, Progress, title_from_name
from bot.readers.writer import Writer, flow

_HEADING: Final = re.compile(r"(={1,6}|#{1,6})\s+(\S.*?)(?:\s+\1)?$")
_ATTRIBUTE: Final = re.compile(r":(!?[\w-]+!?):(?:\s+(.*))?$")
_REFERENCE: Final = re.compile(r"\{([\w-]{1,60})\}")
_BLOCK_LINE: Final = re.compile(r"\[(?![\[\w]*\]\s*\S).*\]$")
_ANCHOR: Final = re.compile(r"\[\[[^\]]*\]\]|\[#[^\]]*\]$")
_DIRECTIVE: Final = re.compile(r"(?:include|ifdef|ifndef|ifeval|endif)::")
_MACRO: Final = re.compile(r"(?:image|video|audio|toc)::[^\[\n]*\[.*\]$")
_DELIMITED: Final = re.compile(r"(?:-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|`{3,}\w*|[|,:!]={3,})$")
_ITEM: Final = re.compile(r"\s*(\*{1,5}|\.{1,5}|-|\d{1,4}\.|[a-zA-Z]\.)\s+(\S.*)$")
_CHECKED: Final = re.compile(r"\[[ xX*]\]\s+")
_TERM: Final = re.compile(r"(\S.{0,200}?):{2,4}(?:\s+(.*))?$")
_ASIDE: Final = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):\s+(.*)")
_CELL: Final = re.compile(r"(?:(?:(\d+)\*)?(?:\d+)?(?:\.\d+)?\+?[<^>]?(?:\.[<^>])?[aehlmsdv]?)?\|")
_VERBATIM: Final = re.compile(r"[-.`+]")
_LINK: Final = re.compile(
    r"(?:link:)?((?:https?|ftp|mailto)[:][^\s\[\]<>]+|(?<=link:)[^\s\[\]]+)\[([^\]]*)\]"
)
_XREF: Final = re.compile(r"<<([^>,]{1,200})(?:,\s*([^>]{1,200}))?>>|xref:([^\s\[]{1,200})\[([^\]]*)\]")
_INLINE: Final = (
    (re.compile(r"footnote(?:ref)?:\w*\[([^\]]*)\]"), r" (\1)"),
    (re.compile(r"(?:kbd|btn|menu|stem|latexmath|asciimath):\w*\[([^\]]*)\]"), r"\1"),
    (re.compile(r"(?:image|icon|anchor|bibitem):[^\s\[]*\[[^\]]*\]|\[\[[^\]]*\]\]|indexterm:\[[^\]]*\]"), ""),
    (re.compile(r"\(\(\(.{1,200}?\)\)\)"), ""),
    (re.compile(r"\(\((.{1,200}?)\)\)"), r"\1"),
    (re.compile(r"\+\+\+?(.{1,500}?)\+\+\+?"), r"\1"),
    (re.compile(r"(?:\[[^\]\s]{1,60}\])?(\*\*|__|``|##)(?=\S)(.{1,500}?)\1"), r"\2"),
    (re.compile(r"(?<![\w\\])(?:\[[^\]\s]{1,60}\])?([*_`#+])(?=\S)(.{0,500}?\S)\1(?!\w)"), r"\2"),
    (re.compile(r"(?<!\w)([\^~])(?=\S)([^\s^~]{1,60})\1"), r"\2"),
    (re.compile(r"\\([*_`#+{<\[])"), r"\1"),
)
_CHARACTERS: Final = {
    "nbsp": " ",
    "sp": " ",
    "empty": "",
    "amp": "&",
    "lt": "<",
    "gt": ">",
    "plus": "+",
    "quot": '"',
}
_SUBSTITUTED: Final = 200_000
"""The most characters that attributes may add to the text in total."""
_DEPTH: Final = 20
"""The deepest nesting of blocks."""


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The document in `data`; blocking. Raises UserError as `decode` does, and "library.file_empty" if it
    has no words.
    """
    lines = [line.rstrip() for line in decode(name, data).lstrip("\ufeff").split("\n")]
    writer = Writer()
    walk = _Walk(lines, writer, progress)
    walk.blocks(0, len(lines), 0)
    if writer.empty:
        raise UserError("library.file_empty", name=name)
    return writer.document(walk.title or title_from_name(name))


class _Walk:
    def __init__(self, lines: list[str], writer: Writer, progress: Progress) -> None:
        self.title = ""
        self._lines = lines
        self._writer = writer
        self._progress = progress
        self._attributes: dict[str, str] = {}
        self._numbers: list[tuple[str, int]] = []
        self._literal = False
        self._room = _SUBSTITUTED

    def blocks(self, at: int, last: int, depth: int, *, quoted: bool = False) -> None:
        """Write lines [at, last)."""
        while at < last:
            if at % 1000 == 0:
                self._progress(at, len(self._lines))
            at = self._block(at, last, depth, quoted=quoted)

    def _block(self, at: int, last: int, depth: int, *, quoted: bool) -> int:
        line = self._lines[at]
        if not line or line == "+" or (line.startswith("//") and not line.startswith("////")):
            return at + 1
        if attribute := _ATTRIBUTE.match(line):
            self._attributes[attribute[1].lower()] = attribute[2] or ""
            return at + 1
        if (
            _DIRECTIVE.match(line)
            or _MACRO.match(line)
            or _ANCHOR.fullmatch(line)
            or line in ("'''", "<<<", "---")
        ):
            return at + 1
        if _BLOCK_LINE.match(line):
            self._literal = bool(re.match(r"\[(?:source|listing|literal|verse)\b", line))
            return at + 1
        if _DELIMITED.match(line):
            return self._delimited(at, last, depth)
        if heading := _HEADING.match(line):
            return self._heading(at, len(heading[1]), heading[2])
        if line[0] == "." and line[1:2] not in ("", ".", " "):  # a block's title
            self._writer.paragraph(self._words(line[1:]))
            return at + 1
        if item := _ITEM.match(line):
            return self._item(at, last, item)
        end = at + 1
        while end < last and not self._ends(end):
            end += 1
        if self._literal or line[0] in " \t":
            self._literal = False
            self._writer.code("\n".join(self._lines[at:end]))
            return end
        words = [each for each in self._lines[at:end] if not each.startswith("//")]
        if aside := _ASIDE.match(words[0]):
            self._writer.quote(self._words(" ".join([aside[2], *words[1:]])))
        elif (term := _TERM.match(words[0])) and "://" not in term[1]:
            item_text = self._words(" ".join([term[2] or "", *words[1:]]))
            self._writer.item(f"{self._words(term[1])}: {item_text}".rstrip(" "))
        elif quoted:
            self._writer.quote(self._words(" ".join(words)))
        else:
            self._writer.paragraph("\n".join(self._words(part) for part in _broken(words)))
        return end

    def _ends(self, at: int) -> bool:
        line = self._lines[at]
        return not line or line == "+" or bool(
            _DELIMITED.match(line) or _ITEM.match(line) or _HEADING.match(line) or _BLOCK_LINE.match(line)
            or (_TERM.match(line) and "://" not in line)
        )  # fmt: skip

    def _heading(self, at: int, level: int, title: str) -> int:
        words = self._words(title)
        self._writer.heading(level, words)
        self._numbers = []
        if level == 1 and not self.title:
            self.title = flow(words)
            at += 1
            # The document's header continues to the first blank line: authors, date, and attributes.
            while at < len(self._lines) and self._lines[at]:
                if attribute := _ATTRIBUTE.match(self._lines[at]):
                    self._attributes[attribute[1].lower()] = attribute[2] or ""
                elif not self._lines[at].startswith("//"):
                    self._writer.paragraph(self._words(self._lines[at]))
                at += 1
            return at
        return at + 1

    def _item(self, at: int, last: int, item: re.Match[str]) -> int:
        mark = item[1]
        kind = "1." if mark[0].isalnum() else mark
        while self._numbers and kind not in [marker for marker, _ in self._numbers]:
            if len(self._numbers) < len(kind) or kind in ("-", "1."):
                break
            self._numbers.pop()
        known = [each for each, _ in self._numbers]
        if kind in known:
            del self._numbers[known.index(kind) + 1 :]
            self._numbers[-1] = (kind, self._numbers[-1][1] + 1)
        else:
            self._numbers.append((kind, int(mark[:-1]) if mark[:-1].isdigit() else 1))
        words = [_CHECKED.sub("", item[2])]
        end = at + 1
        while end < last and not self._ends(end):
            words.append(self._lines[end].strip())
            end += 1
        numbered = kind == "1." or kind[0] == "."
        self._writer.item(
            self._words(" ".join(words)),
            depth=len(self._numbers) - 1,
            number=self._numbers[-1][1] if numbered else None,
        )
        beyond = end
        while beyond < last and not self._lines[beyond]:
            beyond += 1
        if beyond >= last or not (_ITEM.match(self._lines[beyond]) or self._lines[beyond] == "+"):
            self._numbers = []
        return end

    def _delimited(self, at: int, last: int, depth: int) -> int:
        fence = self._lines[at]
        mark = "```" if fence.startswith("```") else fence
        end = at + 1
        while end < last and self._lines[end] != mark:
            end += 1
        verbatim, self._literal = self._literal, False
        if fence.endswith("==") and fence[0] in "|,:!":
            self._table(at + 1, end, "," if fence[0] == "," else ":" if fence[0] == ":" else "")
        elif fence[0] in "/+":
            pass
        elif fence != "--" and (_VERBATIM.match(fence) or verbatim):
            self._writer.code(
                "\n".join(line for line in self._lines[at + 1 : end] if not _DIRECTIVE.match(line))
            )
        elif depth < _DEPTH:
            self.blocks(at + 1, end, depth + 1, quoted=fence[0] in "_*=")
        return end + 1

    def _table(self, at: int, last: int, separator: str) -> None:
        """Write rows as they are written on lines; if each cell has its own line, by the number of cells in the first
        row.
        """
        if separator:
            self._writer.table([line.split(separator) for line in self._lines[at:last] if line])
            return
        lines: list[list[str]] = []
        blank = 0
        for line in self._lines[at:last]:
            if not line:
                blank = blank or len(lines)
                continue
            starts = list(_CELL.finditer(line))
            if lines and (not starts or line[: starts[0].start()].strip()):
                before = line[: starts[0].start()] if starts else line
                lines[-1][-1] = f"{lines[-1][-1]} {before.strip()}"
            cells: list[str] = []
            ends = [*(match.start() for match in starts[1:]), len(line)]
            for match, end in zip(starts, ends, strict=True) if starts else ():
                cells += [self._words(line[match.end() : end].strip())] * min(int(match[1] or 1), 100)
            if cells:
                lines.append(cells)
        width = max(map(len, lines[: blank or None]), default=0)
        if width > 1 or not blank:
            if blank and sum(map(len, lines[:blank])) != width:
                width = len(lines[0])
        else:
            width = sum(map(len, lines[:blank]))
        cells = [cell for line in lines for cell in line]
        if all(len(line) == width for line in lines) or width < 1:
            self._writer.table(lines)
        else:
            self._writer.table([cells[first : first + width] for first in range(0, len(cells), width)])

    def _words(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            key = match[1].lower()
            words = _CHARACTERS.get(key, self._attributes.get(key, match[0]))
            self._room -= len(words)
            return words if self._room >= 0 else match[0]

        def see(match: re.Match[str]) -> str:
            target, words = match[1] or match[3] or "", match[2] or match[4]
            if words:
                self._writer.see(words)
            elif " " in target or target[:1].isupper():
                self._writer.see(target)
            return words or target.strip("#_").replace("_", " ")

        if len(text) > 100_000:
            return text
        text = _REFERENCE.sub(value, text) if "{" in text else text
        text = _LINK.sub(lambda match: match[2].rstrip("^").strip('"') or match[1], text)
        text = _XREF.sub(see, text)
        for pattern, words in _INLINE:
            text = pattern.sub(words, text)
        return text


def _broken(lines: list[str]) -> list[str]:
    """Joins lines, except those that end in a hard break."""
    parts = [""]
    for line in lines:
        parts[-1] = f"{parts[-1]} {line.removesuffix(' +').strip()}".strip()
        if line.endswith(" +"):
            parts.append("")
    return [part for part in parts if part]
