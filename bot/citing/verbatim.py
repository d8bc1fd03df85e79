"""Whether words stand in a passage as they are said to: white space, typography and emphasis aside.

Pure text work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from bot.retrieval.language import FUNCTION_WORDS

TELLING = 2
"""A quotation of fewer different content words could stand anywhere."""

_IDLE = frozenset().union(*FUNCTION_WORDS.values())
_WORD = re.compile(r"\w+")
_ALIKE = {
    **dict.fromkeys("“”„‟«»″＂", '"'),
    **dict.fromkeys("‘’‚‛‹›′`´", "'"),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "…": "...",
    **dict.fromkeys("*_\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),  # emphasis, and what prints as nothing
}


@dataclass(frozen=True, slots=True)
class Found:
    """A verbatim substring of the passage. `telling`: it holds enough content words to be evidence."""

    text: str
    telling: bool


class Verbatim:
    """A passage that knows where its words stand."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _plain(self) -> tuple[str, list[int]]:
        return _plain(self.text)

    def find(self, words: str) -> Found | None:
        """The stretch of the passage that `words` quote; None where they do not stand in it as whole words."""
        wanted = _plain(words)[0].strip(" \"'")
        plain, places = self._plain
        at = plain.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            if not _joined(plain, at) and not _joined(plain, end):
                text = self.text[places[at] : places[end - 1] + 1]
                return Found(text, len(_content(text)) >= TELLING)
            at = plain.find(wanted, at + 1)
        return None


def _plain(text: str) -> tuple[str, list[int]]:
    """The text in lower case with one space for each stretch of white space, and each character's place."""
    made: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char.isspace():
            if made and made[-1] != " ":
                made.append(" ")
                places.append(place)
            continue
        for one in _ALIKE.get(char, char).lower():
            made.append(one)
            places.append(place)
    return "".join(made), places


def _joined(text: str, at: int) -> bool:
    """Whether a word goes on across this place."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _content(text: str) -> set[str]:
    """The words that ask or say something, whatever the language; single letters do not."""
    words = {one.strip("_").lower() for one in _WORD.findall(text)}
    return {one for one in words if one not in _IDLE and (len(one) > 1 or one.isdigit())}
