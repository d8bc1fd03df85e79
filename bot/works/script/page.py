"""A scene as it stands on a page: set in columns of a typewriter's letters. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby, zip_longest
from typing import Final

from bot.readers.screenplay.elements import LEFT, RIGHT, SPOKEN, UNPRINTED, Element, Kind, plain

WIDTH: Final = 60
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
    left: list[list[Element]] = []
    for dual, some in groupby(_speeches(elements), lambda speech: speech[0].kind == "cue" and speech[0].dual):
        speeches = list(some)
        if left:
            blocks += _beside(left, speeches if dual == RIGHT else [])
            left = []
            if dual == RIGHT:
                continue
        if dual == LEFT:
            left = speeches
        else:
            blocks += map(_column, speeches)
    blocks += _beside(left, [])
    return "\n\n".join("\n".join(block) for block in blocks)


def _speeches(elements: Iterable[Element]) -> Iterator[list[Element]]:
    """A cue with what is spoken, or one paragraph."""
    speech: list[Element] = []
    for one in elements:
        if one.kind in UNPRINTED or one.kind == "page_break":
            continue
        if one.kind not in SPOKEN and speech:
            yield speech
            speech = []
        speech.append(one)
    if speech:
        yield speech


def _column(speech: Iterable[Element]) -> list[str]:
    made: list[str] = []
    for one in speech:
        indent, width = _SET.get(one.kind, (0, WIDTH))
        words = plain(one.text)
        if one.kind == "heading":
            words = words.upper()
        lines = _wrapped(words, width)
        if one.kind == "transition":
            made += [line.rjust(WIDTH) for line in lines]
        elif one.kind == "centered":
            made += [line.center(WIDTH).rstrip() for line in lines]
        else:
            made += [" " * indent + line for line in lines]
    return made


def _beside(left: list[list[Element]], right: list[list[Element]]) -> list[list[str]]:
    """Each speech of the left with the one on its right."""
    made: list[list[str]] = []
    nobody: list[Element] = []
    for pair in zip_longest(left, right, fillvalue=nobody):
        columns = [[line for one in speech for line in _narrow(one)] for speech in pair]
        made.append(
            [f"{one:<{_BESIDE + 4}}{other}".rstrip() for one, other in zip_longest(*columns, fillvalue="")]
        )
    return made


def _narrow(one: Element) -> list[str]:
    lines = _wrapped(plain(one.text), _BESIDE)
    return [line.center(_BESIDE).rstrip() for line in lines] if one.kind == "cue" else lines


def _wrapped(words: str, width: int) -> list[str]:
    return [line for one in words.split("\n") for line in (textwrap.wrap(one, width) or [""])]
