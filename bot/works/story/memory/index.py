"""Indexes the pieces of a story by their words: pieces are appended, and each term lists the pieces that contain it.

All branches of a story share one index; `branch.BranchPieces` is one branch's view of it. Knows no database, no model
and no prompt. Synchronous: callers run it in a thread.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from bot.retrieval.cognates import MOST, SHORTEST, Cognates
from bot.retrieval.glossary import meanings
from bot.retrieval.language import FUNCTION_WORDS
from bot.retrieval.lexical import fold, function_terms, terms
from bot.works.story.memory.postings import Postings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int32]

MOST_COUNTED = 127
"""The maximum count of a term in one piece."""

LONGEST = 65_535
"""The maximum length of a piece in terms: the largest number in two bytes."""

TIMED, ASKING = 1, 2
"""Flags of a piece: it mentions a time; it is a question."""

_WORD = re.compile(r"\w+")

_TIME_WORDS = {
    "en": (
        "yesterday today tonight tomorrow last next ago week weekend month year morning evening night since "
        "recently monday tuesday wednesday thursday friday saturday sunday january february march april may "
        "june july august september october november december"
    ),
    "pt": (
        "ontem hoje amanha anteontem ultimo ultima proximo proxima passado passada semana mes ano manha tarde noite "
        "desde recentemente segunda terca quarta quinta sexta sabado domingo janeiro fevereiro marco abril maio "
        "junho julho agosto setembro outubro novembro dezembro"
    ),
}
TIME_WORDS = {language: frozenset(words.split()) for language, words in _TIME_WORDS.items()}
"""Words by which a piece mentions a time; accents folded."""

About: TypeAlias = tuple[str, str]
"""The time and place of a node's pieces: a date or a chapter, and a place; "" for unknown."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a story that is found by itself; `speaker` is "" for the narrator.

    `when` is a date or a chapter, `place` the scene of the events; both may be "".
    """

    speaker: str
    text: str
    when: str = ""
    place: str = ""

    @property
    def prefixed(self) -> str:
        """The text as it is indexed, with speaker, date and place in front."""
        about = ", ".join(filter(None, (self.when, self.place)))
        before = " ".join(filter(None, (self.speaker, about and f"({about})")))
        return f"{before}: {self.text}" if before else self.text


class Numbers:
    """The index of each name in a list: takes 8 bytes for each name, where a dict and its integers take 60."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._count = 0
        self._slots = array("i", [-1]) * 64

    def get(self, name: str) -> int | None:
        number = self._slots[self._slot(name)]
        return number if number >= 0 else None

    def add(self, number: int) -> bool:
        """Whether the name at this index is new; otherwise its first index stays."""
        if self._slots[slot := self._slot(self._names[number])] >= 0:
            return False
        self._slots[slot] = number
        self._count += 1
        if 3 * self._count > 2 * len(self._slots):
            known = [number for number in self._slots if number >= 0]
            self._slots = array("i", [-1]) * (2 * len(self._slots))
            for number in known:
                self._slots[self._slot(self._names[number])] = number
        return True

    def _slot(self, name: str) -> int:
        """The slot that holds the name's number, or a free slot for it."""
        last = len(self._slots) - 1
        slot = hash(name) & last
        while (number := self._slots[slot]) >= 0 and self._names[number] != name:
            slot = (slot + 1) & last
        return slot


class Pieces:
    """All pieces of a story, numbered in the order of their addition, with the words that they contain; in columns."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.nodes: list[str] = []
        self._numbers = Numbers(self.nodes)
        self._again: dict[tuple[str, About], int] = {}
        self._places: dict[str, int] = {}
        self._place = array("i")
        self._first = array("i")
        self.postings = Postings()
        self._lengths = array("H")
        self._speakers: dict[frozenset[str], int] = {}
        self._speakers_by_word: dict[str, list[int]] = {}
        self._speaker = array("H")
        self._dates: dict[str, int] = {}
        self._dated: dict[str, list[int]] = {}
        self._date = array("H")
        self._flags = bytearray()
        self._cognates: dict[range, Cognates] = {}
        self._compared = 0
        self._known: list[str] = []
        self._alike: dict[tuple[str, str], list[tuple[str, float]]] = {}

    def __len__(self) -> int:
        return len(self._lengths)

    def of(self, node: str, about: About = ("", "")) -> range | None:
        """The numbers of a node's pieces; None for a node that has not been added with this date and place."""
        if (number := self._numbers.get(node)) is None:
            return None
        pieces, (when, place) = self.pieces(number), about
        if pieces and (self._date[pieces[0]], self._place[number]) != (
            self.date(when),
            self._places.get(place),
        ):
            number = self._again.get((node, about))
        return self.pieces(number) if number is not None else None

    def pieces(self, node: int) -> range:
        """The numbers of the pieces of `nodes[node]`."""
        end = self._first[node + 1] if node + 1 < len(self._first) else len(self)
        return range(self._first[node], end)

    def sizes(self, nodes: Ints) -> Ints:
        """The number of pieces of each of these nodes."""
        import numpy as np

        first = np.frombuffer(self._first, dtype=np.int32)
        return np.append(first[1:], np.int32(len(self)))[nodes] - first[nodes]

    def node_of(self, number: int) -> tuple[str, int]:
        """The node of a piece, and the piece's index in it."""
        node = bisect_right(self._first, number) - 1
        return self.nodes[node], number - self._first[node]

    def add(self, node: str, pieces: Sequence[Piece]) -> range:
        """Append a node's pieces, unless they exist already; returns their numbers.

        With another date or place they are added again: other branches may still use the earlier ones.
        """
        about = (pieces[0].when, pieces[0].place) if pieces else ("", "")
        if (numbers := self.of(node, about)) is not None:
            return numbers
        first, number_of_node = len(self), len(self.nodes)
        self._place.append(self._places.setdefault(about[1], len(self._places)))
        self.nodes.append(node)
        if not self._numbers.add(number_of_node):
            self._again[node, about] = number_of_node
        self._first.append(first)
        time_words, unasked = TIME_WORDS.get(self.language, frozenset()), _unasked(self.language)
        for number, piece in enumerate(pieces, first):
            text = piece.prefixed
            terms_of_piece = terms(text, self.language)
            capitals = " ".join(word for word in _WORD.findall(text) if word[0].isupper())
            with_capital = frozenset(terms(capitals, self.language))
            counts = Counter(term for term in terms_of_piece if term not in unasked)
            for term, count in counts.items():
                self.postings.add(term, number, min(count, MOST_COUNTED), term in with_capital)
            self._lengths.append(min(len(terms_of_piece), LONGEST))
            speaker = frozenset(terms(piece.speaker, self.language))
            if speaker not in self._speakers:
                number_of_speaker = self._speakers[speaker] = len(self._speakers)
                for word in speaker:
                    self._speakers_by_word.setdefault(word, []).append(number_of_speaker)
            self._speaker = _longer(self._speaker, self._speakers[speaker])
            if piece.when not in self._dates:
                number_of_date = self._dates[piece.when] = len(self._dates)
                for word in date_words(piece.when, self.language):
                    self._dated.setdefault(word, []).append(number_of_date)
            self._date = _longer(self._date, self._dates[piece.when])
            timed = not time_words.isdisjoint(_WORD.findall(fold(piece.text)))
            questions = piece.text.rstrip().endswith(("?", "？"))
            self._flags.append(timed * TIMED | questions * ASKING)
        return range(first, len(self))

    def nodes_of(self, numbers: Ints) -> Ints:
        """The numbers of these pieces' nodes."""
        import numpy as np

        first = np.frombuffer(self._first, dtype=np.int32)
        if len(numbers) < len(first):
            return (first.searchsorted(numbers, side="right") - 1).astype(np.int32)
        sizes = np.diff(first, append=np.int32(len(self)))
        return np.repeat(np.arange(len(first), dtype=np.int32), sizes)[numbers]

    def alike(self, word: str, language: str) -> list[tuple[str, float]]:
        """The terms that resemble a word of that language, with their likeness, 0..1, in descending order."""
        size = len(self.postings)
        if size != len(self._known):  # new terms are compared separately until there are many
            self._compared = size if size > self._compared * 5 // 4 else self._compared
            self._known, self._alike = list(self.postings), {}
            self._cognates = {
                part: self._cognates.get(part)
                or Cognates(self.language, ((self._known[at], at) for at in part))
                for part in (range(self._compared), range(self._compared, size))
            }
        if (word, language) not in self._alike:
            alike = [
                pair for part in self._cognates.values() for pair in part.matches(word, language, 4 * MOST)
            ]
            alike.sort(key=lambda pair: -pair[1])
            self._alike[word, language] = [(self._known[number], likeness) for number, likeness in alike]
        return self._alike[word, language]

    def date(self, when: str) -> int:
        """The number of a date or a chapter, -1 for an unknown one."""
        return self._dates.get(when, -1)


@cache
def _unasked(language: str) -> frozenset[str]:
    """Function words that match no query in any language: they are no translation of a content word, and no compared
    word resembles them.
    """
    return frozenset(term for term in function_terms(language) if len(term) < SHORTEST) - meanings(language)


def _longer(column: array[int], number: int) -> array[int]:
    """The column with one more number, in two bytes each, or in four if a number needs them."""
    if number > LONGEST and column.typecode == "H":
        column = array("i", column)
    column.append(number)
    return column


def date_words(text: str, language: str) -> frozenset[str]:
    """The words that may identify a date: names and years, not "8" or "pm"."""
    idle = FUNCTION_WORDS.get(language, frozenset())
    return frozenset(
        word
        for word in _WORD.findall(fold(text))
        if word not in idle and (len(word) == 4 if word.isdigit() else len(word) > 2)
    )
