"""One shelf of one space in memory: finds passages by title, by words and by given likeness.

Holds numbers and titles but no passage's text. Independent of storage and models: the vectors' votes come from the
caller.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import add, attrgetter, itemgetter
from typing import TYPE_CHECKING

from bot.retrieval.chunk import SEPARATOR
from bot.retrieval.confidence import Evidence, margin, verdict
from bot.retrieval.contents import Contents, ShelvedDocument
from bot.retrieval.language import detect_question, may_vote
from bot.retrieval.lexical import terms
from bot.retrieval.postings import Postings
from bot.retrieval.question import QuestionTerms, heading_terms, question_terms
from bot.retrieval.ranking import (
    Hit,
    Options,
    Ranked,
    agreement,
    fused,
    highest,
    lead,
    rescored_by_neighbours,
)
from bot.retrieval.titles import Bridges, Match, MatchKind, Titles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int32]

_WEIGHED = 5  # best passages used as evidence
_COMPANY = 20  # this many of the best passages for a name that no heading has
_NEAR = 0.92  # this close to a title: one slip in seven letters; "Augur" is not "Augury"
_BEARERS = 3  # the most sections of one book that may have a name
_SOURCES = 3  # how many of the best passages may name others by their titles
_BEHIND = 0.9  # of its source's score is the most that a title's text gets for being named
_HOLLOW = 0.3  # the factor for words in a passage that only repeats its headings
_ROW_WORDS = 2  # a row that says this many words of a question, and all of them, is the one asked for
_TOGETHER = 0.35  # how far below the bar passages may be and still answer together
_ROW_SHARE = 2 / 3  # of what each word weighs, as if said twice: a row is too short to repeat itself
_NOT_DETECTED = "?"  # None means a language that cannot be detected


@dataclass(frozen=True, slots=True)
class TitleMatch:
    """The match of a title: its document and section (None if it is the document's own title)."""

    document_id: str
    section: int | None
    title: str
    path: tuple[str, ...]
    kind: MatchKind
    score: float


class Shelf:
    """Lexical statistics of the shelf's own segments, titles and languages; immutable once made."""

    def __init__(self, documents: Sequence[ShelvedDocument]) -> None:
        import numpy as np

        self._contents = contents = Contents(documents)
        self._section_of, self._language_of = contents.section_of, contents.language_of
        self.languages = sorted(set(contents.languages.values()))
        self.size = contents.size
        self._titles = Titles(contents.titles)
        self._postings = Postings(list(map(attrgetter("language", "segment"), documents)))
        # Each title leads to the first chunk under it, if that says more than its headings.
        with_words = contents.starts < contents.ends
        with_words[with_words] = ~self._postings.hollow[contents.starts[with_words]]
        self._bridges = Bridges(
            contents.titles, np.where(with_words, contents.starts, -1).tolist(), self._postings
        )
        # A heading's name alone answers no question, even if the question names it.
        self._hollow_factor = np.where(self._postings.hollow, np.float32(_HOLLOW), np.float32(1))

    def terms_of(self, chunk_id: str) -> frozenset[int]:
        """The numbers of a chunk's terms; none for a chunk of another shelf."""
        number = self._contents.chunk_number(chunk_id)
        return frozenset() if number is None else frozenset(self._postings.terms_of(number).tolist())

    def says(self, name: str) -> bool:
        """Whether the shelf contains all words of a name, in one of its languages."""
        numbers = self._postings.numbers
        return any(
            all((language, term) in numbers for term in terms(name, language)) for language in self.languages
        )

    def language_of(self, document_id: str) -> str | None:
        """The language of a document on this shelf; None for any other document."""
        return self._contents.languages.get(document_id)

    def lookup(self, query: str, limit: int = 20) -> list[TitleMatch]:
        """Sections and documents whose title is, or nearly is, `query`, including the homonyms of several books.

        A breadcrumb ("Spells › Fireball") selects the homonym with that path.
        """
        *outer, name = (part.strip() for part in query.split(SEPARATOR.strip()))
        matches = [
            self._title_match(match)
            for match in self._titles.lookup(name, len(self._contents.sections) if outer else limit)
        ]
        path = (*outer, name)
        exact = [match for match in matches if match.path[-len(path) :] == path] if outer else []
        return (exact or matches)[:limit]

    def _title_match(self, match: Match) -> TitleMatch:
        if match.entry < 0:
            return TitleMatch(
                self._contents.documents[-1 - match.entry][0], None, match.title, (), match.kind, match.score
            )
        document, ordinal, title, path = self._contents.sections[match.entry]
        return TitleMatch(
            self._contents.documents[document][0], ordinal, title, path, match.kind, match.score
        )

    def complete(self, prefix: str, limit: int = 20) -> list[str]:
        """Titles that begin with a prefix."""
        return self._titles.complete(prefix, limit)

    def search(
        self,
        query: str,
        dense: Sequence[tuple[str, float]] | None = None,
        options: Options | None = None,
        *,
        language: str | None = _NOT_DETECTED,
    ) -> Ranked:
        """The best passages for a question.

        `dense` holds (chunk id, cosine) of the nearest chunks by vectors, or None if there are none; votes of a model
        that does not know the question's or the document's language are dropped. `language` is the result of
        `detect_question`, if the caller already has it.
        """
        import numpy as np

        options = options or Options()
        query = query[:2000]
        if language == _NOT_DETECTED:
            language = detect_question(query, self.languages)
        if not self.size or not query.strip():
            return Ranked((), False, language, Evidence())
        question = question_terms(query, language, self.languages, self._postings)
        titles = self._titles.lookup(query)
        searched = None if options.within is None else self._contents.mask(options.within)
        if searched is not None:
            spans = [(match, self._contents.text_under(match.entry)) for match in titles]
            titles = [match for match, span in spans if searched[span].any()]
        # A short name that no heading has: its text is near its mentions.
        neighbours = options.neighbour_weight if question.name and not titles else 0.0
        row_chunks, rows = np.zeros(0, np.int32), 0
        asks_row = not (question.foreign or question.name) and len(question.words) >= _ROW_WORDS
        if asks_row and self._postings.has_rows:
            _, spelt, columns = zip(*question.words, strict=True)
            row_chunks, rows = self._postings.chunks_by_rows(list(map(add, spelt, columns)))
        if searched is not None:
            row_chunks = row_chunks[searched[row_chunks]]
        lexical, cosines, scores, followed = self._score(
            question, dense, language, options, neighbours, searched, row_chunks, rows
        )
        if not options.lookup:
            titles = []
        order = highest(scores, max(options.k * 3, 30))
        best = order[:_WEIGHED]
        if neighbours:
            scores, order = self._rescore(scores, order, neighbours)
        first = self._contents.title_chunks(titles, options.k) if titles else {}
        if searched is not None:
            first = {number: kind for number, kind in first.items() if searched[number]}
        ranked = list(dict.fromkeys([*first, *order]))[: options.k]
        falling = scores[ranked].astype(np.float64)
        if first:
            falling[np.isin(ranked, list(first))] = 1.0 + (float(scores[order[0]]) if order else 1.0)
            ranked = self._contents.in_order(ranked, first)
        hits = []
        for number, score in zip(ranked, sorted(falling.tolist(), reverse=True), strict=True):
            document, section, _, _ = self._contents.sections[int(self._section_of[number])]
            id = self._contents.documents[document][0]
            by = first.get(number) or ("bridge" if number in followed else "search")
            hits.append(Hit(self._contents.chunk_id(number), id, section, score, by))
        mentioning = best if question.asked else []
        if mentioning and "(" not in question.asked:  # the words in parentheses need not be said
            mentioning = self._postings.saying_all([word.terms for word in question.words], mentioning)
        row = rows if set(best).intersection(row_chunks.tolist()) else 0
        among = self.size if searched is None else int(searched.sum())
        best_margin, evidence = self._judge(
            question, titles, language, best, lexical, cosines, options, row, among
        )
        confident, doubtful = verdict(best_margin, evidence)
        return Ranked(
            tuple(hits),
            confident,
            language,
            evidence,
            nameless=question.name and not first,
            doubtful=doubtful,
            asked=question.asked,
            weighed=tuple(map(self._contents.chunk_id, mentioning)),
        )

    def _score(
        self,
        question: QuestionTerms,
        dense: Sequence[tuple[str, float]] | None,
        language: str | None,
        options: Options,
        neighbours: float,
        searched: NDArray[np.bool_] | None,
        row_chunks: Ints,
        rows: int,
    ) -> tuple[Floats, Floats | None, Floats, set[int]]:
        """Every chunk's lexical score, cosine and combined score, and the chunks whose titles other chunks contain.

        `neighbours` is the weight of the previous and next chunk in the section. Only `searched` chunks have a score.
        """
        lexical = self._postings.bm25(
            question.weights,
            k1=options.k1,
            b=options.b,
            # A heading that has only a part of the name belongs to another thing.
            head_weight=options.head_of_others if neighbours else options.head_weight,
            rows=not neighbours,
        )
        if neighbours and self.size > 1:
            unmixed = lexical.copy()
            same_section = self._section_of[1:] == self._section_of[:-1]
            lexical[1:] += neighbours * unmixed[:-1] * same_section
            lexical[:-1] += neighbours * unmixed[1:] * same_section
        if not question.name:
            lexical *= self._hollow_factor
        cosines = self._votes(dense, language, options) if dense else None
        if searched is not None:
            lexical = lexical * searched
            cosines = None if cosines is None else cosines * searched
        scores = fused(lexical, cosines, options.dense_weight)
        if len(row_chunks):
            import numpy as np

            # The vector of a whole table says nothing about one row, so it must not count against it. Nor must other
            # passages' common words count if few rows have them together.
            most = float(lexical.max()) or 1.0
            together = np.minimum(1.0, self._postings.weight(rows) / most)
            row_scores = np.maximum(lexical[row_chunks] / most, np.float32(together))
            scores[row_chunks] = np.maximum(scores[row_chunks], row_scores + np.float32(options.dense_weight))
        followed = set[int]()
        if options.hops and len(question.words) > 2:
            scores, followed = self._follow_titles(scores, question, options.bridge_weight)
            if searched is not None:
                scores = scores * searched
        return lexical, cosines, scores, followed

    def _judge(
        self,
        question: QuestionTerms,
        titles: Sequence[Match],
        language: str | None,
        best: list[int],
        lexical: Floats,
        cosines: Floats | None,
        options: Options,
        rows: int,
        among: int,
    ) -> tuple[float, Evidence]:
        """The margin of the best passages, found among `among` chunks, and the evidence that decided.

        Passages in other languages than the question's are weighed separately, by the words that look like its own.
        """
        bearers: Counter[tuple[int, str]] = Counter()
        for match in titles:
            document = -1 - match.entry if match.entry < 0 else self._contents.sections[match.entry][0]
            spoken = self._contents.documents[document][1]
            # "Introduction" is no specific title; nor is one that many sections have, or that is only a little similar.
            is_close = match.kind != "fuzzy" or match.score >= _NEAR
            if is_close and set(terms(match.title, spoken)).difference(heading_terms(spoken)):
                bearers[document, match.title.casefold()] += 1
        title = bool(bearers) and min(bearers.values()) <= _BEARERS
        evidence = Evidence(title=title, size=self.size, name=question.name, apart=question.apart)
        if cosines is not None:
            together = agreement(lexical, cosines, options.dense_weight)
            evidence = replace(evidence, lead=lead(cosines, among), agreement=together)
        unsaid = False
        if question.asked:
            unsaid = not self._postings.saying_all([word.terms for word in question.words], best)
        at_home = replace(evidence, name=bool(question.asked), unsaid=unsaid)
        readings = [] if question.foreign else [(at_home, question.words, best, cosines)]
        if (other_reading := question.other_languages) is not None:
            strange = [number for number in best if self._language_of[number] != language]
            if strange or question.foreign:
                top = max((float(lexical[number]) for number in strange), default=0.0)
                alike = top / other_reading.total if other_reading.total else None
                foreign = replace(evidence, foreign=True, match=alike)
                strange_cosines = cosines if cosines is None or question.foreign else cosines[strange]
                readings.append((foreign, other_reading.words, strange, strange_cosines))
        judged: list[tuple[float, Evidence]] = []
        if rows:
            worth = self._postings.weight(rows) / math.log1p(self.size)
            row = replace(evidence, share=_ROW_SHARE, worth=_ROW_SHARE * worth, words=len(question.words))
            judged.append((margin(row, options.likeness), row))
        for evidence, words, passages, nearness in readings:
            share, worth, at = self._postings.coverage(words, passages)
            likeness = None
            if nearness is not None and (
                at < 0 or may_vote(options.model_languages, None, self._language_of[at])
            ):
                likeness = float(nearness.max())
            weighed = replace(evidence, share=share, worth=worth, words=len(words), likeness=likeness)
            judged.append((margin(weighed, options.likeness), weighed))
        best_margin, evidence = max(judged, key=itemgetter(0))
        in_hops = options.hops and not question.asked and len(question.words) > _ROW_WORDS
        if in_hops and not evidence.foreign and -_TOGETHER <= best_margin < 0:
            joined = self._join_evidence(question, best, evidence)
            return max(best_margin, margin(joined, options.likeness)), joined
        return best_margin, evidence

    def _join_evidence(self, question: QuestionTerms, best: Sequence[int], evidence: Evidence) -> Evidence:
        """The evidence if passages that name each other's headings answer together."""
        import numpy as np

        share, worth, _ = self._postings.coverage(question.words, best, self._links(best))
        named = self._bridges.named(np.fromiter(question.weights, np.int32, len(question.weights)))
        headed = any(place in best for place, _ in named)
        return replace(evidence, share=share, worth=worth, headed=headed)

    def _links(self, best: Sequence[int]) -> list[list[int]]:
        """For each of the best passages, the places of those among them that answer together with it: it names their
        heading, or they name its heading.
        """
        named = [
            {place for place, _ in self._bridges.named(self._postings.terms_of(number))} for number in best
        ]
        return [
            [
                at
                for at, other in enumerate(best)
                if other == number
                or (
                    self._section_of[other] != self._section_of[number]
                    and (other in titles or number in named[at])
                )
            ]
            for number, titles in zip(best, named, strict=True)
        ]

    def _votes(
        self,
        dense: Sequence[tuple[str, float]],
        language: str | None,
        options: Options,
    ) -> Floats | None:
        """Cosines by chunk (0 = not among the nearest), or None if no vote counts."""
        import numpy as np

        votes = np.zeros(self.size, dtype=np.float32)
        for chunk_id, cosine in dense:
            number = self._contents.chunk_number(chunk_id)
            if number is not None and may_vote(options.model_languages, language, self._language_of[number]):
                votes[number] = cosine
        return votes if votes.any() else None

    def _rescore(self, scores: Floats, order: list[int], weight: float) -> tuple[Floats, list[int]]:
        """The best passages for a name, scored again by their neighbours."""
        best, others = order[:_COMPANY], order[_COMPANY:]
        rescored = scores.copy()
        places = [(int(self._section_of[n]), n) for n in best]
        rescored[best], order_again = rescored_by_neighbours(scores[best], places, weight)
        return rescored, [best[at] for at in order_again] + others

    def _follow_titles(
        self, scores: Floats, question: QuestionTerms, weight: float
    ) -> tuple[Floats, set[int]]:
        """Scores with a bonus of at most `weight` for chunks whose title is named by the question or by one of its best
        passages.

        Also returns the chunks that another passage named but the question did not.
        """
        import numpy as np

        words = np.fromiter(question.weights, dtype=np.int32, count=len(question.weights))
        named_by_question = np.zeros(self.size, dtype=np.float32)
        for place, worth in self._bridges.named(words):
            named_by_question[place] = max(named_by_question[place], worth)
        scores = scores + weight * named_by_question
        best = highest(scores, _SOURCES)
        raised = scores.copy()
        followed: set[int] = set()
        for source in best:
            # A title named by the best passage counts most; a passage with half the score counts a quarter.
            strength = weight * (float(scores[source]) / float(scores[best[0]])) ** 2
            for place, worth in self._bridges.named(self._postings.terms_of(source)):
                # The question names it, or it is the passage's own heading.
                if named_by_question[place] or self._section_of[source] == self._section_of[place]:
                    continue
                followed.add(place)
                # It ranks below the passage that names it.
                most = max(float(scores[place]), _BEHIND * float(scores[source]))
                raised[place] = max(float(raised[place]), min(most, float(scores[place]) + strength * worth))
        return raised, followed
