"""A Word document's styles, with inherited properties: heading, list, size of the letters.

Independent of text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from bot.readers.docx.xml import Element, child, children, kind, number, switch, value

_HEADING: Final = re.compile(
    r"(?:heading|überschrift|título|titulo|ttulo|titre|titolo|kop|rubrik|overskrift|otsikko|nagłówek|nadpis|"
    r"заголовок|見出し|标题|標題|제목)[ _]?([1-9])"
)
"""Word keeps the English names in every language; these are other programs' names, and ids for a missing name."""
_ROLES: Final = {
    "title": re.compile(r"title|título|titulo|titel|titre|titolo"),
    "toc": re.compile(r"toc ?\d|table of figures|table of authorities|(?:user )?contents \d|index \d"),
    "quote": re.compile(r"(?:intense )?quote|block ?text|quotations|zitat|citação|citation"),
    "code": re.compile(r"source ?code|html ?preformatted|preformatted ?text|code(?: block)?"),
}
_LISTS: Final = re.compile(r"list ?(bullet|number)(?: ?([2-5]))?")
_BASES: Final = 30
"""The longest chain of base styles; some styles are based on themselves."""
_DEFAULT_SIZE: Final = 20
"""Half-points if no size is given (17.3.2.38)."""


@dataclass(frozen=True, slots=True)
class Style:
    """The properties of a style. `level` is a heading's (1 to 9), else 0; `size` in half-points.

    `role` is "title", "toc", "quote", "code", "bullet", "number" or ""; `depth` is a list's, by its style's name.
    `numbered` is (numId, level) of its list; the level is None if the list itself defines it.
    """

    level: int = 0
    role: str = ""
    depth: int = 0
    numbered: tuple[int, int | None] | None = None
    bold: bool = False
    size: int | None = None
    hidden: bool = False


class Styles:
    """The styles by their ids."""

    def __init__(self, root: Element | None) -> None:
        self._elements: dict[str, Element] = {}
        self._resolved_styles: dict[str, Style] = {}
        self._default = ""
        for element in children(root, "style"):
            name = value(element, "styleId") or ""
            self._elements.setdefault(name, element)
            if value(element, "type") == "paragraph" and value(element, "default") in ("1", "true", "on"):
                self._default = name
        defaults = child(child(child(root, "docDefaults"), "rPrDefault"), "rPr")
        self.size = number(child(defaults, "sz")) or _DEFAULT_SIZE

    def paragraph(self, name: str | None) -> Style:
        """A paragraph's style; the document's default if it names none."""
        return self.of(self._default if name is None else name)

    def of(self, name: str) -> Style:
        """A style with the properties of all its base styles; for a missing style only what its id tells."""
        if name not in self._resolved_styles:
            self._resolved_styles[name] = self._resolved(name)
        return self._resolved_styles[name]

    def _resolved(self, name: str) -> Style:
        chain: list[tuple[str, Element | None]] = []
        at: str | None = name
        while at is not None and len(chain) < _BASES:
            element = self._elements.get(at)
            chain.append((at, element))
            at = value(child(element, "basedOn"))
        names = [(value(child(element, "name")) or style_id).strip().lower() for style_id, element in chain]
        level: int | None = None
        numbered: tuple[int, int | None] | None = None
        bold = hidden = None
        size = None
        for words, (_, element) in zip(names, chain, strict=True):
            paragraph, run = child(element, "pPr"), child(element, "rPr")
            level = level_of(paragraph) if level is None else level
            if level is None and (heading := _HEADING.fullmatch(words)):
                level = int(heading[1])
            numbered = numbering_of(paragraph) if numbered is None else numbered
            bold = switch(child(run, "b")) if bold is None else bold
            hidden = switch(child(run, "vanish")) if hidden is None else hidden
            size = number(child(run, "sz")) if size is None else size
        role = next((role for role, pattern in _ROLES.items() if pattern.fullmatch(names[0])), "")
        listed = next((match for words in names if (match := _LISTS.fullmatch(words))), None)
        if not role:
            inherited = ("quote", "code")
            role = next(
                (role for role in inherited if any(_ROLES[role].fullmatch(words) for words in names)),
                "",
            )
        return Style(
            level=level or 0,
            role=role or (listed[1] if listed else ""),
            depth=int(listed[2] or 1) - 1 if listed else 0,
            numbered=numbered,
            bold=bool(bold),
            size=size,
            hidden=bool(hidden),
        )


def level_of(properties: Element | None) -> int | None:
    """A paragraph's outline level: 1 to 9, 0 for body text, None if not given (17.3.1.20)."""
    level = number(child(properties, "outlineLvl"))
    return None if level is None else level + 1 if 0 <= level < 9 else 0


def numbering_of(properties: Element | None) -> tuple[int, int | None] | None:
    """(numId, level) of a paragraph's list; numId 0 removes it from any list (17.9.18)."""
    for element in properties if properties is not None else ():
        if kind(element) == "numPr":
            list_id = number(child(element, "numId"))
            return None if list_id is None else (list_id, number(child(element, "ilvl")))
    return None
