"""The postings of all of a shelf's documents as one table: where and how often a term occurs, and BM25 over it.

Chunks are numbers and terms are (language, term) pairs; independent of titles, questions and likeness.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from bot.retrieval.cognates import Cognates
from bot.retrieval.lexical import Segment

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int32]

_HOLLOW = 3
_SHORT = 0.5  # of the mean length: a shorter text is hardly more relevant, and may be only a heading's name


class Postings:
    """Merged segments; chunks are numbered across them, in their order. Immutable once made."""

    def __init__(self, segments: Sequence[tuple[str, Segment]]) -> None:
        """`segments` are (language, segment) pairs."""
        import numpy as np

        self.numbers: dict[tuple[str, str], int] = {}
        """The number of each (language, term); a term that no chunk of its language contains has none."""
        self._in_language: Counter[str] = Counter()
        rows: list[tuple[str, Segment]] = []
        owners: list[Ints] = [np.zeros(0, np.int32)]
        first = 0
        for language, segment in segments:
            self._in_language[language] += len(segment.lengths)
            if segment.rows is not None:
                rows.append((language, segment.rows.postings))
                owners.append(segment.rows.chunks + np.int32(first))
            first += len(segment.lengths)
        for language, segment in (*segments, *rows):
            for word in segment.vocabulary:
                self.numbers.setdefault((language, word), len(self.numbers))
        self._chunks = _Table(segments, self.numbers)
        self.size = len(self._chunks.lengths)
        self._mean = float(self._chunks.lengths.mean()) if self.size else 1.0
        self._rows = _Table(rows, self.numbers)
        self._owners = np.concatenate(owners)
        self.has_rows = len(self._owners) > 0
        self._offsets, self._chunk = self._chunks.offsets, self._chunks.texts
        self._body, self._head = self._chunks.body, self._chunks.head
        self.frequency: NDArray[np.int64] = np.diff(self._offsets)
        """How many chunks contain each term in text or breadcrumb, by term number."""
        # The forward index (which terms a chunk contains) finds the titles that a passage names.
        body = self._body > 0
        term = np.repeat(np.arange(len(self.frequency), dtype=np.int32), self.frequency)
        by_chunk = np.argsort(self._chunk[body], kind="stable")
        self._forward = term[body][by_chunk]
        self._forward_offsets = np.concatenate(
            [[0], np.cumsum(np.bincount(self._chunk[body], minlength=self.size))]
        ).astype(np.int64)
        body_only = np.bincount(self._chunk[body & (self._head == 0)], minlength=self.size)
        self.hollow: NDArray[np.bool_] = body_only < _HOLLOW
        """Whether a chunk says nothing except its headings' own words."""
        self._cognates: dict[str, Cognates] = {}

    def cognates(self, language: str) -> Cognates:
        """The terms of one language by spelling; made when a foreign question first needs them."""
        if language not in self._cognates:
            terms = (
                (term, at) for (term_language, term), at in self.numbers.items() if term_language == language
            )
            self._cognates[language] = Cognates(language, terms)
        return self._cognates[language]

    def weight(self, frequency: float) -> float:
        """The inverse document frequency (Robertson and Zaragoza 2009) for a number of chunks, kept above zero."""
        return math.log1p((self.size - frequency + 0.5) / (frequency + 0.5))

    def weight_in(self, term: int, language: str) -> float:
        """The `weight` of a term among the chunks of its own language only."""
        frequency = int(self.frequency[term])
        return math.log1p((self._in_language[language] - frequency + 0.5) / (frequency + 0.5))

    def terms_of(self, chunk: int) -> Ints:
        """The terms in a chunk's text."""
        return self._forward[int(self._forward_offsets[chunk]) : int(self._forward_offsets[chunk + 1])]

    def coverage(
        self,
        words: Sequence[tuple[float, Sequence[int], Sequence[int]]],
        chunks: Sequence[int],
        linked: Sequence[Sequence[int]] = (),
    ) -> tuple[float, float, int]:
        """(share, worth, chunk) of the chunk that says most of the words; chunk is -1 if none says any.

        Each word comes with its weight, its terms and the terms of its column, and a chunk may say it in any of its
        terms; the breadcrumb counts twice. `linked`: for each chunk, the places of the chunks that are counted together
        with it, including itself.
        """
        import numpy as np

        total = 0.0
        weights = np.zeros(len(chunks), dtype=np.float64)
        for weight, terms, _ in words if chunks else ():
            counts = np.zeros(len(chunks), dtype=np.float32)
            for term in terms:
                low, high = int(self._offsets[term]), int(self._offsets[term + 1])
                places = np.minimum(low + np.searchsorted(self._chunk[low:high], chunks), high - 1)
                matching = self._chunk[places] == chunks
                counts += matching * (self._body[places].astype(np.float32) + 2 * self._head[places])
            if linked:
                counts = np.array([counts[places].max() for places in linked], dtype=np.float32)
            weights += weight * counts / (counts + 1)
            total += weight
        if not total:
            return 0.0, 0.0, -1
        at = int(weights.argmax())
        best = float(weights[at])
        return best / total, best / math.log1p(self.size), chunks[at] if best else -1

    def saying_all(self, words: Sequence[Sequence[int]], chunks: Sequence[int]) -> list[int]:
        """The chunks among `chunks` that contain every word, in any of its terms, in text or breadcrumb."""
        import numpy as np

        matching = np.array(chunks, dtype=np.int32)
        for numbers in words:
            matching = matching[np.isin(matching, self._chunks.saying(numbers))]
        saying: list[int] = matching.tolist()
        return saying

    def chunks_by_rows(self, words: Sequence[Sequence[int]]) -> tuple[Ints, int]:
        """The chunks with a table row that contains all words, each in any of its terms; and the number of such
        rows.
        """
        import numpy as np

        rows = self._rows.saying_all(words)
        return np.unique(self._owners[rows]), len(rows)

    def together(self, words: Sequence[Iterable[int]]) -> bool:
        """Whether one chunk contains all of these words, each in any of its terms."""
        return not words or len(self._chunks.saying_all(words)) > 0

    def bm25(
        self, weights: Mapping[int, float], *, k1: float, b: float, head_weight: float, rows: bool
    ) -> Floats:
        """Every chunk's score: BM25 with the given weights; the breadcrumb counts `head_weight` times.

        With `rows`, the best row of a chunk's tables may score instead, as a short text of its own.
        """
        import numpy as np

        settings = (k1, b, head_weight, self._mean)
        scores = self._chunks.bm25(weights, (*settings, _SHORT * self._mean))
        if rows and self.has_rows:
            np.maximum.at(scores, self._owners, self._rows.bm25(weights, (*settings, 0.0)))
        return scores


class _Table:
    """The postings of many texts by term; `offsets[i]:offsets[i + 1]` are those of term i."""

    def __init__(
        self, segments: Sequence[tuple[str, Segment]], vocabulary: Mapping[tuple[str, str], int]
    ) -> None:
        """`segments` are (language, segment) pairs whose texts are numbered across them; `vocabulary` has (language,
        term) pairs.
        """
        import numpy as np

        ids, texts = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
        bodies, heads, lengths = [np.zeros(0, np.uint16)], [np.zeros(0, np.uint16)], [np.zeros(0, np.int32)]
        first = 0
        for language, segment in segments:
            keys = zip(repeat(language), segment.vocabulary)
            numbers = np.fromiter(map(vocabulary.__getitem__, keys), np.int32, len(segment.vocabulary))
            ids.append(np.repeat(numbers, np.diff(segment.offsets)))
            texts.append(segment.chunks + np.int32(first))
            bodies.append(segment.body)
            heads.append(segment.head)
            lengths.append(segment.lengths)
            first += len(segment.lengths)
        term = np.concatenate(ids)
        order = np.argsort(term, kind="stable")
        self.texts = np.concatenate(texts)[order].astype(np.int32)
        self.body = np.concatenate(bodies)[order]
        self.head = np.concatenate(heads)[order]
        self.lengths = np.concatenate(lengths)
        self.offsets = np.concatenate([[0], np.cumsum(np.bincount(term, minlength=len(vocabulary)))])
        self._impacts: dict[tuple[float, ...], Floats] = {}
        """The saturation of every posting in its text, which is the same for every question."""

    def saying(self, word: Iterable[int]) -> Ints:
        """The texts that contain a word in any of these terms, in order."""
        import numpy as np

        spans = [self.texts[int(self.offsets[term]) : int(self.offsets[term + 1])] for term in word]
        return np.unique(np.concatenate(spans)) if spans else self.texts[:0]

    def saying_all(self, words: Sequence[Iterable[int]]) -> Ints:
        """The texts that contain all of these words, each in any of its terms; none for no words."""
        import numpy as np

        shared = self.saying(words[0]) if words else self.texts[:0]
        for word in words[1:]:
            if not len(shared):
                break
            shared = np.intersect1d(shared, self.saying(word), assume_unique=True)
        return shared

    def bm25(self, weights: Mapping[int, float], settings: tuple[float, ...]) -> Floats:
        """Every text's score. `settings` are k1, b, the breadcrumb's weight, the mean length and the least length."""
        import numpy as np

        if settings not in self._impacts:
            k1, b, head_weight, mean, least = settings
            counts = self.body + head_weight * self.head
            norm = k1 * (1 - b + b * np.maximum(self.lengths, least) / (mean or 1.0))
            saturation = counts * (k1 + 1) / (counts + norm[self.texts])
            self._impacts = {settings: saturation.astype("float32")}
        impact = self._impacts[settings]
        scores = np.zeros(len(self.lengths), dtype=np.float32)
        for number, weight in weights.items():
            span = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
            scores[self.texts[span]] += np.float32(weight) * impact[span]
        return scores
