"""Fountain (fountain.io/syntax, 1.1) into a screenplay, in time proportional to its length.

Boneyard and notes are cut out first, then the text is read line by line. Beyond the specification: Beat's `!!` for
shots, INT and EXT in Cyrillic letters, `PARA:` beside `TO:`, letters without case as cues, full-width signs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from bot.readers.decode import decode
from bot.readers.document import Document, Progress, screenplay_document
from bot.readers.screenplay.elements import LEFT, RIGHT, SPOKEN, Element, Kind, Screenplay, lines

_HEADING: Final = re.compile(
    r"(?:INT|EXT|INT\.?/EXT|EXT\.?/INT|I\.?/E|E\.?/I|ИНТ|НАТ|ЭКСТ|ИНТ\.?/НАТ)(?:[.。]|[ \t]|$)|EST\.",
    re.IGNORECASE,
)
_ESTABLISHING: Final = "EST "
"""In capitals only, because "est" is a word in other languages."""
_NUMBER: Final = re.compile(r"#([^#\s][^#]{0,40})#$")
_FORCED: Final = re.compile(r"\.[^.\s]")
_KEY: Final = re.compile(r"([^\s:：][^:：\n]{0,60})[:：](.*)")
_KEYS: Final = frozenset({
    "title", "credit", "credits", "author", "authors", "source", "notes", "note", "draft date", "draft", "date",
    "contact", "copyright", "revision", "episode", "series", "format", "font", "watermark", "header", "footer",
    "título", "titulo", "autor", "autora", "autores", "data", "contato", "créditos", "crédito", "fonte", "direitos",
})  # fmt: skip
"""One of these keys makes the first lines a title page; "FADE IN:" does not."""
_EXTENSIONS: Final = re.compile(r"(?:\s*[(（][^()（）]{0,80}[)）])+$")
_STOPS: Final = re.compile("[.!?,;:。！？、，；：]")
_CASELESS: Final = 24
"""The most letters of a cue in a script without capitals, where any line looks like one."""
_CUE: Final = 100
_NOTED: Final = "\ue000"
"""Marks the place of a note while the text is read."""


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The script in `data`; blocking. Raises UserError as `decode` does."""
    screenplay = fountain(decode(name, data))
    progress(1, 1)
    return screenplay_document(name, screenplay)


def fountain(text: str) -> Screenplay:
    """The screenplay for a text in Fountain with "\\n" as line end."""
    text, notes = _without_notes(_without_boneyard(text.replace(_NOTED, "").lstrip("\ufeff")))
    rows = text.split("\n")
    at = next((at for at, row in enumerate(rows) if row.replace(_NOTED, "").strip()), len(rows))
    title_page, after = _title_page(rows, at)
    return Screenplay(tuple(_Reading(rows, notes, after).elements()), title_page)


def is_heading(line: str) -> bool:
    """Whether a line after an empty one is a scene heading without a forcing mark."""
    return bool(_HEADING.match(line)) or line.startswith(_ESTABLISHING)


def is_transition(line: str) -> bool:
    """Whether a line between empty ones is a transition without a forcing mark."""
    return line.endswith(("TO:", "PARA:")) and not any(map(str.islower, line))


def is_cue(line: str) -> bool:
    """Whether a line after an empty one and before words is a cue without a forcing mark."""
    if not line or len(line) > _CUE or line.endswith(("TO:", "PARA:")):
        return False
    name = _EXTENSIONS.sub("", line).strip()
    if "^" in name or any(letter.islower() and letter != "ß" for letter in name):
        return False
    if any(map(str.isupper, name)):
        return True
    return any(map(str.isalpha, name)) and len(name) <= _CASELESS and not _STOPS.search(name)


def _without_boneyard(text: str) -> str:
    parts, at = [], 0
    while (start := text.find("/*", at)) >= 0 and (end := text.find("*/", start + 2)) >= 0:
        parts.append(text[at:start])
        at = end + 2
    return "".join([*parts, text[at:]])


def _without_notes(text: str) -> tuple[str, list[str]]:
    """The text with a mark for each note, and the notes. No note spans an empty line."""
    parts, notes, at = [], [], 0
    start, end, gap = text.find("[["), 0, text.find("\n\n")
    while start >= 0:
        if end < start + 2:
            end = text.find("]]", start + 2)
        if end < 0:
            break
        if 0 <= gap < start:
            gap = text.find("\n\n", start)
        if 0 <= gap < end:
            start = text.find("[[", gap)
            continue
        parts += [text[at:start], _NOTED]
        notes.append(lines(text[start + 2 : end]))
        at = end + 2
        start = text.find("[[", at)
    return "".join([*parts, text[at:]]), notes


def _title_page(rows: list[str], at: int) -> tuple[tuple[tuple[str, str], ...], int]:
    """The pairs at the head of the text, if it has any, and the row after them."""
    pairs: list[tuple[str, list[str]]] = []
    while at < len(rows) and rows[at].strip():
        row = rows[at].replace(_NOTED, "")
        if pairs and row[:1] in (" ", "\t"):
            pairs[-1][1].append(row)
        elif match := _KEY.match(row):
            pairs.append((match[1].strip(), [match[2]]))
        else:
            break
        at += 1
    if not any(key.casefold() in _KEYS for key, _ in pairs):
        return (), 0
    return tuple((key, lines("\n".join(values))) for key, values in pairs), at


class _Reading:
    """Reads one text: `rows` from `at` on, and the notes for the marks in them, in order."""

    def __init__(self, rows: list[str], notes: list[str], at: int) -> None:
        self._notes = iter(notes)
        self._rows = rows
        self._at = at
        self._early = sum(row.count(_NOTED) for row in rows[:at])
        """The number of notes on the title page."""

    def elements(self) -> list[Element]:
        elements = list(self._noted(_NOTED * self._early))
        parted = True
        """Whether a scene, a speech or a transition may begin here: after an empty line or an unprinted element."""
        while self._at < len(self._rows):
            row = self._rows[self._at]
            if row.replace(_NOTED, "").strip():
                elements += self._block(row, parted=parted)
                parted = bool(elements) and elements[-1].kind in ("section", "synopsis", "page_break")
            else:
                elements += self._noted(row)
                parted = parted or not row.strip()
                self._at += 1
        return _beside(elements)

    def _noted(self, text: str) -> Iterator[Element]:
        for _ in range(text.count(_NOTED)):
            yield Element("note", next(self._notes))

    def _element(
        self, kind: Kind, text: str, *, number: str = "", dual: int = 0, level: int = 0
    ) -> Iterator[Element]:
        """The element, if it has words, and the notes inside it."""
        words = lines(text.replace(_NOTED, ""))
        if words or kind == "page_break":
            yield Element(kind, words, number=number, dual=dual, level=level)
        yield from self._noted(text)

    def _block(self, row: str, *, parted: bool) -> Iterator[Element]:
        """The elements that begin on this line."""
        line = row.replace(_NOTED, "").strip()
        marked = row.strip()
        follows = self._at + 1 < len(self._rows) and bool(self._rows[self._at + 1].strip())
        self._at += 1
        if len(line) > 2 and not line.strip("="):
            yield from self._element("page_break", _NOTED * row.count(_NOTED))
        elif line[0] == "=":
            yield from self._element("synopsis", marked.replace("=", "", 1))
        elif line[0] == "#" and line.strip("# "):
            level = len(line) - len(line.lstrip("#"))
            yield from self._element("section", marked.replace("#", "", level), level=min(level, 6))
        elif line[0] == ">" and line[-1] == "<" and len(line) > 2:
            yield from self._element("centered", line[1:-1] + _NOTED * row.count(_NOTED))
        elif line[0] == ">" and len(line) > 1:
            yield from self._element("transition", marked.replace(">", "", 1))
        elif line[0] == "~":
            yield from self._element("lyric", marked.replace("~", "", 1))
        elif line.startswith("!!"):
            yield from self._element("shot", marked.replace("!!", "", 1))
        elif line[0] == "!":
            yield from self._action(row)
        elif parted and (is_heading(line) or _FORCED.match(line)):
            yield from self._heading(line[1:] if line[0] == "." else line)
            yield from self._noted(row)
        elif parted and not follows and is_transition(row.replace(_NOTED, "").lstrip()):
            yield from self._element("transition", marked)
        elif parted and (
            (line[0] == "@" and len(line) > 1) or (follows and is_cue(line.removesuffix("^").rstrip()))
        ):
            yield from self._speech(line)
            yield from self._noted(row)
        else:
            yield from self._action(row)

    def _heading(self, line: str) -> Iterator[Element]:
        number = ""
        if match := _NUMBER.search(line[-44:]):
            number = match[1].strip()
            line = line[: len(line) - len(match[0])]
        yield from self._element("heading", line, number=number)

    def _speech(self, line: str) -> Iterator[Element]:
        """A cue and the lines below it; a line of two blanks is an empty line within the speech."""
        name = line.removesuffix("^").rstrip()
        yield from self._element("cue", name.removeprefix("@"), dual=RIGHT if name != line else 0)
        spoken_lines: list[str] = []
        while self._at < len(self._rows) and (self._rows[self._at].strip() or len(self._rows[self._at]) > 1):
            row = self._rows[self._at]
            words = row.replace(_NOTED, "").strip()
            line_kind: Kind | None = None
            if words[:1] in ("(", "（") and words[-1] in (")", "）"):
                line_kind = "parenthetical"
            elif words[:1] == "~":
                line_kind, row = "lyric", row.replace("~", "", 1)
            if line_kind:
                yield from self._element("dialogue", "\n".join(spoken_lines))
                spoken_lines = []
                yield from self._element(line_kind, row)
            else:
                spoken_lines.append(row)
            self._at += 1
        yield from self._element("dialogue", "\n".join(spoken_lines))

    def _action(self, row: str) -> Iterator[Element]:
        """A paragraph up to an empty line, or to a line that is marked as something else."""
        action_lines = [_unforced(row)]
        while self._at < len(self._rows) and (row := self._rows[self._at]).strip():
            start = row.replace(_NOTED, "").strip()
            if (start[:1] in ("~", ">", "#", "=") and len(start) > 1) or start.startswith("!!"):
                break
            action_lines.append(_unforced(row))
            self._at += 1
        yield from self._element("action", "\n".join(action_lines))


def _unforced(row: str) -> str:
    return row.replace("!", "", 1) if row.lstrip(f"{_NOTED} \t")[:1] == "!" else row


def _beside(elements: list[Element]) -> list[Element]:
    """The elements with each cue before a right one marked as left; a right cue without one before it stands alone."""
    before: int | None = None
    for place, element in enumerate(elements):
        if element.kind == "cue":
            if element.dual == RIGHT and before is None:
                elements[place] = replace(element, dual=0)
            elif element.dual == RIGHT and before is not None and not elements[before].dual:
                elements[before] = replace(elements[before], dual=LEFT)
            before = place
        elif element.kind not in SPOKEN and element.kind != "note":
            before = None
    return elements
