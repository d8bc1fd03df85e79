"""The pieces of a story by their words: pieces are appended, and a branch's own are ranked.

All branches of a story share one index. What a branch sees (`Told`) is a list of its pieces in order, and every figure
that a score is made of, how rare a word is included, counts these pieces alone: a branch never feels its siblings.
Knows no database, no model and no prompt. Synchronous: callers hop to a thread.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from bot.retrieval.language import FUNCTION_WORDS
from bot.retrieval.lexical import content_terms, fold, terms
from bot.retrieval.ranking import min_max

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.memory.config import RecallConfig

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int32]

_K1, _B = 0.9, 0.4
"""Of BM25 over short texts (Anserini's defaults for passages)."""

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
"""By which a piece says when something was; accents folded."""

_WHEN = {
    "en": re.compile(r"\b(?:when|what (?:date|day|month|year))\b", re.I),
    "pt": re.compile(r"\b(?:quando|em que (?:data|dia|m[eê]s|ano))\b", re.I),
}


Reason: TypeAlias = Literal["words", "meaning", "time", "person"]
"""Why a piece is found."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a story that is found by itself; `speaker` is "" for the narrator.

    `when` is a date or a chapter, `place` where it happens; both may be "".
    """

    speaker: str
    text: str
    when: str = ""
    place: str = ""

    @property
    def prefixed(self) -> str:
        """As it is indexed: what it is about stands before what it says."""
        about = ", ".join(filter(None, (self.when, self.place)))
        before = " ".join(filter(None, (self.speaker, about and f"({about})")))
        return f"{before}: {self.text}" if before else self.text


class Pieces:
    """All pieces of a story, numbered as they were added; and which of them hold which word."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._numbers: dict[str, range] = {}
        self._nodes: list[str] = []
        self._postings: dict[str, tuple[array[int], array[int]]] = {}
        self._lengths = array("i")
        self._speakers: dict[frozenset[str], int] = {}
        self._speaker = array("i")
        self._dates: dict[str, int] = {}
        self._dated: dict[str, list[int]] = {}
        self._date = array("i")
        self._asking = bytearray()
        self._timed = bytearray()

    def __len__(self) -> int:
        return len(self._lengths)

    def of(self, node: str) -> range | None:
        """The numbers of a node's pieces, None for a node that has not been added."""
        return self._numbers.get(node)

    def node_of(self, number: int) -> tuple[str, int]:
        """Of which node a piece is, and which of its pieces."""
        node = self._nodes[number]
        return node, number - self._numbers[node].start

    def add(self, node: str, pieces: Sequence[Piece]) -> range:
        """Append a node's pieces: their numbers. A node that is there already stays as it is."""
        if node in self._numbers:
            return self._numbers[node]
        first = len(self._lengths)
        time_words = TIME_WORDS.get(self.language, frozenset())
        for number, piece in enumerate(pieces, first):
            found = terms(piece.prefixed, self.language)
            for term, count in Counter(found).items():
                where, counts = self._postings.setdefault(term, (array("i"), array("H")))
                where.append(number)
                counts.append(min(count, 65_535))
            self._lengths.append(len(found))
            named = frozenset(terms(piece.speaker, self.language))
            self._speaker.append(self._speakers.setdefault(named, len(self._speakers)))
            if piece.when not in self._dates:
                number_of_date = self._dates[piece.when] = len(self._dates)
                for word in _date_words(piece.when, self.language):
                    self._dated.setdefault(word, []).append(number_of_date)
            self._date.append(self._dates[piece.when])
            self._asking.append(piece.text.rstrip().endswith(("?", "？")))
            self._nodes.append(node)
            self._timed.append(not time_words.isdisjoint(_WORD.findall(fold(piece.text))))
        self._numbers[node] = range(first, len(self._lengths))
        return self._numbers[node]

    def date(self, when: str) -> int:
        """The number of a date or a chapter, -1 for one that no piece has."""
        return self._dates.get(when, -1)

    def dated(self, word: str) -> list[int]:
        """The numbers of the dates that hold this word."""
        return self._dated.get(word, [])

    def named(self) -> frozenset[str]:
        """The terms of all speakers' names."""
        return frozenset[str]().union(*self._speakers)

    def told(self, pieces: Sequence[int], scenes: Sequence[int]) -> Told:
        """These pieces in this order, each in the scene of that number (ascending)."""
        return Told(self, pieces, scenes)


class Told:
    """What a branch has lived through, as pieces in their order."""

    def __init__(self, index: Pieces, pieces: Sequence[int], scenes: Sequence[int]) -> None:
        import numpy as np

        self.index = index
        self.pieces: Ints = np.array(pieces, dtype=np.int32)
        self.scenes: Ints = np.array(scenes, dtype=np.int32)
        self.scene_count = int(self.scenes.max()) + 1 if len(self.scenes) else 0
        self._place = np.full(len(index) + 1, -1, dtype=np.int32)
        self._place[self.pieces] = np.arange(len(self.pieces), dtype=np.int32)
        lengths = np.array(index._lengths, dtype=np.float32)[self.pieces]
        self._norm = _norm(lengths)
        scene_lengths = np.bincount(self.scenes, weights=lengths, minlength=self.scene_count).astype(
            np.float32
        )
        self._scene_norm = _norm(scene_lengths)
        self._speaker = np.array(index._speaker, dtype=np.int32)[self.pieces]
        self._date = np.array(index._date, dtype=np.int32)[self.pieces]
        self._asking = np.frombuffer(bytes(index._asking), dtype=np.uint8)[self.pieces].astype(np.float32)
        self._timed = np.frombuffer(bytes(index._timed), dtype=np.uint8)[self.pieces].astype(np.float32)

    def holding(self, term: str) -> tuple[Ints, Floats]:
        """Which places hold the term, and how often each."""
        import numpy as np

        where, counts = self.index._postings.get(term, ((), ()))
        places = self._place[np.array(where, dtype=np.int32)]
        here = places >= 0
        return places[here], np.array(counts, dtype=np.float32)[here]

    def scenes_holding(self, term: str) -> Ints:
        """The numbers of the scenes that hold the term, ascending."""
        import numpy as np

        return np.unique(self.scenes[self.holding(term)[0]])

    def by_scene(self, scores: Floats) -> Floats:
        """Each scene's best piece's score."""
        import numpy as np

        best = np.zeros(self.scene_count, dtype=np.float32)
        np.maximum.at(best, self.scenes, scores)
        return best

    def of_date(self, when: str) -> NDArray[np.bool_]:
        """Which scenes are of this date or chapter."""
        import numpy as np

        same = self.index.date(when)
        of = np.zeros(self.scene_count, dtype=np.bool_)
        of[self.scenes[self._date == same]] = True
        return of

    def scores(
        self,
        query: str,
        by: RecallConfig,
        nearest: Mapping[int, float] | None = None,
    ) -> dict[Reason, Floats]:
        """What each piece scores, in their order, by the reasons for it; the sum ranks them.

        `nearest` are cosine similarities of pieces by their numbers, of as many as are known; the others have none."""
        import numpy as np

        language = self.index.language
        asked = Counter(content_terms(query, language))
        by_words, by_scene = self._by_words(asked)
        words = min_max(self._beside(by_words, (by.after_one, by.after_two), (by.before_one, by.before_two)))
        if self.scene_count:
            words += np.float32(by.scene) * min_max(by_scene)[self.scenes]
        if "?" in query:  # an answer is no question
            words -= np.float32(by.questions) * self._asking
        named = set(terms(query, language))
        speakers = [number for names, number in self.index._speakers.items() if names & named]
        dates = [number for word in _date_words(query, language) for number in self.index.dated(word)]
        time = np.float32(by.date) * np.isin(self._date, dates)
        pattern = _WHEN.get(language)
        if pattern is not None and pattern.search(query):
            time += np.float32(by.time) * self._timed
        return {
            "words": words,
            "meaning": np.float32(by.meaning) * self._near(nearest or {}, by),
            "time": time.astype(np.float32),
            "person": np.float32(by.speaker) * np.isin(self._speaker, speakers).astype(np.float32),
        }

    def _near(self, nearest: Mapping[int, float], by: RecallConfig) -> Floats:
        """The pieces' closeness to the query in meaning, 0..1, with what their neighbours lend them."""
        import numpy as np

        cosines = np.zeros(len(self.pieces), dtype=np.float32)
        numbers = np.fromiter(nearest, dtype=np.int32, count=len(nearest))
        close = np.fromiter(nearest.values(), dtype=np.float32, count=len(nearest))
        places = self._place[numbers]
        here = places >= 0
        cosines[places[here]] = min_max(close[here])
        return min_max(self._beside(cosines, (by.meaning_beside,), (by.meaning_beside,)))

    def _by_words(self, asked: Mapping[str, int]) -> tuple[Floats, Floats]:
        """BM25 (Robertson and Zaragoza 2009) of the pieces, and of whole scenes."""
        import numpy as np

        size, count = len(self.pieces), self.scene_count
        scores, scene_scores = np.zeros(size, dtype=np.float32), np.zeros(count, dtype=np.float32)
        for term, repeated in asked.items():
            places, counts = self.holding(term)
            if not len(places):
                continue
            weight = repeated * _rarity(len(places), size)
            scores[places] += weight * counts * (_K1 + 1) / (counts + self._norm[places])
            in_scenes = np.bincount(self.scenes[places], weights=counts, minlength=count).astype(np.float32)
            scenes = np.flatnonzero(in_scenes)
            weight, counts = repeated * _rarity(len(scenes), count), in_scenes[scenes]
            scene_scores[scenes] += weight * counts * (_K1 + 1) / (counts + self._scene_norm[scenes])
        return scores, scene_scores

    def _beside(self, scores: Floats, before: Sequence[float], after: Sequence[float]) -> Floats:
        """Scores with what the pieces before and after lend them, within the same scene."""
        lent = scores.copy()
        for distance, weight in enumerate(before, 1):
            same = self.scenes[distance:] == self.scenes[:-distance]
            lent[distance:] += weight * scores[:-distance] * same
        for distance, weight in enumerate(after, 1):
            same = self.scenes[distance:] == self.scenes[:-distance]
            lent[:-distance] += weight * scores[distance:] * same
        return lent


def _norm(lengths: Floats) -> Floats:
    mean = float(lengths.mean()) if len(lengths) else 1.0
    norm: Floats = _K1 * (1 - _B + _B * lengths / (mean or 1.0))
    return norm


def _rarity(holding: int, of: int) -> float:
    """Inverse document frequency, kept above zero."""
    return math.log1p((of - holding + 0.5) / (holding + 0.5))


def _date_words(text: str, language: str) -> frozenset[str]:
    """The words that may tell a date: names and years; "8" and "pm" say too little."""
    idle = FUNCTION_WORDS.get(language, frozenset())
    return frozenset(
        word
        for word in _WORD.findall(fold(text))
        if word not in idle and (len(word) == 4 if word.isdigit() else len(word) > 2)
    )
