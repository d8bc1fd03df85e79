"""The pieces of one branch of a story in order, and the scores that a query gives them.

Every figure in a score, including how rare a word is, counts only these pieces. Callers run this in a thread.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from bot.retrieval.cognates import MOST, words_of
from bot.retrieval.glossary import translated
from bot.retrieval.language import FUNCTION_WORDS, detect_question
from bot.retrieval.lexical import content_terms, terms
from bot.retrieval.ranking import min_max
from bot.works.story.memory.index import ASKING, TIMED, Pieces, date_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.config import RecallConfig

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int32]
    Rows = NDArray[np.intp]

_K1, _B = 0.9, 0.4
"""The parameters of BM25 for short texts (Anserini's defaults for passages)."""

_MANY = 12
"""A scene with this many words of a query covers it, however long the query is."""

_TOGETHER = 131_072
"""About how many postings are scored at a time: those of a long query's words would take many megabytes."""

_TERMS = 64
"""The number of terms for which a branch remembers the scenes that contain them: a search asks several times."""

COMPARED = 32
"""How many words of a query in another language are compared with the story's: a question has fewer."""

FEW = 3
"""A name in more scenes than this is not rare, however long the story is."""

_WHEN = {
    "en": re.compile(r"\b(?:when|what (?:date|day|month|year))\b", re.I),
    "pt": re.compile(r"\b(?:quando|em que (?:data|dia|m[eê]s|ano))\b", re.I),
}

Reason: TypeAlias = Literal["words", "meaning", "time", "person"]
"""Why a piece was found."""


class BranchPieces:
    """The pieces of one branch in order: `numbers` are their numbers in the index, `scenes` those of their scenes."""

    def __init__(self, index: Pieces, numbers: Sequence[int] | Ints, scenes: Sequence[int] | Ints) -> None:
        import numpy as np

        self.index = index
        self.numbers: Ints = np.array(numbers, dtype=np.int32)
        self.scenes: Ints = np.array(scenes, dtype=np.int32)
        self.scene_count = int(self.scenes.max()) + 1 if len(self.scenes) else 0
        self._place = np.full(len(index), -1, dtype=np.int32)
        self._place[self.numbers] = np.arange(len(self.numbers), dtype=np.int32)
        self._every = len(self.numbers) == len(index)
        """Whether all pieces of the index belonged to this branch when it was made."""
        lengths = self._column(index._lengths).astype(np.float32)
        self._mean_length = _mean(lengths)
        in_scenes = np.bincount(self.scenes, weights=lengths, minlength=self.scene_count)
        scene_lengths = in_scenes.astype(np.float32)
        self._scene_norm = _norm(scene_lengths, _mean(scene_lengths))
        self._names: frozenset[str] | None = None
        self._scenes_of: dict[str, Ints] = {}

    def _column(self, column: array[int] | bytearray) -> NDArray[Any]:
        """The values of an index column for the branch's pieces."""
        import numpy as np

        kind = np.dtype("B" if isinstance(column, bytearray) else column.typecode)
        return np.frombuffer(column, dtype=kind)[self.numbers] if len(column) else np.zeros(0, dtype=kind)

    def nodes(self) -> Ints:
        """The numbers of the nodes to which the pieces belong."""
        return self.index.nodes_of(self.numbers)

    def membership(self) -> NDArray[np.bool_]:
        """Whether each piece of the index, by number, belongs to the branch; without pieces that were added since."""
        is_member: NDArray[np.bool_] = self._place >= 0
        return is_member

    def names(self) -> frozenset[str]:
        """The terms of all speakers' names."""
        import numpy as np

        if self._names is None:
            speaks = np.zeros(len(self.index._speakers), dtype=np.bool_)
            speaks[self._column(self.index._speaker)] = True
            names = (names for names, number in self.index._speakers.items() if speaks[number])
            self._names = frozenset[str]().union(*names)
        return self._names

    def pieces_naming(self, term: str) -> Ints:
        """The positions of the pieces that contain the term, if it is a rare name: always written with a capital, and
        in only one scene, or in one in a hundred up to FEW.
        """
        few = min(FEW, max(1, self.scene_count // 100))
        if len(self.scenes_with(term)) > few:
            return self.numbers[:0]
        places, _, capitals = self._postings(term)
        return places if capitals.all() else places[:0]

    def containing(self, term: str, places: Rows) -> Rows:
        """Those of these positions whose pieces contain the term."""
        numbers, asked = self.index.postings.of(term)[0], self.numbers[places]
        at = numbers.searchsorted(asked)
        inside = at < len(numbers)
        inside[inside] = numbers[at[inside]] == asked[inside]
        return places[inside]

    def _postings(self, term: str) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """The positions of the pieces that contain the term, how often each does, and whether with a capital."""
        numbers, counts, capitals = self.index.postings.of(term)
        if len(self.index) > len(self._place):  # pieces that were added since do not belong to this branch
            numbers = numbers[: numbers.searchsorted(len(self._place))]
            counts, capitals = counts[: len(numbers)], capitals[: len(numbers)]
        places = self._place[numbers]
        if not self._every:
            known = places >= 0
            places, counts, capitals = places[known], counts[known], capitals[known]
        return places, counts, capitals

    def has(self, term: str) -> bool:
        """Whether a piece contains the term."""
        return bool(len(self._postings(term)[0]))

    def alike(self, word: str, language: str) -> dict[str, float]:
        """The terms that resemble a word of that language, with their likeness."""
        terms = (pair for pair in self.index.alike(word, language) if self.has(pair[0]))
        return {term: likeness**1.5 for term, likeness in islice(terms, MOST)}

    def query_terms(self, text: str) -> Mapping[str, float]:
        """The terms of a query, and the weight of each: how often it occurs in the query.

        Function words don't count. In another language than the story's, a word that occurs in the story counts as
        itself (a name); others are replaced by their translations, or else by similar words, weighted by their
        likeness.
        """
        language = self.index.language
        own = content_terms(text, language)
        if (asked_in := _language(text, language)) == language:
            return Counter(own)
        weights = {term: 1.0 for term in own if term.isdigit()}
        idle, unknown = FUNCTION_WORDS.get(asked_in, frozenset()), 0
        for word in words_of(text):
            if word in idle or word.isdigit():
                continue
            same = content_terms(word, language)
            meant = {term: 1.0 for term in (*same, *translated(word, asked_in, language)) if self.has(term)}
            if not meant and unknown < COMPARED:
                meant, unknown = self.alike(word, asked_in), unknown + 1
            weights |= meant or dict.fromkeys(same, 1.0)
        return weights

    def scenes_with(self, term: str) -> Ints:
        """The numbers of the scenes that contain the term, ascending."""
        if term not in self._scenes_of:
            self._in_scenes([term], [self._postings(term)])
        return self._scenes_of[term]

    def _in_scenes(
        self, terms: Sequence[str], held: Sequence[tuple[Ints, Ints, NDArray[np.bool_]]]
    ) -> tuple[Rows, Ints, NDArray[np.int64]]:
        """The scenes that contain each term, one term after another, how often each does, and the index where each term
        begins.

        `held`: the results of `_postings` for the terms.
        """
        import numpy as np

        ends = np.cumsum([len(places) for places, *_ in held])
        scenes = self.scenes[np.concatenate([places for places, *_ in held])]
        totals = np.cumsum(np.concatenate([[0], *(counts for _, counts, _ in held)]), dtype=np.int64)
        begins = np.ones(len(scenes) + 1, dtype=np.bool_)
        np.not_equal(scenes[1:], scenes[:-1], out=begins[1:-1])
        begins[ends] = True
        bounds = np.flatnonzero(begins)
        of_runs, in_runs = scenes[bounds[:-1]].astype(np.intp), np.diff(totals[bounds])
        ends = bounds.searchsorted(ends)
        term = np.repeat(np.arange(len(terms)), np.diff(ends, prepend=0))
        keys = term * self.scene_count + of_runs
        if not (keys[1:] > keys[:-1]).all():  # pieces were not added in the order of the scenes
            keys, run = np.unique(keys, return_inverse=True)
            of_runs, in_runs = keys % self.scene_count, np.bincount(run, weights=in_runs).astype(np.int64)
            ends = keys.searchsorted(np.arange(1, len(terms) + 1) * self.scene_count)
        starts = np.concatenate([[0], ends])
        if len(self._scenes_of) + len(terms) > _TERMS:
            self._scenes_of.clear()
        kept = of_runs.astype(np.int32)
        self._scenes_of |= {
            term: kept[first:end] for term, (first, end) in zip(terms, pairwise(starts.tolist()), strict=True)
        }
        return of_runs, in_runs, starts

    def by_scene(self, scores: Floats) -> Floats:
        """The score of each scene's best piece."""
        import numpy as np

        best = np.zeros(self.scene_count, dtype=np.float32)
        np.maximum.at(best, self.scenes, scores)
        return best

    def of_date(self, when: str) -> NDArray[np.bool_]:
        """Which scenes have this date or chapter."""
        import numpy as np

        same = self.index.date(when)
        of = np.zeros(self.scene_count, dtype=np.bool_)
        of[self.scenes[self._column(self.index._date) == same]] = True
        return of

    def words(self, query: str, by: RecallConfig) -> tuple[Floats, Floats, float]:
        """The score of each piece for the query's words, in order; the part of it that comes from terms in at most one
        scene in a hundred; and the largest share of the query that one scene covers.
        """
        import numpy as np

        (by_words, by_rare), by_scene, covers = self._by_words(self.query_terms(query))
        lent = (by.after_one, by.after_two), (by.before_one, by.before_two)
        words = self._with_neighbours(by_words, *lent)
        rare = self._with_neighbours(by_rare, *lent) if by_rare.any() else by_rare
        best = np.float32(max(float(words.max(initial=0.0)), 1e-9))
        words /= best
        rare /= best
        if self.scene_count:
            words += (np.float32(by.scene) * _of_best(by_scene))[self.scenes]
        if "?" in query and by.questions:  # an answer is not a question
            words -= np.float32(by.questions) * (self._column(self.index._flags) & ASKING > 0)
        return words, rare, covers

    def scores(
        self,
        query: str,
        by: RecallConfig,
        nearest: Mapping[int, float] | None = None,
    ) -> dict[Reason, Floats]:
        """The scores of the pieces, in order, by reason; their sum ranks them.

        `nearest`: the known cosine similarities, by number of the piece.
        """
        import numpy as np

        language, index = self.index.language, self.index
        person, time = np.zeros((2, len(self.numbers)), dtype=np.float32)
        if speakers := [
            at for word in set(terms(query, language)) for at in index._speakers_by_word.get(word, ())
        ]:
            of_speaker = np.zeros(len(index._speakers), dtype=np.float32)
            of_speaker[speakers] = by.speaker
            person = of_speaker[self._column(index._speaker)]
        if dates := [at for word in date_words(query, language) for at in index._dated.get(word, ())]:
            said = np.bincount(dates, minlength=len(index._dates))[self._column(index._date)]
            time = np.float32(by.date) * (said == max(1, said.max(initial=0)))
        pattern = _WHEN.get(language)
        if pattern is not None and pattern.search(query):
            time += np.float32(by.time) * (self._column(index._flags) & TIMED > 0)
        words, rare, covers = self.words(query, by)
        meaning = np.zeros(len(self.numbers), dtype=np.float32)
        if nearest:
            close = self._close(nearest)
            meaning = np.float32(by.meaning) * min_max(
                self._with_neighbours(close, (by.meaning_beside,), (by.meaning_beside,))
            )
            if covers < by.covered:  # the query uses other words than the story
                share = covers / by.covered
                words = np.maximum(words * np.float32(share), rare)
                meaning += np.float32((1 - share) * (1 + by.scene)) * self._of_scenes(close)
        return {"words": words, "meaning": meaning, "time": time, "person": person}

    def _of_scenes(self, close: Floats) -> Floats:
        """How many pieces of each piece's scene are close to the query, and how close, 0..1."""
        import numpy as np

        of_scenes = np.bincount(self.scenes, weights=close, minlength=self.scene_count)
        return min_max(of_scenes.astype(np.float32))[self.scenes]

    def _close(self, nearest: Mapping[int, float]) -> Floats:
        """The closeness of the nearest pieces, 0..1; 0 for the others."""
        import numpy as np

        cosines = np.zeros(len(self.numbers), dtype=np.float32)
        numbers = np.fromiter(nearest, dtype=np.int32, count=len(nearest))
        close = np.fromiter(nearest.values(), dtype=np.float32, count=len(nearest))
        places = self._place[numbers]
        known = places >= 0
        cosines[places[known]] = min_max(close[known])
        return cosines

    def _by_words(self, weights: Mapping[str, float]) -> tuple[Floats, Floats, float]:
        """BM25 (Robertson and Zaragoza 2009) of the pieces by all terms and by rare ones, and of whole scenes.

        Also the largest share of the query that one scene covers, 0..1: either terms weighted by rarity, or simply many
        terms.
        """
        import numpy as np

        size, count = len(self.numbers), self.scene_count
        if not weights or not size:
            return np.zeros((2, size), dtype=np.float32), np.zeros(count, dtype=np.float32), 0.0
        scores, rare_scores = np.zeros((2, size))
        scene_scores, covered, covers = np.zeros((3, count))
        rarity = 0.0
        for some, held in self._posting_groups(weights):
            counted = np.array([weights[term] for term in some])
            sizes = np.array([len(places) for places, *_ in held])
            places = np.concatenate([places for places, *_ in held]).astype(np.intp)
            counts = np.concatenate([counts for _, counts, _ in held]).astype(np.float32)
            scenes, in_scenes, starts = self._in_scenes(some, held)
            in_each = np.diff(starts)
            lengths = np.frombuffer(self.index._lengths, dtype=np.uint16)[self.numbers[places]]
            added = counts / (counts + _norm(lengths.astype(np.float32), self._mean_length))
            added *= np.repeat(counted * (_K1 + 1) * _rarities(sizes, size), sizes).astype(np.float32)
            scores += np.bincount(places, added, size)
            rare = np.repeat(100 * in_each <= count, sizes)
            if rare.any():
                rare_scores += np.bincount(places[rare], added[rare], size)
            rarities, once = _rarities(in_each, count), np.minimum(1.0, counted)
            rarity += rarities.sum()
            covered += np.bincount(scenes, np.repeat(once * rarities, in_each), count)
            covers += np.bincount(scenes, np.repeat(once / _MANY, in_each), count)
            of_scenes = in_scenes / (in_scenes + self._scene_norm[scenes])
            of_scenes *= np.repeat(counted * rarities * (_K1 + 1), in_each)
            scene_scores += np.bincount(scenes, of_scenes, count)
        covered /= rarity or 1.0
        return (
            np.stack([scores, rare_scores]).astype(np.float32),
            scene_scores.astype(np.float32),
            min(1.0, float(max(covered.max(), covers.max()))),
        )

    def _posting_groups(
        self, terms: Iterable[str]
    ) -> Iterator[tuple[list[str], list[tuple[Ints, Ints, NDArray[np.bool_]]]]]:
        """The terms in groups with about _TOGETHER postings each, with the results of `_postings`."""
        some, held, postings = list[str](), list[tuple["Ints", "Ints", "NDArray[np.bool_]"]](), 0
        for term in terms:
            some.append(term)
            held.append(self._postings(term))
            postings += len(held[-1][0])
            if postings >= _TOGETHER:
                yield some, held
                some, held, postings = [], [], 0
        if some:
            yield some, held

    def _with_neighbours(self, scores: Floats, before: Sequence[float], after: Sequence[float]) -> Floats:
        """Scores plus a share of the scores of the pieces before and after, within the same scene."""
        import numpy as np

        smoothed = scores.copy()
        for distance in range(1, max(len(before), len(after)) + 1):
            same = self.scenes[distance:] == self.scenes[:-distance]
            if distance <= len(before) and before[distance - 1]:
                smoothed[distance:] += scores[:-distance] * (np.float32(before[distance - 1]) * same)
            if distance <= len(after) and after[distance - 1]:
                smoothed[:-distance] += scores[distance:] * (np.float32(after[distance - 1]) * same)
        return smoothed


@lru_cache(maxsize=8)  # a recall asks several times for the same texts
def _language(text: str, story: str) -> str:
    return detect_question(text, (story,)) or story


def _of_best(scores: Floats) -> Floats:
    """Scores divided by the largest, 0..1; scores below 0 count as 0."""
    best: Floats = scores / max(float(scores.max(initial=0.0)), 1e-9)
    return best


def _mean(lengths: Floats) -> float:
    """The mean; 1 for an empty array."""
    return (float(lengths.mean()) if len(lengths) else 1.0) or 1.0


def _norm(lengths: Floats, mean: float) -> Floats:
    norm: Floats = _K1 * (1 - _B + _B * lengths / mean)
    return norm


def _rarities(holding: NDArray[np.int64], of: int) -> NDArray[np.float64]:
    """Inverse document frequencies, kept above zero."""
    import numpy as np

    return np.log1p((of - holding + 0.5) / (holding + 0.5))
