"""Rich Text (.rtf) into Documents: headings by their styles, else guessed; lists, tables, footnotes.

Follows Microsoft's specification 1.9.1 as far as text is concerned; the library striprtf keeps no headings. Left out:
page headers and footers, pictures, objects, comments, hidden and deleted text.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from bot.events import UserError
from bot.readers.document import Document, Progress, title_from_name
from bot.readers.package import persons_title
from bot.readers.writer import Writer, flow

_TOKEN: Final = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z'])|([{}])|[\r\n]+|([^\\{}\r\n]+)|\\"
)
_LEFT_OUT: Final = frozenset((
    "colortbl", "pict", "object", "header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr",
    "footerf", "themedata", "colorschememapping", "datastore", "listtable", "listoverridetable", "rsidtbl",
    "generator", "xe", "tc", "annotation", "atnid", "atnauthor", "atrfstart", "atrfend", "atndate", "fldinst",
    "bkmkstart", "bkmkend", "nonshppict", "revtbl", "pgptbl", "latentstyles", "xmlnstbl", "mmathPr", "filetbl",
    "background", "template", "ftnsep", "ftnsepc", "aftnsep", "aftnsepc", "author", "operator", "keywords",
    "subject", "comment", "doccomm", "company", "manager", "category", "falt", "panose", "fname",
    "expandedcolortbl", "wgrffmtfilter", "userprops", "docvar", "sp",
))  # fmt: skip
_SEEN: Final = frozenset(
    ("shptxt", "shpinst", "listtext", "pntext", "footnote", "upr", "ud", "nesttableprops")
)
"""Destinations that are marked as ignorable but are read."""
_CHARSETS: Final = {
    0: "cp1252", 77: "mac_roman", 128: "cp932", 129: "cp949", 134: "cp936", 136: "cp950", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip
_SIGNS: Final = {
    "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•",
    "tab": "\t", "line": "\n", "emspace": " ", "enspace": " ", "qmspace": " ",
}  # fmt: skip
_HEADING: Final = re.compile(
    r"(?:heading|überschrift|t[íi]tulo|titre|rubrik|titolo)\s*([1-9])", re.IGNORECASE
)
_NUMBER: Final = re.compile(r"\(?(\d{1,4})[.)]")
_SENTENCE: Final = (".", ",", ";", ":", "…")
_SHORT: Final = 100
_DEEPEST: Final = 1_000
_EVERY: Final = 50_000


@dataclass(slots=True)
class _State:
    """The state that braces save: where words go, and how they are read."""

    to: str = ""
    left_out: bool = False
    skip: int = 1
    font: int = -1
    hidden: bool = False
    bold: bool = False
    size: int = 24


@dataclass(slots=True)
class _Paragraph:
    """A paragraph. `level` is from 1 for a heading; `marker` is the text before an item."""

    text: str
    level: int = 0
    marker: str = ""
    depth: int = 0
    bold: bool = False
    size: int = 24
    notes: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The document in `data`; blocking. Raises UserError: "library.file_damaged", "library.file_bomb"."""
    if not data.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"{\\rtf"):
        raise UserError("library.file_damaged", name=name)
    reader = _Reader(name)
    reader.run(data, progress)
    paragraphs = reader.paragraphs
    if not any(paragraph.level for paragraph in paragraphs):
        _guess(paragraphs)
    writer = Writer()
    for paragraph in paragraphs:
        if paragraph.rows:
            writer.table(paragraph.rows)
        elif paragraph.level:
            writer.heading(paragraph.level, paragraph.text)
        elif paragraph.marker:
            number = _NUMBER.fullmatch(paragraph.marker.strip())
            writer.item(paragraph.text, depth=paragraph.depth, number=int(number[1]) if number else None)
        else:
            writer.paragraph(paragraph.text)
        for note in paragraph.notes:
            writer.quote(note)
    heads = [paragraph for paragraph in paragraphs if paragraph.level]
    lone = heads[:1] if heads and all(other.level > heads[0].level for other in heads[1:]) else []
    title = persons_title(reader.title) or "".join(flow(head.text) for head in lone)
    return writer.document(title or title_from_name(name))


class _Reader:
    def __init__(self, name: str) -> None:
        self.paragraphs: list[_Paragraph] = []
        self.title = ""
        self._name = name
        self._state = _State()
        self._stack: list[_State] = []
        self._words: dict[str, list[str]] = {"": []}
        self._bytes = bytearray()
        self._code_page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._styles: dict[int, str] = {}
        self._style = 0
        self._outline = -1
        self._depth = 0
        self._in_table = False
        self._row: list[str] = []
        self._cell: list[str] = []
        self._looks: list[tuple[int, bool, int]] = []
        self._notes: list[str] = []

    def run(self, data: bytes, progress: Progress) -> None:
        at = skipped = count = 0
        while at < len(data):
            token = _TOKEN.match(data, at)
            if token is None:
                at += 1
                continue
            at = token.end()
            count += 1
            if count % _EVERY == 0:
                progress(at, len(data))
            word, argument, byte, symbol, brace, text = token.groups()
            if brace == b"{":
                skipped = 0
                if len(self._stack) > _DEEPEST:
                    raise UserError("library.file_bomb", name=self._name)
                self._flush()
                self._stack.append(self._state)
                self._state = replace(self._state)
            elif brace == b"}":
                skipped = 0
                self._flush()
                self._close()
            elif byte:
                if skipped:
                    skipped -= 1
                else:
                    self._bytes += bytes.fromhex(byte.decode())
            elif text:
                self._bytes += text[skipped:]
                skipped = max(skipped - len(text), 0)
            elif word:
                value = int(argument) if argument else None
                if word == b"bin":
                    at += max(value or 0, 0)
                elif word == b"u" and value is not None:
                    self._flush()
                    self._put(chr(value & 0xFFFF))
                    skipped = self._state.skip
                else:
                    self._flush()
                    self._control(word.decode(), value)
            elif symbol:
                self._flush()
                self._symbol(symbol)
        self._flush()
        self._end_paragraph()
        self._end_table()

    def _close(self) -> None:
        ended, self._state = self._state, self._stack.pop() if self._stack else _State()
        if ended.to == self._state.to:
            return
        words = "".join(self._words.pop(ended.to, []))
        if ended.to == "footnote":
            self._notes.append(words)
        elif ended.to == "title":
            self.title = words
        elif ended.to in ("listtext", "pntext"):
            self._words["marker"] = [words]
        elif ended.to == "shptxt" and words.strip():
            self._notes.append(words)

    def _flush(self) -> None:
        """Decode the bytes collected so far."""
        if not self._bytes:
            return
        page = self._fonts.get(self._state.font, self._code_page)
        text = bytes(self._bytes).decode(page, "replace")
        self._bytes.clear()
        self._put(text)

    def _put(self, text: str) -> None:
        state = self._state
        if state.to == "fonttbl":
            return
        if state.to == "stylesheet":
            self._styles[self._style] = self._styles.get(self._style, "") + text
            return
        if state.left_out or state.hidden:
            return
        self._words.setdefault(state.to, []).append(text)
        if not state.to and text.strip():
            self._looks.append((len(text), state.bold, state.size))

    def _symbol(self, symbol: bytes) -> None:
        if symbol == b"*":
            self._state.left_out = True
        elif symbol in b"\\{}":
            self._put(symbol.decode())
        elif symbol == b"~":
            self._put(" ")
        elif symbol == b"_":
            self._put("-")
        elif symbol in (b"\n", b"\r"):
            self._end_paragraph()

    def _control(self, word: str, value: int | None) -> None:
        state = self._state
        if word in _LEFT_OUT:
            state.left_out = True
        elif word in _SEEN or (word == "title" and not state.to):
            state.left_out = False
            if word in ("footnote", "listtext", "pntext", "title", "shptxt"):
                state.to = word
                self._words[word] = []
        elif word in ("fonttbl", "stylesheet"):
            state.to, state.left_out = word, False
        elif word == "ansicpg" and value is not None:
            self._code_page = _known(f"cp{value}", self._code_page)
        elif word in ("mac", "pc", "pca"):
            self._code_page = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}[word]
        elif word == "uc":
            state.skip = max(value or 0, 0)
        elif word == "f" and value is not None:
            state.font = value
        elif word == "fcharset" and state.to == "fonttbl" and value is not None:
            self._fonts[state.font] = _CHARSETS.get(value, self._code_page)
        elif word == "s" and value is not None:
            self._style = value
            if state.to == "stylesheet":
                self._styles[value] = ""
        elif state.to == "stylesheet":
            return
        elif word in ("v", "deleted"):
            state.hidden = value != 0
        elif word == "b":
            state.bold = value != 0
        elif word == "fs" and value is not None:
            state.size = value
        elif word == "plain":
            state.bold, state.size, state.hidden = False, 24, False
        elif word in _SIGNS:
            self._put(_SIGNS[word])
        elif not state.left_out:
            self._shape(word, value)

    def _shape(self, word: str, value: int | None) -> None:
        """Handle a control word that forms paragraphs and tables."""
        if self._state.to:
            if word == "par":
                self._put("\n")
        elif word in ("par", "sect", "page"):
            self._end_paragraph()
        elif word == "pard":
            self._style, self._outline, self._depth, self._in_table = 0, -1, 0, False
        elif word == "outlinelevel" and value is not None:
            self._outline = value
        elif word == "ilvl" and value is not None:
            self._depth = min(max(value, 0), 8)
        elif word == "intbl":
            self._in_table = True
        elif word in ("cell", "nestcell"):
            words = [*self._cell, self._taken().text]
            self._row.append(" ".join(flow(text) for text in words if text.strip()))
            self._cell = []
        elif word in ("row", "nestrow") and self._row:
            if not (self.paragraphs and self.paragraphs[-1].rows and self._in_rows):
                self.paragraphs.append(_Paragraph(""))
            self.paragraphs[-1].rows.append(self._row)
            self.paragraphs[-1].notes += self._notes
            self._row, self._notes = [], []

    @property
    def _in_rows(self) -> bool:
        return not "".join(self._words[""]).strip()

    def _end_paragraph(self) -> None:
        if self._state.to:
            self._put("\n")
            return
        paragraph = self._taken()
        if self._in_table or self._row:
            self._cell.append(paragraph.text)
            return
        self._end_table()
        if paragraph.text.strip():
            paragraph.notes, self._notes = self._notes, []
            self.paragraphs.append(paragraph)
        elif self.paragraphs and self.paragraphs[-1].rows:
            self.paragraphs.append(_Paragraph(""))  # separates two tables

    def _end_table(self) -> None:
        """End a table whose last row was not ended."""
        if self._row or self._cell:
            cells = [*self._row, *([" ".join(self._cell)] if self._cell else [])]
            self.paragraphs.append(_Paragraph("", rows=[cells]))
            self._row, self._cell = [], []

    def _taken(self) -> _Paragraph:
        """The paragraph collected so far."""
        text = _paired("".join(self._words[""]))
        marker = "".join(self._words.pop("marker", []))
        looks, self._looks = self._looks, []
        self._words[""] = []
        size = max((size for _, _, size in looks), default=24)
        return _Paragraph(
            text,
            self._level() if len(flow(text)) <= 250 else 0,
            marker if not self._level() else "",
            self._depth,
            bool(looks) and all(bold for _, bold, _ in looks),
            size,
        )

    def _level(self) -> int:
        named = self._styles.get(self._style, "").strip(" ;")
        if match := _HEADING.match(named):
            return min(int(match[1]), 6)
        if named.casefold() in ("title", "título"):
            return 1
        return min(self._outline + 1, 6) if 0 <= self._outline < 9 else 0


def _known(encoding: str, otherwise: str) -> str:
    try:
        return codecs.lookup({"cp65001": "utf-8", "cp10000": "mac_roman"}.get(encoding, encoding)).name
    except LookupError:
        return otherwise


def _paired(text: str) -> str:
    """The text with surrogate pairs joined."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _guess(paragraphs: list[_Paragraph]) -> None:
    """Make headings of short paragraphs in larger letters, or all in bold if most of the text is not."""
    sizes: Counter[int] = Counter()
    weights: Counter[bool] = Counter()
    for paragraph in paragraphs:
        sizes[paragraph.size] += len(paragraph.text)
        weights[paragraph.bold] += len(paragraph.text)
    if not sizes:
        return
    body, thin = sizes.most_common(1)[0][0], weights[False] >= weights[True]
    headings = [
        paragraph
        for paragraph in paragraphs[:-1]
        if not paragraph.rows
        and 0 < len(words := flow(paragraph.text)) <= _SHORT
        and not words.endswith(_SENTENCE)
        and any(map(str.isalpha, words))
        and (paragraph.size >= body + 2 or (paragraph.bold and thin and paragraph.size >= body))
    ]
    ranks = sorted({paragraph.size for paragraph in headings}, reverse=True)
    for paragraph in headings:
        paragraph.level = min(ranks.index(paragraph.size) + 1, 6)
