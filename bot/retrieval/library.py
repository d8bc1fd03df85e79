"""The library as the works use it: search, sections by name, books, completion.

Combines the shelf in memory, the vectors and the database rows. `intake` writes; this module only reads.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from operator import attrgetter
from typing import TYPE_CHECKING

from bot import tracing
from bot.events import TransientError, UserError
from bot.readers.document import Section
from bot.readers.kinds import BUNDLE
from bot.retrieval.chunk import SEPARATOR, body_start
from bot.retrieval.editions import SEE_ALSO, Editions, OpenShelf, Pins
from bot.retrieval.expansion import NAME_CHARS, ExpandedPassage, Rows, expanded
from bot.retrieval.language import detect_question, may_vote
from bot.retrieval.lexical import fold
from bot.retrieval.mention import reread
from bot.retrieval.ranking import Hit, Options, Part, Ranked, varied
from bot.retrieval.results import Book, Passage, SearchResult, SectionText, unread_parts

if TYPE_CHECKING:
    from bot.config import RetrievalConfig
    from bot.retrieval.attached import Attached
    from bot.retrieval.crossing import Crossing
    from bot.retrieval.embedding import Embedding
    from bot.retrieval.nearest import Nearest
    from bot.retrieval.rerank import Reranking
    from storage.document_rows import DocumentRow, PassageRow
    from storage.documents import Documents
    from storage.passages import Passages
    from storage.shelves import Shelves

NEAREST = 3
"""The number of headings that are offered, and of passages whose references are followed."""

VARIETY = 3
"""Candidates per returned passage when variety is wanted."""

COMPLETIONS = 25
"""The most suggestions of one autocomplete; Discord's limit."""


class Library:
    """Reads what `Intake` wrote, one shelf of one space at a time."""

    def __init__(
        self,
        settings: RetrievalConfig,
        documents: Documents,
        passages: Passages,
        shelves: Shelves,
        nearest: Nearest,
        embedding: Embedding,
        reranking: Reranking,
        crossing: Crossing,
    ) -> None:
        self._settings = settings
        self._documents = documents
        self._passages: Rows = passages
        self._shelves = shelves
        self._nearest: Nearest | Attached = nearest
        self._embedding = embedding
        self._reranking = reranking
        self._crossing: Crossing | None = crossing
        self._editions: Editions | Attached = Editions(shelves)
        self._pins: Pins | None = None

    def pinned(self) -> Library:
        """A copy in which each shelf stays as first read, so that all searches of one request use the same edition."""
        pinned = copy.copy(self)
        pinned._pins = {}
        return pinned

    def on_files(self, attached: Attached) -> Library:
        """A copy whose `search` and `languages` use the files of one question instead of a shelf."""
        copied = copy.copy(self)
        copied._editions = copied._passages = copied._nearest = attached
        copied._crossing = None
        return copied

    async def shelf_for(self, space: str, shelf: str | None, default: str) -> str:
        """The shelf that a question goes to: the named one, else `default`, else the only existing one.

        Raises UserError if there is none, or if several exist and none is named.
        """
        names = list(await self._shelves.all(space))
        if not names:
            raise TransientError("rules.no_books")
        if shelf is not None:
            if shelf in names:
                return shelf
            raise UserError("rules.no_shelf", shelf=shelf, shelves=", ".join(names))
        if default in names:
            return default
        if len(names) == 1:
            return names[0]
        raise UserError("rules.which_shelf", shelves=", ".join(names), first=names[0])

    async def shelves(self, space: str) -> list[str]:
        """The names of the shelves that hold books."""
        return list(await self._shelves.all(space))

    async def languages(self, space: str, shelf: str) -> list[str]:
        """The languages of a shelf's books, as ISO 639-1."""
        return (await self._editions.open(space, shelf, self._pins)).shelf.languages

    @tracing.retrieval
    async def search(
        self,
        space: str,
        shelf: str,
        question: str,
        *,
        k: int | None = None,
        lookup: bool = True,
        rerank: bool = True,
        mmr_lambda: float | None = None,
        within: Sequence[Part] | None = None,
    ) -> SearchResult:
        """The best passages for a question: `k`, or the configured number.

        `lookup` False skips title lookup, `within` limits the search to parts of documents, `rerank` False skips the
        reranker, and `mmr_lambda` overrides the configured value. Without readable vectors the search is lexical only,
        with a notice.
        """
        limit = k or self._settings.k
        trade = self._settings.mmr_lambda if mmr_lambda is None else mmr_lambda
        second_look = rerank and self._settings.rerank != "none"
        candidates = limit * VARIETY if trade < 1 else limit
        if second_look:  # after the passages found by titles
            candidates = max(candidates, limit + self._settings.rerank_top)
        for newest in (False, True):
            opened = await self._editions.open(space, shelf, self._pins, newest=newest)
            notices: list[str] = []
            ranked, options = await self._ranked(
                space, shelf, opened, question, candidates, notices, lookup=lookup, within=within
            )
            ids = list(map(attrgetter("chunk_id"), ranked.hits))
            rows = await self._passages.get(space, dict.fromkeys([*ids, *ranked.weighed]))
            hits = list(compress(ranked.hits, map(rows.__contains__, ids)))
            if len(hits) == len(ids):
                break  # otherwise a book was removed during the search
        if ranked.weighed:
            chunks = [rows[id].chunk for id in ranked.weighed if id in rows]
            mentions = [(c.breadcrumb, c.text, opened.shelf.language_of(c.document_id) or "") for c in chunks]
            ranked = await asyncio.to_thread(reread, ranked, mentions, options)
        if second_look:
            texts = {
                name: f"{SEPARATOR.join(row.path) or row.title}\n{row.chunk.text}"
                for name, row in rows.items()
            }
            with_text = replace(ranked, hits=tuple(hits))
            hits = await self._reranking.reordered(question, with_text, opened.shelf, texts, notices)
        if trade < 1:
            hits = await asyncio.to_thread(varied, hits, opened.shelf.terms_of, limit, trade)
        hits = hits[:limit]
        width = max(self._settings.parent_chars, NAME_CHARS if ranked.nameless else 0)
        passages = await self._expanded(space, hits, rows, width)
        return SearchResult(
            passages=passages,
            confident=ranked.confident and bool(passages),
            titled=ranked.evidence.title,
            nearest=list(dict.fromkeys(map(attrgetter("section_title"), passages)))[:NEAREST],
            see_also=opened.see_also(map(attrgetter("document_id", "section"), hits[:NEAREST])),
            notices=notices,
            doubtful=ranked.doubtful and bool(passages),
        )

    async def all_passages(self, space: str, attached: Attached, most: int) -> list[Passage]:
        """All passages of a question's files in order, if they have at most `most` characters together; otherwise none.

        For a library made by `on_files`.
        """
        rows = {row.chunk.id: row for row in await attached.all_passages(space, most)}
        hits = [Hit(id, row.chunk.document_id, row.chunk.section, 0.0, "search") for id, row in rows.items()]
        return await self._expanded(space, hits, rows, 0)

    async def _ranked(
        self,
        space: str,
        shelf: str,
        opened: OpenShelf,
        question: str,
        k: int,
        notices: list[str],
        *,
        lookup: bool,
        within: Sequence[Part] | None,
    ) -> tuple[Ranked, Options]:
        embedder = None
        if self._embedding.configured:
            embedder = await self._embedding.get(opened.embedder)
            if embedder is None and opened.embedder not in (None, self._embedding.name):
                notices.append("rules.vectors_other")
        languages = opened.shelf.languages
        language = await asyncio.to_thread(detect_question, question, languages)
        dense, second_set = None, None
        inside = frozenset(document for document, _, _ in within) if within else frozenset()
        if embedder is not None and any(
            may_vote(embedder.languages, language, book_language) for book_language in languages
        ):
            dense = await self._nearest.chunks(space, shelf, opened, question, embedder, notices, inside)
        elif embedder is not None and self._crossing is not None:
            second_set = await self._crossing.vectors_for(space, shelf, language, languages)
        if second_set is not None and second_set.embedder is not None:
            embedder = second_set.embedder
            if document_ids := second_set.documents & inside if inside else second_set.documents:
                dense = await self._nearest.chunks(
                    space, shelf, opened, question, embedder, notices, document_ids
                )
        if language is not None and language not in languages and not dense:
            pending = second_set is not None and second_set.pending
            comparable = self._embedding.other_languages
            unknown = comparable and not (language in comparable and comparable.intersection(languages))
            reason = "_soon" if pending else "_unknown" if unknown else ""
            notices.append(f"rules.other_language{reason}")
        options = Options(
            k=k,
            lookup=lookup,
            within=None if within is None else tuple(within),
            model_languages=embedder.languages if embedder is not None else None,
            likeness=embedder.likeness if embedder is not None else None,
        )
        ranked = await asyncio.to_thread(opened.shelf.search, question, dense, options, language=language)
        return ranked, options

    async def _expanded(
        self, space: str, hits: Sequence[Hit], rows: Mapping[str, PassageRow], width: int
    ) -> list[Passage]:
        """The hits with as much surrounding text as `width` allows; passages that now touch become one."""
        scores = dict(map(attrgetter("chunk_id", "score"), hits))
        passage_rows = [rows[id] for id in scores]
        if width <= self._settings.child_chars:
            stretches = [
                ExpandedPassage(row, row.chunk.text, row.chunk.start, row.chunk.end) for row in passage_rows
            ]
        else:
            stretches = await expanded(self._passages, space, passage_rows, width)
        spans = list[tuple[str, int, int]]()
        for stretch in stretches:
            if stretch.row.page is not None:
                spans.append((stretch.row.chunk.document_id, stretch.start, stretch.end))
        page_turns = await self._passages.turns(space, spans) if spans else {}
        passages: list[Passage] = []
        for stretch in stretches:
            row, chunk = stretch.row, stretch.row.chunk
            # A table's repeated heading may precede the document's own characters.
            shift = len(stretch.text) - stretch.end
            turns, pages_before = list[tuple[int, int]](), 0
            for start, page in page_turns.get(chunk.document_id, ()):
                if stretch.start < start < stretch.end:
                    turns.append((start + shift, page))
                    pages_before += start <= chunk.start
            passages.append(
                Passage(
                    chunk=chunk.id,
                    document=chunk.document_id,
                    source=row.source.removesuffix(BUNDLE),
                    title=row.title,
                    heading=SEPARATOR.join(row.path) or row.title,
                    # The page of its chunk is known, but it may have been expanded over earlier pages.
                    page=None if row.page is None else row.page - pages_before,
                    text=stretch.text,
                    score=scores[chunk.id],
                    turns=tuple(turns),
                    section=chunk.section,
                    unread=row.unread,
                )
            )
        return passages

    async def sections_named(self, space: str, shelf: str | None, name: str) -> list[SectionText]:
        """Sections named `name` (exactly, by an alias, or nearly), including the homonyms of several books."""
        sections: list[SectionText] = []
        for shelf_name in [shelf] if shelf else list(await self._shelves.all(space)):
            opened = await self._editions.open(space, shelf_name, self._pins)
            for match in await asyncio.to_thread(opened.shelf.lookup, name, 8):
                text = await self._section(space, opened, match.document_id, match.section or 0)
                if text is not None:
                    sections.append(text)
        return sections

    async def percent(self, space: str, shelf: str) -> int:
        """How many percent of a shelf's passages can be found by meaning; 100 if no search by meaning is set up."""
        if not self._embedding.configured:
            return 100
        books = await self.books(space, shelf)
        passages = sum(book.passages for book in books)
        return sum(book.passages * book.percent for book in books) // passages if passages else 100

    async def says(self, space: str, shelf: str, name: str) -> bool:
        """Whether any book of the shelf says all words of a name."""
        opened = await self._editions.open(space, shelf, self._pins)
        return opened.shelf.says(name)

    async def section_of(self, space: str, chunk: str) -> SectionText | None:
        """The whole section of a passage; None if its book was removed."""
        row = (await self._passages.get(space, [chunk])).get(chunk)
        if row is None:
            return None
        opened = await self._editions.open(space, row.shelf, self._pins)
        return await self._section(space, opened, row.chunk.document_id, row.chunk.section)

    async def _section(
        self, space: str, opened: OpenShelf, document: str, ordinal: int
    ) -> SectionText | None:
        row = await self._passages.section(space, document, ordinal)
        if row is None:
            return None
        level = len(row.path) if row.title else 0
        start = body_start(row.text, Section(ordinal, level, row.title, row.path, 0, len(row.text)))
        see = [*opened.see_also([(document, ordinal)]), *opened.children(document, row.path)]
        heading = SEPARATOR.join(row.path) or row.document
        source = row.source.removesuffix(BUNDLE)
        return SectionText(source, heading, row.page, row.text[start:].strip(), see[:SEE_ALSO])

    async def complete(self, space: str, kind: str, prefix: str, shelf: str | None = None) -> list[str]:
        """Names that begin with `prefix`, ignoring accents and case; kind "section", "book" or "shelf"."""
        if kind == "section":
            names = [shelf] if shelf else list(await self._shelves.all(space))
            titles: list[str] = []
            for name in names:
                titles += (await self._editions.open(space, name, self._pins)).shelf.complete(
                    prefix, COMPLETIONS
                )
            return list(dict.fromkeys(titles))[:COMPLETIONS]
        if kind == "book":
            names_there = [row.source for row in await self._documents.list(space, shelf)]
        else:
            names_there = list(await self._shelves.all(space))
        folded_prefix = fold(prefix)
        return [name for name in names_there if fold(name).startswith(folded_prefix)][:COMPLETIONS]

    async def books(self, space: str, shelf: str | None = None) -> list[Book]:
        """The books of the library, by shelf and title. Raises UserError for an unknown shelf."""
        return [_book(row) for row in await self.rows(space, shelf)]

    async def rows(
        self, space: str, shelf: str | None = None, *, every_kind: bool = False
    ) -> Sequence[DocumentRow]:
        """The rows of the books; with `every_kind` (for a reindex) also of other documents."""
        rows_read = await self._documents.list(space, shelf, every_kind=every_kind)
        if not rows_read and shelf and (names := list(await self._shelves.all(space))):
            raise UserError("rules.no_shelf", shelf=shelf, shelves=", ".join(names))
        return rows_read

    async def find(self, space: str, shelf: str | None, name: str) -> Sequence[DocumentRow]:
        """The documents that a person may mean by a file name, a title or the end of an id."""
        return await self._documents.find(space, shelf, name)


def _book(row: DocumentRow) -> Book:
    percent = 100 if row.state == "ready" or not row.chunk_count else 100 * row.embedded // row.chunk_count
    return Book(
        row.id,
        row.title,
        row.source,
        row.shelf,
        row.language,
        row.section_count,
        row.chunk_count,
        min(percent, 100),
        None if row.other_embedder is None else 100 * row.other_embedded // max(1, row.chunk_count),
        tuple(unread_parts(row.unread)),
    )
