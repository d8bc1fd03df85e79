"""Trelby's .trelby into a screenplay (`fileformat.txt` of github.com/trelby/trelby, versions 1 to 3).

A text of lines: first settings, which begin with "#" or are between "#Begin-…" and "#End-…", then the script, whose
lines begin with their kind of line end and of element.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from bot.events import UserError
from bot.readers.decode import decode
from bot.readers.document import Document, Progress, screenplay_document
from bot.readers.screenplay.elements import Element, Kind, Screenplay, lines, literal, title_page

_KINDS: Final[dict[str, tuple[Kind, str]]] = {
    "\\": ("heading", "Scene"),
    ".": ("action", "Action"),
    "_": ("cue", "Character"),
    ":": ("dialogue", "Dialogue"),
    "(": ("parenthetical", "Parenthetical"),
    "/": ("transition", "Transition"),
    "=": ("shot", "Shot"),
    "%": ("note", "Note"),
    "@": ("section", "Act break"),
}
"""Kinds, with their names in the settings, by a line's second character. Any other is an action."""
_JOINS: Final = {"&": "", "|": "\n", ">": " "}
"""The meaning of a line end, by a line's first character. "." ends the element, and any other is a blank."""
_CAPITALS: Final = frozenset({"Scene", "Character", "Transition", "Shot", "Act break"})
"""Kinds shown in capitals unless the settings say otherwise."""


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The script in `data`; blocking. Raises UserError as `decode` does, and "library.file_damaged"."""
    rows = decode(name, data).split("\n")
    if not rows[0].startswith("#Version "):
        raise UserError("library.file_damaged", name=name)
    titles, capitals, script = _settings(rows)
    progress(1, 1)
    return screenplay_document(name, Screenplay(tuple(_elements(script, capitals)), title_page(titles)))


def _settings(rows: list[str]) -> tuple[list[str], set[str], list[str]]:
    """The lines of the title page, the kinds in capitals, and the lines of the script."""
    titles: list[str] = []
    capitals = set(_CAPITALS)
    script: list[str] = []
    section = ""
    for row in rows:
        if row.startswith("#Begin-"):
            section = row.removeprefix("#Begin-").strip()
        elif row.startswith("#End-"):
            section = ""
        elif section:
            setting, _, value = row.partition(":")
            parts = setting.split("/")
            if parts[0] == "Element" and parts[2:] == ["Export", "AllCaps"]:
                (capitals.add if value.strip() == "True" else capitals.discard)(parts[1])
        elif row.startswith("#Title-String "):
            titles.append(row.split(",", 6)[-1].replace("\\n", " ").replace("\\\\", "\\"))
        elif row and not row.startswith("#"):
            script.append(row)
    return titles, capitals, script


def _elements(rows: list[str], capitals: set[str]) -> Iterator[Element]:
    words: list[str] = []
    for place, row in enumerate(rows):
        words.append(row[2:])
        if row[0] != "." and place + 1 < len(rows) and rows[place + 1][1:2] == row[1:2]:
            words.append(_JOINS.get(row[0], " "))
            continue
        kind, named = _KINDS.get(row[1:2], _KINDS["."])
        text = "".join(words)
        text = lines(text) if kind == "note" else literal(lines(text))
        if kind in ("heading", "cue", "section", "parenthetical"):
            text = " ".join(text.split())
        if text:
            yield Element(
                kind, text.upper() if named in capitals else text, level=1 if kind == "section" else 0
            )
        words = []
