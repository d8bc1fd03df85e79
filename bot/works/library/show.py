"""Shows one book: its details, its sections as a tree, and the first page of a PDF as a picture."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from bot.events import Attachment, Event, Notice, Picture, Stage, Text, UserError
from bot.markdown import harmless
from bot.readers.kinds import BUNDLE, suffix_of
from bot.readers.sandbox import Sandbox
from bot.retrieval.results import unread_parts
from bot.words import Words, words
from bot.work import Run
from bot.works.library.unread import unread_notices

if TYPE_CHECKING:
    from bot.retrieval.intake import Intake
    from bot.retrieval.library import Library
    from storage.document_rows import DocumentRow, HeadingRow
    from storage.passages import Passages

LISTED: Final = 40
"""The maximum number of headings in the message; the file has all of them."""
_KB: Final = 1_000


class BookPage:
    """The verb show."""

    def __init__(self, library: Library, intake: Intake, passages: Passages, max_bytes: int) -> None:
        self._library = library
        self._intake = intake
        self._passages = passages
        self._max_bytes = max_bytes
        self._sandbox = Sandbox(at_once=1, readers={".pdf": "bot.readers.pdf.first_page"})

    async def events(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shelf = request.options.get("shelf")
        row = await self._book(request.place.space, str(shelf) if shelf else None, request.text)
        headings = await self._passages.headings(row.space, row.id)
        pages = await self._passages.page_count(row.space, row.id)
        yield Stage("show", harmless(row.title))
        yield Text(_figures(row, pages, say) + "\n")
        lines = list(_tree(headings, say))
        shown = [
            line for line, heading in zip(lines, headings, strict=True) if heading.level <= _depth(headings)
        ]
        name = row.source.removesuffix(BUNDLE)
        for notice in unread_notices([(name, *part) for part in unread_parts(row.unread)], say):
            yield notice
        if shown:
            yield Text("\n" + "\n".join(shown[:LISTED]) + "\n")
        if len(lines) > min(len(shown), LISTED):
            yield Attachment("sections.md", "text/markdown", "\n".join(lines).encode())
        if suffix_of(row.source) == ".pdf":
            try:
                yield await self._first_page(row, say)
            except UserError as error:
                yield Notice(say(error.key, **{**error.values, "name": row.source}))

    async def _book(self, space: str, shelf: str | None, name: str) -> DocumentRow:
        books = [row for row in await self._library.find(space, shelf, name) if not row.kind]
        if not books and shelf:
            raise UserError("library.no_such_book", name=name, shelf=shelf)
        if not books:
            raise UserError("library.no_book", name=name)
        if len(books) > 1:
            names = ", ".join(f"{book.source} ({book.alias})" for book in books)
            raise UserError("library.which_book", name=name, names=names)
        return books[0]

    async def _first_page(self, row: DocumentRow, say: Words) -> Picture:
        original = self._intake.original(row.id, row.source)
        data = await self._intake.bytes_of(original, self._max_bytes)
        document = await self._sandbox.read(row.source, data)
        picture = await asyncio.to_thread(base64.b64decode, document.text)
        return Picture("first-page.png", picture, say("library.first_page", name=row.source))


def _figures(row: DocumentRow, pages: int, say: Words) -> str:
    """One line each for the file, its contents, and its search."""
    counts = {"sections": row.section_count, "passages": row.chunk_count}
    vectors = 100 if row.state == "ready" or not row.chunk_count else 100 * row.embedded // row.chunk_count
    key = "ready" if vectors == 100 else "vectors_at" if vectors else "by_words"
    state = say(f"library.{key}", percent=vectors)
    if row.other_embedder and row.chunk_count:
        percent = 100 * row.other_embedded // row.chunk_count
        state += " · " + say("library.other_vectors_at", percent=percent)
    contents = say("library.book_holds", **counts)
    if pages:
        contents = f"{say('library.book_pages', n=pages)}, {contents}"
    kilobytes = f"{max(1, round(row.size / _KB)):,}"
    return "\n".join((
        f"- {say('library.book_file', source=harmless(row.source), code=row.alias, kb=kilobytes, shelf=row.shelf)}",
        f"- {contents}",
        f"- {say('library.book_language', language=row.language, date=f'{row.created_at:%Y-%m-%d}')}",
        f"- {say('library.book_search', state=state)}",
    ))  # fmt: skip


def _depth(headings: Sequence[HeadingRow]) -> int:
    """The deepest level for which all headings fit into the message, but at least the highest level."""
    levels = sorted({heading.level for heading in headings})
    fits = [level for level in levels if sum(heading.level <= level for heading in headings) <= LISTED]
    return max(fits, default=levels[0] if levels else 0)


def _tree(headings: Sequence[HeadingRow], say: Words) -> Iterator[str]:
    top = min((heading.level for heading in headings), default=1)
    for heading in headings:
        page = f" · {say('library.on_page', page=heading.page)}" if heading.page else ""
        yield f"{'  ' * (heading.level - top)}- {harmless(' '.join(heading.title.split()))}{page}"
