"""The library's verbs: add, list, show, remove, reindex, jobs, cancel. Jobs are durable runs in small steps.

Words first, vectors afterwards: new books can be found by their words within seconds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from bot.events import Event, Failed, Request, Stage, Status, Text, UserError
from bot.readers.kinds import SUFFIXES
from bot.retrieval.intake import Item
from bot.retrieval.results import Book, recognized
from bot.verb import DEFAULT_SHELF
from bot.words import words
from bot.work import Run
from bot.works.library.files import files_of, left_out, named_paths
from bot.works.library.intake_job import IntakeJob
from bot.works.rules.work import book_table

if TYPE_CHECKING:
    from bot.incoming import Incoming
    from bot.retrieval.intake import Intake, Shape
    from bot.retrieval.library import Library
    from bot.works.library.jobs import JobBoard
    from bot.works.library.show import BookPage
    from storage.jobs import Jobs


RECOGNIZER: Final = "rapidocr"
"""The package of the extra `ocr`."""


@dataclass(frozen=True, slots=True)
class LibraryWork:
    """The work. `_shapes` are those of documents other than books, by kind.

    `_why_none` returns the key of the sentence for a space without books.
    """

    _library: Library
    _intake: Intake
    _jobs: Jobs
    _incoming: Incoming
    _board: JobBoard
    _max_bytes: int
    _shapes: Mapping[str, Shape]
    _why_none: Callable[[Request], Awaitable[str]]
    _book_page: BookPage

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "add": self._add,
            "list": self._list,
            "show": self._book_page.events,
            "remove": self._remove,
            "reindex": self._reindex,
            "jobs": self._board.show,
            "cancel": self._board.cancel,
        }
        return verbs[run.request.verb](run)

    async def _add(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shelf = _shelf(request.options.get("shelf"))
        paths = named_paths(request)
        if not paths and not request.files:
            raise UserError("library.no_files", kinds=", ".join(SUFFIXES))
        replace, recognize = bool(request.options.get("replace")), bool(request.options.get("ocr"))
        if recognize and find_spec(RECOGNIZER) is None:
            raise UserError("library.no_ocr", package=RECOGNIZER)
        if request.files:
            yield Status(say("library.fetching"))
        files, refused = await files_of(run, self._incoming, paths, self._max_bytes)
        yield Stage("job", say("library.adding", n=len(files) + len(refused), shelf=shelf))
        if not files and not refused:
            kinds = ", ".join(SUFFIXES)
            yield Failed(say("library.nothing_there", paths=", ".join(paths), kinds=kinds), retry=False)
            async for notice in left_out(run, paths):
                yield notice
            return
        items = [Item(file.name, file.path, max_bytes=self._max_bytes, recognize=recognize) for file in files]
        sizes = [file.size for file in files]
        job = IntakeJob(self._intake, self._jobs, run, shelf)
        async with aclosing(job.events(items, sizes, refused, replace=replace)) as events:
            async for event in events:
                yield event
        async for notice in left_out(run, paths):
            yield notice

    async def _reindex(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shelf = request.options.get("shelf")

        async def gather_books() -> list[tuple[str, Item, int]]:
            name = str(shelf) if shelf else None
            rows = await self._library.rows(request.place.space, name, every_kind=True)
            items = []
            for row in rows:
                original = self._intake.original(row.id, row.source)
                item = Item(row.source, original, row.id, self._max_bytes, row.kind, recognized(row.unread))
                items.append((row.shelf, item, row.size))
            return items

        books = await run.step("books", gather_books, list[tuple[str, Item, int]])
        yield Stage("job", say("library.reindexing", n=len(books)))
        if not books:
            yield Text(say("rules.no_books"))
            return
        for name in dict.fromkeys(book[0] for book in books):
            shelf_books = [book for book in books if book[0] == name]
            job = IntakeJob(self._intake, self._jobs, run, name, self._shapes)
            items, sizes = [book[1] for book in shelf_books], [book[2] for book in shelf_books]
            async with aclosing(job.events(items, sizes, [], replace=True)) as events:
                async for event in events:
                    yield event

    async def _list(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shelf = request.options.get("shelf")
        books = await run.step(
            "list",
            lambda: self._library.books(request.place.space, str(shelf) if shelf else None),
            list[Book],
        )
        yield Stage("list", say("library.list", n=len(books)))
        yield Text(book_table(books, say) if books else say(await self._why_none(request)))

    async def _remove(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        space, shelf = request.place.space, _shelf(request.options.get("shelf"))

        # The choice comes first and is stored: after a crash the name may mean no book, or another one.
        async def book() -> tuple[str, str]:
            documents = await self._library.find(space, shelf, request.text)
            if not documents and not request.options.get("shelf"):
                anywhere = await self._library.find(space, None, request.text)
                if shelves := sorted({document.shelf for document in anywhere if not document.kind}):
                    others = ", ".join(f"“{other}”" for other in shelves)
                    raise UserError("library.other_shelf", name=request.text, shelf=shelf, others=others)
            if not documents:
                raise UserError("library.no_such_book", name=request.text, shelf=shelf)
            if len(documents) > 1:
                names = ", ".join(f"{document.source} ({document.alias})" for document in documents)
                raise UserError("library.which_book", name=request.text, names=names)
            return documents[0].id, documents[0].source

        async def removed() -> bool:
            await self._intake.remove(space, book_id)
            return True

        book_id, name = await run.step("book", book, tuple[str, str])
        await run.step("remove", removed, bool)
        yield Stage("remove", "")
        yield Text(say("library.removed", name=name, shelf=shelf))


def _shelf(value: object) -> str:
    name = str(value or DEFAULT_SHELF).strip()
    if not name or len(name) > 64 or not name.isprintable():
        raise UserError("library.shelf_name")
    return name
