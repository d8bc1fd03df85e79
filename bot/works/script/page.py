"""A scene as it stands on a page: set in columns of a typewriter's letters. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest
from typing import Final

from bot.readers.screenplay.elements import LEFT, RIGHT, SPOKEN, UNPRINTED, Element, Kind, plain

WIDTH: Final = 60
"""Characters of a line."""
_SET: Final[dict[Kind, tuple[int, int]]] = {
    "cue": (22, 35),
    "parenthetical": (16, 25),
    "dialogue": (11, 36),
    "lyric": (11, 36),
}
"""Where a line begins, and how many characters it takes; all else begins at the left and takes WIDTH."""
_BESIDE: Final = 28
"""Characters of a column of a dual dialogue."""


def page(elements: Iterable[Element]) -> str:
    """What is printed of the elements, paragraphs parted by empty lines."""
    blocks: list[list[str]] = []
    left_column: list[list[Element]] = []
    for dual, group in groupby(
        _speeches(elements), lambda speech: speech[0].kind == "cue" and speech[0].dual
    ):
        speeches = list(group)
        if left_column:
            blocks += _beside(left_column, speeches if dual == RIGHT else [])
            left_column = []
            if dual == RIGHT:
                continue
        if dual == LEFT:
            left_column = speeches
        else:
            blocks += map(_column, speeches)
    blocks += _beside(left_column, [])
    return "\n\n".join("\n".join(block) for block in blocks)


def _speeches(elements: Iterable[Element]) -> Iterator[list[Element]]:
    """A cue with what is spoken, or one paragraph."""
    speech: list[Element] = []
    for element in elements:
        if element.kind in UNPRINTED or element.kind == "page_break":
            continue
        if element.kind not in SPOKEN and speech:
            yield speech
            speech = []
        speech.append(element)
    if speech:
        yield speech


def _column(speech: Iterable[Element]) -> list[str]:
    lines: list[str] = []
    for element in speech:
        indent, width = _SET.get(element.kind, (0, WIDTH))
        words = plain(element.text)
        if element.kind == "heading":
            words = words.upper()
        wrapped = _wrapped(words, width)
        if element.kind == "transition":
            lines += [line.rjust(WIDTH) for line in wrapped]
        elif element.kind == "centered":
            lines += [line.center(WIDTH).rstrip() for line in wrapped]
        else:
            lines += [" " * indent + line for line in wrapped]
    return lines


def _beside(left_column: list[list[Element]], right: list[list[Element]]) -> list[list[str]]:
    """Each speech of the left with the one on its right."""
    rows: list[list[str]] = []
    nobody: list[Element] = []
    for pair in zip_longest(left_column, right, fillvalue=nobody):
        columns = [[line for element in speech for line in _narrow(element)] for speech in pair]
        rows.append(
            [
                f"{first:<{_BESIDE + 4}}{second}".rstrip()
                for first, second in zip_longest(*columns, fillvalue="")
            ]
        )
    return rows


def _narrow(element: Element) -> list[str]:
    lines = _wrapped(plain(element.text), _BESIDE)
    return [line.center(_BESIDE).rstrip() for line in lines] if element.kind == "cue" else lines


def _wrapped(words: str, width: int) -> list[str]:
    return [line for paragraph in words.split("\n") for line in (textwrap.wrap(paragraph, width) or [""])]
