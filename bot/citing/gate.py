"""Checks citations while an answer streams: no marker reaches a reader without its passage.

Words that are quoted have to stand in the passage; white space, typography and emphasis aside. Pure text work; knows
neither where the passages came from nor who wrote the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from bot.citing.markers import Marker, Scanner, is_begun
from bot.retrieval.language import FUNCTION_WORDS

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)*_]*\s+|\n+")
_WORD = re.compile(r"[^\W\d_]+")

SHARED = 2
"""Content words that a statement and its passage have in common, where the statement has as many.

Of 742 questions of FaQuAD with at least three content words, 99.6 % share two with the passage that answers
them, and 12 % with another question's; one word is shared with 36 % of those.
"""

TAIL_CHARS = 480
"""Of a statement: as much of it as is compared with a passage, back from its marker."""

Terms = Callable[[str], Sequence[str]]
SPECIFIC_WORDS = 2
"""A quotation of fewer different content words could stand anywhere."""

_IDLE = frozenset().union(*FUNCTION_WORDS.values())
_TOKEN = re.compile(r"\w+")
_ALIKE = {
    **dict.fromkeys("“”„‟«»″＂", '"'),
    **dict.fromkeys("‘’‚‛‹›′`´", "'"),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    "…": "...",
    **dict.fromkeys("*_\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),  # emphasis, and what prints as nothing
}


def sentences(text: str) -> list[str]:
    """The sentences and lines of `text`, each a verbatim substring of it, none empty."""
    sentences_read, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        sentences_read.append(text[start : end.start()])
        start = end.end()
    sentences_read.append(text[start:])
    return list(filter(None, map(str.strip, sentences_read)))


class Statement(NamedTuple):
    """The sentence that a marker closes, the last one before it with a content word, and its content words."""

    text: str
    terms: frozenset[str]


@dataclass(frozen=True)
class Source:
    """A passage as statements are checked against it; `heading` says what it is about."""

    text: str
    heading: str
    terms: Terms

    @cached_property
    def verbatim(self) -> Verbatim:
        return Verbatim(self.text)

    @cached_property
    def language(self) -> str:
        """The one whose function words hold the passage together."""
        counts = function_word_counts(self.text)
        return max(counts, key=counts.__getitem__)

    @cached_property
    def _content(self) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
        """The content words of each sentence, and those of all of them and the heading."""
        by_sentence = {sentence: frozenset(self.terms(sentence)) for sentence in sentences(self.text)}
        return by_sentence, frozenset(self.terms(self.heading)).union(*by_sentence.values())

    def quote(self, terms: Set[str]) -> str | None:
        """The sentence that shares most of the `terms`; None where the passage has too few of them."""
        by_sentence, all_terms = self._content
        if not terms or len(terms & all_terms) < min(SHARED, len(terms)):
            return None
        best = (0, 0, "")
        for sentence, terms_of_sentence in by_sentence.items():
            best = max(best, (len(terms & terms_of_sentence), -len(sentence), sentence))
        shared, _, quote = best
        return quote if shared else None


def function_word_counts(text: str) -> dict[str, int]:
    """How many words of a text are function words, by language."""
    words = [word.casefold() for word in _WORD.findall(text)]
    return {
        language: sum(word in function_words for word in words)
        for language, function_words in FUNCTION_WORDS.items()
    }


class CitationGate:
    """Passes an answer's text on with only those markers [n] whose passage n bears its statement out in words.

    `[n]`: the statement and the passage (or its heading) share SHARED content words, one of them in a sentence of the
    passage, which becomes the quote. `terms` gives the content words of a text, stemmed, without stop words.
    `[n "its own words"]`: the words have to stand in the passage, at least two content words among them, and
    become the quote. Words that do not stand there take the marker with them; too few of them count for nothing.
    They stand in for the shared words only where the statement is in another language than the passage:
    `abroad` says so of one that does not show its own. Readers see `[n]` either way.
    """

    def __init__(
        self, passages: Sequence[str], terms: Terms, *, headings: Sequence[str] = (), abroad: bool = False
    ) -> None:
        self._sources = [
            Source(text, heading, terms) for text, heading in zip_longest(passages, headings, fillvalue="")
        ]
        self._terms = terms
        self._abroad = abroad
        self._scanner = Scanner()
        self._tail = ""
        self._statement: Statement | None = None
        """What the next marker closes; None while that is not known."""
        self._checks: dict[tuple[int, str | None], str | None] = {}
        """The quote for each number and quotation that was asked for behind this statement."""
        self._borne = ""
        """The last statement whose marker stayed."""
        self.quotes: dict[int, str] = {}
        """Number of each passage that was cited, with its quote; in order of first mention."""
        self.dropped = 0
        """How many numbers were taken out of the text."""
        self.unborne: list[str] = []
        """The statements that have lost their markers, in order."""

    def add(self, passage: str, heading: str = "") -> None:
        """One passage more, which has the next number: a model may look things up while it answers."""
        self._sources.append(Source(passage, heading, self._terms))

    def feed(self, text: str, *, last: bool = False) -> str:
        """The text that can be shown now; an unfinished marker is held back until it is closed or the text ends."""
        pieces = []
        for part in self._scanner.feed(text, last=last):
            if isinstance(part, str):
                plain = part
            elif numbers := self._checked(part):
                pieces.append(f"{part.space}[{']['.join(map(str, numbers))}]")
                continue
            else:  # without what stood here, "[1[2]]" would become a marker
                plain = "?" if is_begun(self._tail) else ""
            if plain:
                self._tail = (self._tail + plain)[-TAIL_CHARS:]
                self._statement = None
                pieces.append(plain)
        return "".join(pieces)

    def finish(self) -> str:
        """The rest, at the end of the answer."""
        return self.feed("", last=True)

    def _checked(self, marker: Marker) -> list[int]:
        if not marker.entries:
            return []
        if self._statement is None:
            self._statement, self._checks = Statement("", frozenset()), {}
            for sentence in reversed(sentences(self._tail)):
                if terms := frozenset(self._terms(sentence)):
                    if len(self._tail) == TAIL_CHARS and self._tail.startswith(sentence):
                        sentence = (
                            sentence.partition(" ")[2] or sentence
                        )  # it may begin in the middle of a word
                    self._statement = Statement(sentence, terms)
                    break
        numbers: list[int] = []
        for n, words in marker.entries:
            check = (n, words)
            if check not in self._checks:
                exists = 0 < n <= len(self._sources)
                self._checks[check] = (
                    self._quote(self._sources[n - 1], words, self._statement) if exists else None
                )
            quote = self._checks[check]
            if quote is None:
                self.dropped += 1
            elif n not in numbers:
                self.quotes.setdefault(n, quote)
                numbers.append(n)
        self._remember(self._statement.text, borne=bool(numbers))
        return numbers

    def _remember(self, statement: str, *, borne: bool) -> None:
        """Which statements have a marker: one that goes on behind it is still the same."""
        before = self.unborne[-1] if self.unborne else None
        same = before is not None and statement.startswith(before)
        if borne:
            self._borne = statement
            if same:
                self.unborne.pop()
        elif statement and not (self._borne and statement.startswith(self._borne)):
            self.unborne[-1 if same else len(self.unborne) :] = [statement]

    def _quote(self, source: Source, words: str | None, statement: Statement) -> str | None:
        verbatim = source.verbatim.find(words) if words is not None else None
        if words is not None and verbatim is None:
            return None
        if verbatim is not None and verbatim.specific and self._is_foreign(statement.text, source):
            return verbatim.text
        quote = source.quote(statement.terms)
        return verbatim.text if quote is not None and verbatim is not None and verbatim.specific else quote

    def _is_foreign(self, statement: str, source: Source) -> bool:
        counts = function_word_counts(statement)
        return counts[source.language] < max(counts.values()) if any(counts.values()) else self._abroad


@dataclass(frozen=True, slots=True)
class Quotation:
    """A verbatim substring of a passage. `specific`: it has enough content words to be evidence."""

    text: str
    specific: bool


class Verbatim:
    """A passage in which quotations are found."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _plain(self) -> tuple[str, list[int]]:
        return _plain(self.text)

    def find(self, words: str) -> Quotation | None:
        """The stretch of the passage that `words` quote; None where they do not stand in it as whole words."""
        plain_words = _plain(words)[0].strip(" \"'")
        plain, places = self._plain
        at = plain.find(plain_words) if plain_words else -1
        while at >= 0:
            end = at + len(plain_words)
            if not _joined(plain, at) and not _joined(plain, end):
                text = self.text[places[at] : places[end - 1] + 1]
                return Quotation(text, len(_content(text)) >= SPECIFIC_WORDS)
            at = plain.find(plain_words, at + 1)
        return None


def _plain(text: str) -> tuple[str, list[int]]:
    """The text in lower case with one space for each stretch of white space, and each character's place."""
    characters: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        if char.isspace():
            if characters and characters[-1] != " ":
                characters.append(" ")
                places.append(place)
            continue
        for letter in _ALIKE.get(char, char).lower():
            characters.append(letter)
            places.append(place)
    return "".join(characters), places


def _joined(text: str, at: int) -> bool:
    """Whether a word goes on across this place."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()


def _content(text: str) -> set[str]:
    """The words that ask or say something, whatever the language; single letters do not."""
    words = {token.strip("_").lower() for token in _TOKEN.findall(text)}
    return {word for word in words if word not in _IDLE and (len(word) > 1 or word.isdigit())}
