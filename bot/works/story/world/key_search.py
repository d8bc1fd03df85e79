"""Searches texts for thousands of keys of a lorebook."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple, TypeAlias

from bot.works.story.world.key_pattern import WorkLeft, looks_like_pattern, pattern_of

SCANNED_CHARS: Final = 60_000
"""The maximum number of characters that are searched, of the messages from the newest on, and of a round's entries."""
KEY_CHARS: Final = 64
"""The maximum length of a key, in characters; only the beginning of a longer one is searched for."""

_EDGE = "\0"
"""Marks the edges of words in a text that is searched for whole words."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, kana and Han, which write no spaces, and Hangul, whose particles attach to words: a word
may begin anywhere.
"""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff"
)
"""Characters inside words that Python does not count as word characters: combining marks, and the vowel signs of
India's scripts.
"""
_SPACED_WORD = re.compile(rf"(?:(?![{_UNSPACED}])[^\W_]|[{_MARKS}])+")
_WORD = re.compile(f"{_EDGE}[^{_EDGE}]*{_EDGE}")
_BEGINS = re.compile(rf"{_WORD.pattern}|[^{_EDGE}]")


class _Needle(NamedTuple):
    """A text to search for: in the casefolded texts if `folded`, and in those with _EDGE around words if `marked`."""

    text: str
    folded: bool
    marked: bool


class _PatternKey(NamedTuple):
    """A key that looks like a pattern, with the text to search for if it is an invalid one."""

    key: str
    text: _Needle


Key: TypeAlias = _Needle | _PatternKey


def keys_of(texts: Iterable[str], *, case_sensitive: bool, whole_words: bool) -> list[Key]:
    """The keys in the form in which `SearchedTexts.nearest` takes them."""
    keys = list[Key]()
    for text in texts:
        if not (text := _form(text, folded=False).strip()):
            continue
        needle = _needle(text, folded=not case_sensitive, marked=whole_words and len(text.split()) == 1)
        keys.append(_PatternKey(text, needle) if looks_like_pattern(text) else needle)
    return keys


def _needle(text: str, *, folded: bool, marked: bool) -> _Needle:
    plain = text.casefold() if folded else text
    return _Needle((_marked(plain) if marked else plain)[:KEY_CHARS], folded, marked)


def limited(messages: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """The numbered messages, cut after SCANNED_CHARS in total."""
    remaining, taken = SCANNED_CHARS, list[tuple[int, str]]()
    for number, message in messages:
        if remaining <= 0:
            break
        taken.append((number, message[:remaining]))
        remaining -= len(message)
    return taken


def _form(text: str, *, folded: bool) -> str:
    """The text normalised for comparison: an accent that is a separate character becomes part of its letter."""
    composed = unicodedata.normalize("NFC", text.replace(_EDGE, " "))
    return composed.casefold() if folded else composed


def _marked(text: str) -> str:
    """The text with _EDGE before and after each word."""
    if text.isascii() and text.isalnum():
        return _EDGE + text + _EDGE
    return _SPACED_WORD.sub(lambda word: _EDGE + word[0] + _EDGE, text)


@dataclass(slots=True)
class SearchedTexts:
    """Numbered texts in which thousands of keys are looked up, each in almost no time.

    A whole word is looked up among the texts' words. For other keys the texts' substrings from each character on are
    cut to KEY_CHARS and sorted, so that a lookup takes two bisections.
    """

    texts: list[tuple[int, str]]
    _work: WorkLeft = field(default_factory=WorkLeft)
    _words: dict[bool, dict[str, float]] = field(default_factory=dict)
    _sorted: dict[tuple[bool, bool], tuple[list[str], list[int]]] = field(default_factory=dict)
    _known: dict[Key, float] = field(default_factory=dict)
    _forms: dict[bool, list[tuple[int, str]]] = field(default_factory=dict)

    def nearest(self, key: Key) -> float:
        """The lowest number of a text that contains the key; infinity for none."""
        return self._nearest_match(key) if isinstance(key, _PatternKey) else self._nearest_text(key)

    def _nearest_match(self, key: _PatternKey) -> float:
        distance = self._known.get(key)
        if distance is None:
            self._work.left -= len(key.key)
            pattern = pattern_of(key.key) if self._work.left > 0 else None
            if pattern is None:
                return self._nearest_text(key.text)
            if (folded := pattern.folded) not in self._forms:
                self._forms[folded] = [(number, _form(text, folded=folded)) for number, text in self.texts]
            matches = (number for number, text in self._forms[folded] if pattern.matches(text, self._work))
            distance = self._known[key] = next(matches, inf)
        return distance

    def _nearest_text(self, needle: _Needle) -> float:
        text, folded, marked = needle
        if marked and text.find(_EDGE, 1) == len(text) - 1:
            if folded not in self._words:
                self._words[folded] = _words(self.texts, folded=folded)
            return self._words[folded].get(text, inf)
        distance = self._known.get(needle)
        if distance is None:
            if (folded, marked) not in self._sorted:
                self._sorted[folded, marked] = _beginnings(self.texts, folded=folded, marked=marked)
            beginnings, numbers = self._sorted[folded, marked]
            first, distance = bisect_left(beginnings, text), inf
            if first < len(beginnings) and beginnings[first].startswith(text):
                distance = min(numbers[first : bisect_left(beginnings, text + "\U0010ffff", first)])
            self._known[needle] = distance
        return distance


def _words(texts: Iterable[tuple[int, str]], *, folded: bool) -> dict[str, float]:
    """Each word with its edge marks, and the lowest number of a text that contains it."""
    numbers: dict[str, float] = {}
    for number, text in texts:
        for word in set(_WORD.findall(_marked(_form(text, folded=folded)))):
            numbers[word] = min(number, numbers.get(word, inf))
    return numbers


def _beginnings(
    texts: Iterable[tuple[int, str]], *, folded: bool, marked: bool
) -> tuple[list[str], list[int]]:
    """The texts' sorted substrings from each character on, with the numbers of the texts.

    In `marked` texts only those from the beginning of a word, or from a character between words.
    """
    beginnings: list[str] = []
    numbers: list[int] = []
    for number, text in texts:
        text = _form(text, folded=folded)
        if marked:
            text = _marked(text)
        starts: Iterable[int] = (
            (match.start() for match in _BEGINS.finditer(text)) if marked else range(len(text))
        )
        beginnings += (text[start : start + KEY_CHARS] for start in starts)
        numbers += [number] * (len(beginnings) - len(numbers))
    order = sorted(range(len(beginnings)), key=beginnings.__getitem__)
    return [beginnings[index] for index in order], [numbers[index] for index in order]
