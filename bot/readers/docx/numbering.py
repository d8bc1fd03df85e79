"""The numbers of a Word document's lists and headings, counted as Word counts them (ECMA-376 part 1, 17.9).

Independent of text and styles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from bot.readers.docx.xml import Element, child, children, number, switch, value

_LEVELS: Final = 9
_PATTERN: Final = 60
"""The characters of a label's pattern that count, because every paragraph repeats it."""
_PLACE: Final = re.compile(r"%([1-9])")
_PLAIN: Final = re.compile(r"\(?%[1-9][.):]?")
_ROMAN: Final = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"),
    (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a list: its way of counting, and its number's format."""

    start: int = 1
    form: str = "decimal"
    pattern: str = ""
    after: int | None = None
    """The level (from 1) that restarts it; 0: none. None: any level above it."""
    arabic: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a paragraph: `words` such as "1.2" or "(a)", "" for a bullet; `number` if it is only a number."""

    words: str = ""
    number: int | None = None


@dataclass(slots=True)
class _List:
    """An abstract list; lists made from it continue its count."""

    levels: dict[int, Level] = field(default_factory=dict)
    counts: list[int | None] = field(default_factory=lambda: [None] * _LEVELS)


class Numbering:
    """The lists by numId. Each call of `label` counts."""

    def __init__(self, root: Element | None) -> None:
        named: dict[str, _List] = {}
        links: dict[int, str] = {}
        lists: dict[int, _List] = {}
        for element in children(root, "abstractNum"):
            list_id = number(element, "abstractNumId")
            if list_id is None:
                continue
            definition = lists[list_id] = _List(
                {at: _level(level) for level in children(element, "lvl") for at in _at(level)}
            )
            if link := value(child(element, "styleLink")):
                named[link] = definition
            if link := value(child(element, "numStyleLink")):
                links[list_id] = link
        self._lists: dict[int, tuple[_List, dict[int, Level]]] = {}
        self._anew: set[tuple[int, int]] = set()
        for element in children(root, "num"):
            list_id, abstract_id = number(element, "numId"), number(child(element, "abstractNumId"))
            if list_id is None or abstract_id not in lists:
                continue
            definition = named.get(links.get(abstract_id, ""), lists[abstract_id])
            self._lists[list_id] = (definition, self._overridden(list_id, definition, element))

    def _overridden(self, list_id: int, definition: _List, element: Element) -> dict[int, Level]:
        """The levels that one list defines itself; those that restart are noted."""
        own_levels: dict[int, Level] = {}
        for override in children(element, "lvlOverride"):
            for at in _at(override):
                if (level := child(override, "lvl")) is not None:
                    own_levels[at] = _level(level)
                if (start := number(child(override, "startOverride"))) is not None:
                    own_levels[at] = replace(
                        own_levels.get(at) or definition.levels.get(at, Level()), start=start
                    )
                    self._anew.add((list_id, at))
        return own_levels

    def level_of(self, list_id: int, style: str) -> int:
        """The level of a list that belongs to a style; the first if none does."""
        levels = self._lists[list_id][0].levels if list_id in self._lists else {}
        return next((at for at, level in levels.items() if level.style == style), 0)

    def label(self, list_id: int, at: int) -> Label | None:
        """The label of the list's next paragraph, at a level from 0; None if it has none."""
        if list_id not in self._lists:
            return None
        definition, own_levels = self._lists[list_id]
        at = min(max(at, 0), _LEVELS - 1)
        counts = definition.counts
        if (list_id, at) in self._anew:
            self._anew.remove((list_id, at))
            counts[at] = None
        levels = {**definition.levels, **own_levels}
        level = levels.get(at, Level())
        before = counts[at]
        counts[at] = level.start if before is None else before + 1
        for deeper in range(at + 1, _LEVELS):
            after = levels.get(deeper, level).after
            if after is None or at < after:
                counts[deeper] = None
        if level.form == "bullet":
            return Label() if level.pattern.strip() else None
        for outer in range(at):
            if counts[outer] is None:
                counts[outer] = levels.get(outer, Level()).start
        return _worded(levels, at, [count or 0 for count in counts])


def _worded(levels: dict[int, Level], at: int, counts: list[int]) -> Label | None:
    level = levels.get(at, Level())

    def place(match: re.Match[str]) -> str:
        depth = int(match[1]) - 1
        form = "decimal" if level.arabic else levels.get(depth, Level()).form
        return counted(counts[depth], form)

    words = _PLACE.sub(place, level.pattern).strip()
    if not words:
        return None
    plain_number = level.form == "decimal" and _PLAIN.fullmatch(level.pattern.strip()) is not None
    return Label(words, counts[at] if plain_number else None)


def counted(count: int, form: str) -> str:
    """A number in one of Word's formats (17.18.59); in digits if the format is not a common one."""
    if form == "none":
        return ""
    if form == "decimalZero":
        return f"{count:02}"
    if form in ("lowerLetter", "upperLetter") and 0 < count <= 26 * 9:
        # After z comes aa, then bb: the letter is repeated.
        letters = chr(ord("a") + (count - 1) % 26) * (1 + (count - 1) // 26)
        return letters.upper() if form == "upperLetter" else letters
    if form in ("lowerRoman", "upperRoman") and 0 < count < 4000:
        letters = ""
        for worth, letter in _ROMAN:
            letters += letter * (count // worth)
            count %= worth
        return letters.upper() if form == "upperRoman" else letters
    return str(count)


def _at(element: Element) -> list[int]:
    at = number(element, "ilvl")
    return [at] if at is not None and 0 <= at < _LEVELS else []


def _level(element: Element) -> Level:
    start = number(child(element, "start"))
    return Level(
        start=1 if start is None else start,
        form=value(child(element, "numFmt")) or "decimal",
        pattern=(value(child(element, "lvlText")) or "")[:_PATTERN],
        after=number(child(element, "lvlRestart")),
        arabic=bool(switch(child(element, "isLgl"))),
        style=value(child(element, "pStyle")) or "",
    )
