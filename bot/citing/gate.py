"""Checks citations while an answer streams: no marker reaches a reader without its passage.

Quoted words must be in the passage, ignoring white space, typography and emphasis. Pure text work; independent of the
passages' origin and the answer's author.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

from bot.citing.markers import Marker, Scanner, has_open_marker
from bot.retrieval.language import FUNCTION_WORDS

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)*_]*\s+|\n+")
_WORD = re.compile(r"[^\W\d_]+")

SHARED = 2
"""The content words that a statement and its passage must share, if the statement has as many.

Of 742 questions of FaQuAD with at least three content words, 99.6 % share two with the passage that answers them, and
12 % with another question's; 36 % of those share one word.
"""

TAIL_CHARS = 480
"""The most characters of a statement that are compared with a passage, back from its marker."""

QUOTED_CHARS = 80
"""The maximum length of a statement in the notice that no passage supports it."""

Terms = Callable[[str], Sequence[str]]
SPECIFIC_WORDS = 2
"""The fewest different content words of a specific quotation; one with fewer could be from anywhere."""

_FUNCTION_WORDS = frozenset().union(*FUNCTION_WORDS.values())
_TOKEN = re.compile(r"\w+")
_EQUIVALENTS = {
    **dict.fromkeys("“”„‟«»″＂", '"'),
    **dict.fromkeys("‘’‚‛‹›′`´", "'"),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "…": "...",
    **dict.fromkeys("*_\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),  # emphasis, and invisible characters
}


def sentences(text: str) -> list[str]:
    """The sentences and lines of `text`, each a verbatim substring of it, none empty."""
    parts, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        parts.append(text[start : end.start()])
        start = end.end()
    parts.append(text[start:])
    return list(filter(None, map(str.strip, parts)))


def beginning(statement: str) -> str:
    """The first words of a statement, on one line, for a notice about it."""
    words = " ".join(statement.split())
    return words if len(words) <= QUOTED_CHARS else words[:QUOTED_CHARS].rsplit(" ", 1)[0] + "…"


class Statement(NamedTuple):
    """The sentence before a marker (the last one with a content word), and its content words."""

    text: str
    terms: frozenset[str]


@dataclass(frozen=True)
class Source:
    """A passage that statements are checked against; `heading` says what it is about."""

    text: str
    heading: str
    terms: Terms

    @cached_property
    def verbatim(self) -> Verbatim:
        return Verbatim(self.text)

    @cached_property
    def language(self) -> str:
        """The language with the most function words in the passage."""
        counts = function_word_counts(self.text)
        return max(counts, key=counts.__getitem__)

    @cached_property
    def _content(self) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
        """The content words of each sentence, and those of all sentences and the heading."""
        by_sentence = {sentence: frozenset(self.terms(sentence)) for sentence in sentences(self.text)}
        return by_sentence, frozenset(self.terms(self.heading)).union(*by_sentence.values())

    def quote(self, terms: Set[str]) -> str | None:
        """The sentence that shares most of the `terms`; None if the passage has too few of them."""
        by_sentence, all_terms = self._content
        if not terms or len(terms & all_terms) < min(SHARED, len(terms)):
            return None
        best = (0, 0, "")
        for sentence, terms_of_sentence in by_sentence.items():
            best = max(best, (len(terms & terms_of_sentence), -len(sentence), sentence))
        shared, _, quote = best
        return quote if shared else None


def function_word_counts(text: str) -> dict[str, int]:
    """The number of function words in a text, by language."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return {
        language: sum(word in function_words for word in words)
        for language, function_words in FUNCTION_WORDS.items()
    }


class CitationGate:
    """Passes on an answer's text with only those markers [n] whose passage n supports their statement.

    `[n]`: the statement and the passage (or its heading) must share SHARED content words, at least one of them in a
    sentence of the passage, which becomes the quote. `terms` gives the content words of a text, stemmed, without stop
    words. `[n "its own words"]`: the words must be in the passage, with at least two content words, and become the
    quote. If they are not in the passage, the marker is removed; if they are too few, they are ignored. They replace
    the shared words only if the statement is in another language than the passage; `other_language` decides for a
    statement that does not show its language. Readers see `[n]` in both cases.
    """

    def __init__(
        self,
        passages: Iterable[str],
        terms: Terms,
        *,
        headings: Iterable[str] = (),
        other_language: bool = False,
    ) -> None:
        """`headings`: none, or one for each passage."""
        self._sources = list(map(Source, passages, headings or repeat(""), repeat(terms)))
        self._terms = terms
        self._abroad = other_language
        self._scanner = Scanner()
        self._tail = ""
        self._statement: Statement | None = None
        """The statement that the next marker closes; None while that is unknown."""
        self._checks: dict[tuple[int, str | None], str | None] = {}
        """The quote for each number and quotation that was checked after this statement."""
        self._last_supported = ""
        """The last statement whose marker stayed."""
        self.quotes: dict[int, str] = {}
        """The number of each cited passage with its quote, in order of first mention."""
        self.dropped = 0
        """How many numbers were removed from the text."""
        self.unsupported: list[str] = []
        """The statements that have lost their markers, in order."""

    def add(self, passage: str, heading: str = "") -> None:
        """Add a passage, which gets the next number, because a model may look things up while it answers."""
        self._sources.append(Source(passage, heading, self._terms))

    def feed(self, text: str, *, last: bool = False) -> str:
        """The text that can be shown now; an unfinished marker is held back until it is closed or the text ends."""
        pieces = []
        for part in self._scanner.feed(text, last=last):
            if isinstance(part, str):
                plain = part
            elif numbers := self._supported_numbers(part):
                pieces.append(f"{part.space}[{']['.join(map(str, numbers))}]")
                continue
            else:  # without the text removed here, "[1[2]]" would become a marker
                plain = "?" if has_open_marker(self._tail) else ""
            if plain:
                self._tail = (self._tail + plain)[-TAIL_CHARS:]
                self._statement = None
                pieces.append(plain)
        return "".join(pieces)

    def finish(self) -> str:
        """The text that was held back; call it at the end of the answer."""
        return self.feed("", last=True)

    def _supported_numbers(self, marker: Marker) -> list[int]:
        """The numbers of a marker whose passages support the statement before it; notes their quotes."""
        if not marker.entries:
            return []
        if self._statement is None:
            self._statement, self._checks = Statement("", frozenset()), {}
            for sentence in reversed(sentences(self._tail)):
                if terms := frozenset(self._terms(sentence)):
                    if len(self._tail) == TAIL_CHARS and self._tail.startswith(sentence):
                        sentence = sentence.partition(" ")[2] or sentence  # it may begin inside a word
                    self._statement = Statement(sentence, terms)
                    break
        numbers: list[int] = []
        for n, words in marker.entries:
            check = (n, words)
            if check not in self._checks:
                if not 0 < n <= len(self._sources):
                    self._checks[check] = None
                elif words is None:
                    self._checks[check] = self._sources[n - 1].quote(self._statement.terms)
                else:
                    self._checks[check] = self._quote(self._sources[n - 1], words, self._statement)
            quote = self._checks[check]
            if quote is None:
                self.dropped += 1
            elif n not in numbers:
                self.quotes.setdefault(n, quote)
                numbers.append(n)
        self._note_support(self._statement.text, supported=bool(numbers))
        return numbers

    def _note_support(self, statement: str, *, supported: bool) -> None:
        """Keep `unsupported` up to date; a statement that continues after its marker counts as the same one."""
        last = self.unsupported[-1] if self.unsupported else None
        continues = last is not None and statement.startswith(last)
        if supported:
            self._last_supported = statement
            if continues:
                self.unsupported.pop()
        elif statement and not (self._last_supported and statement.startswith(self._last_supported)):
            self.unsupported[-1 if continues else len(self.unsupported) :] = [statement]

    def _quote(self, source: Source, words: str, statement: Statement) -> str | None:
        """The quote for a statement whose marker quotes these words of the passage."""
        verbatim = source.verbatim.find(words)
        if verbatim is None:
            return None
        if verbatim.specific and self._is_foreign(statement.text, source):
            return verbatim.text
        quote = source.quote(statement.terms)
        return verbatim.text if quote is not None and verbatim.specific else quote

    def _is_foreign(self, statement: str, source: Source) -> bool:
        """Whether a statement is in another language than a passage."""
        counts = function_word_counts(statement)
        return counts[source.language] < max(counts.values()) if any(counts.values()) else self._abroad


@dataclass(frozen=True, slots=True)
class Quotation:
    """A verbatim substring of a passage. `specific`: it has enough content words to be evidence."""

    text: str
    specific: bool


class Verbatim:
    """A passage that is searched for quotations."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _plain(self) -> tuple[str, list[int]]:
        return _plain(self.text)

    def find(self, words: str) -> Quotation | None:
        """The part of the passage that `words` quote; None if it does not have them as whole words."""
        plain_words = _plain(words)[0].strip(" \"'")
        plain, places = self._plain
        at = plain.find(plain_words) if plain_words else -1
        while at >= 0:
            end = at + len(plain_words)
            if not _is_inside_word(plain, at) and not _is_inside_word(plain, end):
                text = self.text[places[at] : places[end - 1] + 1]
                return Quotation(text, len(_content(text)) >= SPECIFIC_WORDS)
            at = plain.find(plain_words, at + 1)
        return None


def _plain(text: str) -> tuple[str, list[int]]:
    """The text in lower case with one space for each stretch of white space, and each character's original offset."""
    characters: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char.isspace():
            if characters and characters[-1] != " ":
                characters.append(" ")
                places.append(place)
            continue
        for letter in _EQUIVALENTS.get(char, char).lower():
            characters.append(letter)
            places.append(place)
    return "".join(characters), places


def _is_inside_word(text: str, at: int) -> bool:
    """Whether a word continues across this offset."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _content(text: str) -> set[str]:
    """The content words of a text in any language; single letters do not count."""
    words = {token.strip("_").lower() for token in _TOKEN.findall(text)}
    return {word for word in words if word not in _FUNCTION_WORDS and (len(word) > 1 or word.isdigit())}
