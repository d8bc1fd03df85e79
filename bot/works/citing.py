"""Checks citations while an answer streams: no marker reaches a reader without its passage.

Pure text work; knows neither where the passages came from nor who wrote the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bot.works.markers import Marker, Scanner
from bot.works.verbatim import Verbatim

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)*_]*\s+|\n+")
_TAIL_CHARS = 1_200
_OPENED = re.compile(r"[\[【][\d\s,;–-]*$")

Terms = Callable[[str], Sequence[str]]


def sentences(text: str) -> list[str]:
    """The sentences and lines of `text`, each a verbatim substring of it, none empty."""
    found, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        found.append(text[start : end.start()])
        start = end.end()
    found.append(text[start:])
    return [one.strip() for one in found if one.strip()]


def best_quote(passage: str, terms: Terms, wanted: set[str]) -> str | None:
    """The sentence of `passage` that shares most of the `wanted` terms; None when none shares any."""
    scored = [(len(wanted.intersection(terms(one))), -len(one), one) for one in sentences(passage)]
    shared, _, quote = max(scored, default=(0, 0, ""))
    return quote if shared else None


class CitationGate:
    """Passes an answer's text on with only those markers [n] whose passage n supports the sentence.

    `[n]`: a passage supports a sentence when one of its own sentences shares a content word with it; that
    one becomes the quote. `terms` gives the content words of a text, stemmed, without stop words.
    `[n "its own words"]` is what bears a sentence out in another language: the words have to stand in the
    passage, at least two content words among them. Words that do not stand there take the marker with them;
    too few of them count for nothing. Readers see `[n]` either way.
    """

    def __init__(self, passages: Sequence[str], terms: Terms) -> None:
        self._passages = [Verbatim(one) for one in passages]
        self._terms = terms
        self._scanner = Scanner()
        self._tail = ""
        self.quotes: dict[int, str] = {}
        """Number of each passage that was cited, with its quote; in order of first mention."""
        self.dropped = 0
        """How many numbers were taken out of the text."""

    def feed(self, text: str) -> str:
        """What may be shown now; an unfinished marker is held back until it is closed."""
        return self._pass_on(self._scanner.feed(text))

    def finish(self) -> str:
        """The rest, at the end of the answer."""
        return self._pass_on(self._scanner.finish())

    def _pass_on(self, parts: Sequence[str | Marker]) -> str:
        shown = []
        for part in parts:
            if isinstance(part, str):
                self._tail = (self._tail + part)[-_TAIL_CHARS:]
                shown.append(part)
            elif kept := self._checked(part):
                shown.append(part.space + "".join(f"[{n}]" for n in kept))
            elif _OPENED.search(self._tail):  # without what stood here, "[1[2]]" would become a marker
                self._tail += "?"
                shown.append("?")
        return "".join(shown)

    def _checked(self, marker: Marker) -> list[int]:
        wanted = self._sentence_terms()
        kept: list[int] = []
        for n, words in marker.entries:
            quote = self._quote(n, words, wanted) if 0 < n <= len(self._passages) else None
            if quote is None:
                self.dropped += 1
            elif n not in kept:
                self.quotes.setdefault(n, quote)
                kept.append(n)
        return kept

    def _quote(self, n: int, words: str | None, wanted: set[str]) -> str | None:
        passage = self._passages[n - 1]
        if words is not None:
            found = passage.find(words)
            if found is None or found.telling:
                return found.text if found else None
        return best_quote(passage.text, self._terms, wanted)

    def _sentence_terms(self) -> set[str]:
        """Content words of the sentence that a marker closes: the last one that has any."""
        for sentence in reversed(sentences(self._tail)):
            if wanted := set(self._terms(sentence)):
                return wanted
        return set()
