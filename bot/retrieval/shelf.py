"""One shelf of one space in memory: finds passages by title, by words and by given likeness.

Holds numbers and titles, no passage's text. Knows no storage and no model: vectors' votes come from the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from bot.retrieval.confidence import Evidence, Thresholds, confident
from bot.retrieval.fuse import min_max, mmr
from bot.retrieval.language import FUNCTION_WORDS, detect_question, may_vote
from bot.retrieval.lexical import Segment, terms
from bot.retrieval.titles import Match, MatchKind, Titles, normal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int32]


_NAME_WORDS = 5  # a heading is seldom longer; a question seldom as short


@dataclass(frozen=True, slots=True)
class ShelvedDocument:
    """What a shelf needs of one document. `chunk_sections[i]` is the section ordinal of its chunk i."""

    id: str
    title: str
    language: str
    sections: Sequence[tuple[str, tuple[str, ...]]]  # (title, path) by ordinal
    chunk_sections: Sequence[int]
    segment: Segment


@dataclass(frozen=True, slots=True)
class Options:
    """How to search; the defaults are what docs/retrieval.md measured best over all sets."""

    k: int = 12
    lookup: bool = True
    documents: frozenset[str] | None = None  # only these
    model_languages: frozenset[str] | None = None  # the dense model's; None = all
    mmr_trade: float | None = None  # None = off
    hops: int = 1  # titles named in the best passages are followed this often
    thresholds: Thresholds = field(default_factory=Thresholds)
    k1: float = 1.2
    b: float = 0.6
    head_weight: float = 2.0
    neighbour_weight: float = 0.5
    dense_weight: float = 0.8
    bridge_weight: float = 1.2


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage: its chunk, its section's ordinal in its document, and why it is here."""

    chunk_id: str
    document_id: str
    section: int
    score: float
    by: MatchKind | str  # "exact" | "alias" | "fuzzy" title, "search", "bridge"


@dataclass(frozen=True, slots=True)
class Ranked:
    """Passages, best first, and whether they may be called an answer."""

    hits: tuple[Hit, ...]
    confident: bool
    language: str | None
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Found:
    """A title's match: its document, and its section (None when it is the document's own title)."""

    document_id: str
    section: int | None
    title: str
    path: tuple[str, ...]
    kind: MatchKind
    score: float


class Shelf:
    """Lexical statistics over the shelf's own segments, titles, languages; immutable once made."""

    def __init__(self, documents: Sequence[ShelvedDocument]) -> None:
        import numpy as np

        self._documents = [(one.id, one.title, one.language) for one in documents]
        self._sections: list[tuple[int, int, str, tuple[str, ...]]] = []
        self.languages = sorted({one.language for one in documents})
        self._number = {one.id: at for at, one in enumerate(documents)}
        counts = [len(one.chunk_sections) for one in documents]
        self._first = (
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64) if counts else np.zeros(1, np.int64)
        )
        self.size = int(self._first[-1])
        self._document_of = np.repeat(np.arange(len(documents), dtype=np.int32), counts)
        self._section_of = np.zeros(self.size, dtype=np.int32)
        titled: list[tuple[str, int, str]] = []
        for at, one in enumerate(documents):
            base = len(self._sections)
            for ordinal, (title, path) in enumerate(one.sections):
                titled.append((title, base + ordinal, one.language))
                self._sections.append((at, ordinal, title, path))
            low, high = self._first[at], self._first[at + 1]
            self._section_of[low:high] = np.asarray(one.chunk_sections, dtype=np.int32) + base
        # A document's own title is an entry of its own, below zero.
        titled += [(one.title, -1 - at, one.language) for at, one in enumerate(documents)]
        self._titles = Titles(titled)
        sections = np.arange(len(self._sections) + 1)
        self._section_first = np.searchsorted(self._section_of, sections).astype(np.int64)
        self._postings(documents)
        self._impacts: dict[tuple[float, float, float], Floats] = {}
        self._named = self._title_index()

    def _postings(self, documents: Sequence[ShelvedDocument]) -> None:
        """All segments' postings merged, by (language, term)."""
        import numpy as np

        self._vocabulary: dict[tuple[str, str], int] = {}
        ids, chunks, bodies, heads, lengths = [], [], [], [], []
        for at, one in enumerate(documents):
            segment, language = one.segment, one.language
            known = self._vocabulary
            numbers = np.array(
                [known.setdefault((language, t), len(known)) for t in segment.vocabulary], np.int32
            )
            ids.append(np.repeat(numbers, np.diff(segment.offsets)))
            chunks.append(segment.chunks + np.int32(self._first[at]))
            bodies.append(segment.body)
            heads.append(segment.head)
            lengths.append(segment.lengths)
        if not ids:
            ids, chunks, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
            bodies = heads = [np.zeros(0, np.uint16)]
        term = np.concatenate(ids)
        order = np.argsort(term, kind="stable")
        self._chunk = np.concatenate(chunks)[order].astype(np.int32)
        self._body = np.concatenate(bodies)[order]
        self._head = np.concatenate(heads)[order]
        self._lengths = np.concatenate(lengths)
        self._offsets = np.concatenate([[0], np.cumsum(np.bincount(term, minlength=len(self._vocabulary)))])
        # The forward index (which terms a chunk holds) is what tells the titles that a passage names.
        body = self._body > 0
        by_chunk = np.argsort(self._chunk[body], kind="stable")
        self._forward = term[order][body][by_chunk].astype(np.int32)
        self._forward_offsets = np.concatenate(
            [[0], np.cumsum(np.bincount(self._chunk[body], minlength=self.size))]
        ).astype(np.int64)

    def _title_index(self) -> tuple[Ints, Ints, Floats, Ints, Ints]:
        """Titles as sets of terms, for finding those that a passage names."""
        import numpy as np

        rows: list[int] = []
        columns: list[int] = []
        targets: list[int] = []
        sizes: list[int] = []
        whole = [(title, -1 - at, lang) for at, (_, title, lang) in enumerate(self._documents)]
        parts = [
            (title, at, self._documents[doc][2])
            for at, (doc, _, title, _) in enumerate(self._sections)
            if title
        ]
        for title, entry, language in (*whole, *parts):
            words = {self._vocabulary.get((language, t), -1) for t in terms(title.split("(")[0], language)}
            if words and -1 not in words:
                rows += [len(targets)] * len(words)
                columns += words
                targets.append(entry)
                sizes.append(len(words))
        weight = self._idf_all()
        row = np.array(rows, dtype=np.int32)
        column = np.array(columns, dtype=np.int32)
        weights = np.zeros(len(targets), dtype=np.float32)
        np.add.at(weights, row, weight[column] if len(column) else np.zeros(0, np.float32))
        return row, column, weights, np.array(targets, np.int32), np.array(sizes, np.int32)

    def _idf_all(self) -> Floats:
        import numpy as np

        frequency = np.diff(self._offsets)
        return np.log1p((self.size - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)

    def chunk_id(self, number: int) -> str:
        document = int(self._document_of[number])
        return f"{self._documents[document][0]}:{number - int(self._first[document])}"

    def _chunk_number(self, chunk_id: str) -> int | None:
        document, _, ordinal = chunk_id.rpartition(":")
        at = self._number.get(document)
        if at is None or not ordinal.isdigit():
            return None
        number = int(self._first[at]) + int(ordinal)
        return number if number < self._first[at + 1] else None

    def lookup(self, query: str, limit: int = 20) -> list[Found]:
        """Sections and documents whose title is, or nearly is, `query`; homonyms of several books all."""
        return [self._found(match) for match in self._titles.lookup(query, limit)]

    def _found(self, match: Match) -> Found:
        if match.entry < 0:
            return Found(self._documents[-1 - match.entry][0], None, match.title, (), match.kind, match.score)
        document, ordinal, title, path = self._sections[match.entry]
        return Found(self._documents[document][0], ordinal, title, path, match.kind, match.score)

    def complete(self, prefix: str, limit: int = 20) -> list[str]:
        """Titles for a half-typed one."""
        return self._titles.complete(prefix, limit)

    def search(
        self, query: str, dense: Sequence[tuple[str, float]] | None = None, options: Options | None = None
    ) -> Ranked:
        """The best passages for a question.

        `dense` holds (chunk id, cosine) of the nearest chunks by vectors, or None where there are none; the
        votes of a model that does not speak the question's or the document's language are dropped.
        """
        import numpy as np

        options = options or Options()
        query = query[:2000]
        language = detect_question(query, self.languages)
        none = Evidence(False, 0.0, 0.0, 0, False, 0.0, None)
        if not self.size or not query.strip():
            return Ranked((), False, language, none)
        allowed = self._allowed(options)
        weights, known_share, groups = self._query_terms(query, language)
        titles = [match for match in self._titles.lookup(query) if self._allows(match, options)]
        # A short name that no heading bears: its text stands beside where it is mentioned.
        nameless = not titles and not query.rstrip().endswith("?") and len(query.split()) <= _NAME_WORDS
        lexical = self._lexical(weights, options, options.neighbour_weight if nameless else 0.0) * allowed
        cosines = self._votes(dense, language, options, allowed)
        scores = self._fused(lexical, cosines, options)
        by: dict[int, str] = {}
        if options.hops and len(groups) > 2:
            bridged = self._bridges(query, scores, weights, options) * allowed
            strong = np.flatnonzero(bridged > 0)
            before = scores.copy()
            scores = scores + options.bridge_weight * bridged
            by.update((int(n), "bridge") for n in strong if before[n] <= 0)
        if not options.lookup:
            titles = []
        order = self._best(scores, max(options.k * 3, 30))
        if options.mmr_trade is not None:
            order = self._varied(order, scores, options)
        first = self._title_chunks(titles, scores)
        by.update((number, kind) for number, kind in first.items())
        ranked = list(dict.fromkeys([*first, *order]))[: options.k]
        top = float(scores[order[0]]) if order else 1.0
        hits = tuple(
            self._hit(n, 1.0 + top if n in first else float(scores[n]), by.get(n, "search")) for n in ranked
        )
        best = cosines[order[:5]] if cosines is not None and order else None
        coverage, together, mentions = self._coverage(order[:5], groups)
        evidence = Evidence(
            title=any(match.kind != "fuzzy" or match.score >= 0.9 for match in titles),
            coverage=coverage,
            together=together,
            mentions=mentions,
            asked=query.rstrip().endswith("?"),
            known=known_share,
            cosine=None if best is None else float(best.max()),
        )
        return Ranked(hits, confident(evidence, options.thresholds), language, evidence)

    def _hit(self, number: int, score: float, by: str) -> Hit:
        document, section, _, _ = self._sections[int(self._section_of[number])]
        return Hit(self.chunk_id(number), self._documents[document][0], section, score, by)

    def _allowed(self, options: Options) -> Floats:
        import numpy as np

        if options.documents is None:
            return np.ones(self.size, dtype=np.float32)
        wanted = np.array([one[0] in options.documents for one in self._documents], dtype=np.float32)
        return wanted[self._document_of]

    def _allows(self, match: Match, options: Options) -> bool:
        return options.documents is None or self._found(match).document_id in options.documents

    def _query_terms(
        self, query: str, language: str | None
    ) -> tuple[dict[int, float], float, list[tuple[float, list[int]]]]:
        """Weight of each known term; share of weight that is known; per word that asks something its terms."""
        import numpy as np

        idle = _idle(language, tuple(self.languages))

        unknown = float(np.log1p((self.size + 0.5) / 0.5))
        spellings = list(zip(*(terms(query, language) for language in self.languages), strict=True))
        groups: list[tuple[float, list[int]]] = []
        weights: dict[int, float] = {}
        for spelling in dict.fromkeys(spellings):
            found = [
                number
                for language, term in zip(self.languages, spelling, strict=True)
                if (number := self._vocabulary.get((language, term))) is not None
            ]
            frequency = sum(int(self._offsets[n + 1] - self._offsets[n]) for n in found)
            weight = float(np.log1p((self.size - frequency + 0.5) / (frequency + 0.5))) if found else unknown
            if not idle.intersection(spelling):
                groups.append((weight, found))
            weights.update(dict.fromkeys(found, weight))
        total = sum(weight for weight, _ in groups)
        known = sum(weight for weight, found in groups if found)
        return weights, known / total if total else 0.0, groups

    def _impact(self, options: Options) -> Floats:
        """BM25's saturation of every posting in its chunk.

        Robertson and Zaragoza (2009), the breadcrumb as a field whose counts weigh `head_weight`.
        """
        import numpy as np

        key = (options.k1, options.b, options.head_weight)
        if key not in self._impacts:
            counts = self._body + options.head_weight * self._head
            mean = float(self._lengths.mean()) or 1.0
            norm = options.k1 * (1 - options.b + options.b * self._lengths / mean)
            impact = counts * (options.k1 + 1) / (counts + norm[self._chunk])
            self._impacts = {key: impact.astype(np.float32)}
        return self._impacts[key]

    def _lexical(self, weights: dict[int, float], options: Options, neighbour_weight: float) -> Floats:
        import numpy as np

        impact = self._impact(options)
        scores = np.zeros(self.size, dtype=np.float32)
        for number, weight in weights.items():
            span = slice(int(self._offsets[number]), int(self._offsets[number + 1]))
            where = self._chunk[span]
            scores[where] += np.float32(weight) * impact[span]
        total = scores.copy()
        if neighbour_weight and self.size > 1:
            same = self._section_of[1:] == self._section_of[:-1]
            total[1:] += neighbour_weight * scores[:-1] * same
            total[:-1] += neighbour_weight * scores[1:] * same
        return total

    def _votes(
        self,
        dense: Sequence[tuple[str, float]] | None,
        language: str | None,
        options: Options,
        allowed: Floats,
    ) -> Floats | None:
        """Cosines by chunk (0 = not among the nearest), or None where no vote counts."""
        import numpy as np

        if not dense:
            return None
        made = np.zeros(self.size, dtype=np.float32)
        for chunk_id, cosine in dense:
            number = self._chunk_number(chunk_id)
            if number is None or not allowed[number]:
                continue
            if may_vote(
                options.model_languages, language, self._documents[int(self._document_of[number])][2]
            ):
                made[number] = cosine
        return made if made.any() else None

    def _fused(self, lexical: Floats, cosines: Floats | None, options: Options) -> Floats:
        import numpy as np

        top = float(lexical.max())
        scores = lexical / np.float32(top) if top > 0 else lexical
        if cosines is None:
            return scores
        voted = np.flatnonzero(cosines > 0)
        scores = scores.copy()
        scores[voted] += np.float32(options.dense_weight) * min_max(cosines[voted])
        return scores

    def _bridges(self, query: str, scores: Floats, weights: dict[int, float], options: Options) -> Floats:
        """A bonus (0..1) for what the question, or one of its best passages, calls by its title."""
        import numpy as np

        row, column, worth, targets, sizes = self._named
        bonus = np.zeros(self.size, dtype=np.float32)
        if not len(targets):
            return bonus
        present = np.zeros(len(self._vocabulary), dtype=bool)
        limit = float(np.log1p(self.size))
        sources = [(1.0, np.fromiter(weights, dtype=np.int32, count=len(weights)))]
        for number in self._best(scores, 3):
            span = slice(int(self._forward_offsets[number]), int(self._forward_offsets[number + 1]))
            sources.append((0.6, self._forward[span]))
        for strength, held in sources:
            present[:] = False
            present[held] = True
            named = np.bincount(row[present[column]], minlength=len(targets)) == sizes
            for at in np.flatnonzero(named & (worth >= 1.2 * limit)):
                value = strength * min(1.0, float(worth[at]) / (2 * limit))
                span = self._entry_chunks(int(targets[at]))
                if span.stop > span.start:
                    bonus[span.start] = max(bonus[span.start], value)
        return bonus

    def _entry_chunks(self, entry: int) -> slice:
        if entry < 0:
            return slice(int(self._first[-1 - entry]), int(self._first[-entry]))
        return slice(int(self._section_first[entry]), int(self._section_first[entry + 1]))

    def _title_chunks(self, titles: Sequence[Match], scores: Floats) -> dict[int, str]:
        """For each title looked up, where its text begins, and then how it goes on."""
        spans = [(self._entry_chunks(match.entry), match.kind) for match in titles]
        spans = [(span, kind) for span, kind in spans if span.stop > span.start]
        first = {span.start: str(kind) for span, kind in spans}
        if len(spans) <= 2:
            for span, kind in spans:
                first.update(
                    (number, str(kind)) for number in range(span.start, min(span.stop, span.start + 3))
                )
        return first

    def _best(self, scores: Floats, count: int) -> list[int]:
        import numpy as np

        count = min(count, len(scores))
        top = np.argpartition(-scores, count - 1)[:count]
        top = top[np.lexsort((top, -scores[top]))]
        return [int(number) for number in top if scores[number] > 0]

    def _coverage(
        self, numbers: Sequence[int], groups: Sequence[tuple[float, list[int]]]
    ) -> tuple[float, float, int]:
        """Of the question's weight, what one of these passages holds and what all do; the first's mentions.

        A passage's breadcrumb counts as its own words.
        """
        import numpy as np

        total = sum(weight for weight, _ in groups)
        if not total or not numbers:
            return 0.0, 0.0, 0
        held = np.zeros(len(numbers))
        mentions = np.zeros(len(numbers))
        together = 0.0
        for weight, found in groups:
            anywhere = False
            for term in found:
                low, high = int(self._offsets[term]), int(self._offsets[term + 1])
                places = low + np.searchsorted(self._chunk[low:high], numbers)
                places = np.minimum(places, high - 1)
                here = self._chunk[places] == numbers
                held += weight * here
                mentions += here * (self._body[places].astype(np.int64) + 2 * self._head[places])
                anywhere = anywhere or bool(here.any())
            together += weight * anywhere
        best = float(held.max())
        most = int(mentions[held >= 0.9 * best].max()) if best else 0
        return min(1.0, best / total), min(1.0, together / total), most

    def _varied(self, order: list[int], scores: Floats, options: Options) -> list[int]:
        """The order by maximal marginal relevance, likeness being the terms that two chunks share (Jaccard)."""
        held = {
            n: frozenset(
                self._forward[int(self._forward_offsets[n]) : int(self._forward_offsets[n + 1])].tolist()
            )
            for n in order
        }

        def alike(one: int, other: int) -> float:
            union = len(held[one] | held[other])
            return len(held[one] & held[other]) / union if union else 0.0

        relevance = min_max(scores[order]).tolist()
        trade = options.mmr_trade if options.mmr_trade is not None else 1.0
        return mmr(order, relevance, alike, limit=options.k, trade=trade)


@lru_cache(maxsize=32)
def _idle(language: str | None, languages: tuple[str, ...]) -> frozenset[str]:
    """The function words of the question's language (else of the shelf's), in every spelling they may take."""
    spoken = (language,) if language in FUNCTION_WORDS else languages
    words = " ".join(" ".join(FUNCTION_WORDS.get(one, ())) for one in spoken)
    return frozenset(term for one in languages for term in terms(words, one))


def same_title(one: str, other: str) -> bool:
    """Whether two titles differ in case, accents and punctuation alone."""
    return normal(one) == normal(other)
