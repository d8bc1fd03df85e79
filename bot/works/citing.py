"""Checks citations while an answer streams: no marker reaches a reader without its passage.

Pure text work; knows neither where the passages came from nor who wrote the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

MARKER = re.compile(r"\s?[\[【](\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*)[\]】]")
_UNFINISHED = re.compile(r"\s?[\[【][\d\s,;–-]{0,40}$|\s$")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)*_]*\s+|\n+")
_TAIL_CHARS = 1_200

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

    A passage supports a sentence when one of its own sentences shares a content word with it; that
    one becomes the quote. `terms` gives the content words of a text, stemmed, without stop words.
    """

    def __init__(self, passages: Sequence[str], terms: Terms) -> None:
        self._passages = passages
        self._terms = terms
        self._held = ""
        self._tail = ""
        self.quotes: dict[int, str] = {}
        """Number of each passage that was cited, with its quote; in order of first mention."""
        self.dropped = 0
        """How many numbers were taken out of the text."""

    def feed(self, text: str) -> str:
        """What may be shown now; an unfinished marker is held back until it is closed."""
        text = self._held + text
        unfinished = _UNFINISHED.search(text)
        cut = unfinished.start() if unfinished else len(text)
        self._held = text[cut:]
        return self._pass_on(text[:cut])

    def finish(self) -> str:
        """The rest, at the end of the answer."""
        text, self._held = self._held, ""
        if re.search(r"[\[【]", text):  # a marker that was never closed
            text = ""
        return self._pass_on(text)

    def _pass_on(self, text: str) -> str:
        shown, start = [], 0
        for marker in MARKER.finditer(text):
            before = text[start : marker.start()]
            self._grow(before)
            shown.append(before)
            if kept := self._checked(marker[1]):
                shown.append(("" if not marker[0][0].isspace() else " ") + "".join(f"[{n}]" for n in kept))
            start = marker.end()
        self._grow(text[start:])
        return "".join([*shown, text[start:]])

    def _grow(self, text: str) -> None:
        self._tail = (self._tail + text)[-_TAIL_CHARS:]

    def _checked(self, numbers: str) -> list[int]:
        wanted = self._sentence_terms()
        kept = []
        for n in _expand(numbers):
            quote = (
                best_quote(self._passages[n - 1], self._terms, wanted)
                if 0 < n <= len(self._passages)
                else None
            )
            if quote is None:
                self.dropped += 1
            elif n not in kept:
                self.quotes.setdefault(n, quote)
                kept.append(n)
        return kept

    def _sentence_terms(self) -> set[str]:
        """Content words of the sentence that a marker closes: the last one that has any."""
        for sentence in reversed(sentences(self._tail)):
            if wanted := set(self._terms(sentence)):
                return wanted
        return set()


def _expand(numbers: str) -> list[int]:
    """The numbers of "1, 3-5"."""
    found: list[int] = []
    for part in re.split(r"\s*[,;]\s*", numbers):
        first, *rest = [int(one) for one in re.split(r"\s*[–-]\s*", part)]
        found.extend(range(first, rest[-1] + 1) if rest and first <= rest[-1] <= first + 20 else [first])
    return found
