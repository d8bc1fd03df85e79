"""The library's verbs: add, list, remove, reindex, jobs. Jobs are durable runs in small steps.

Words first, vectors afterwards: what was added can be found by its words within seconds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import islice
from typing import TYPE_CHECKING

from bot.events import Ended, Event, Failed, Notice, Run, Sorry, Stage, Status, Text
from bot.retrieval.files import Candidate, Refused, gather
from bot.retrieval.found import Book
from bot.retrieval.intake import Item, Taken
from bot.words import Words, words
from bot.works.rules import book_table
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.retrieval.intake import Intake
    from bot.retrieval.library import Library
    from storage.jobs import JobRow, Jobs

READ_FILES = 16
READ_BYTES = 4_000_000
"""One step reads this many files or bytes at most: small enough to be repeated after a crash."""

EMBED_CHUNKS = 64
"""One step makes this many vectors: two to three seconds' work on one core."""

NAMED = 20
"""How many files that failed are named in the chat; `library jobs` names them all."""

Span = tuple[str, int, int]


class LibraryWork:
    """Keeps books on shelves."""

    def __init__(self, library: Library, intake: Intake, jobs: Jobs) -> None:
        self._library = library
        self._intake = intake
        self._jobs = jobs

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        verbs = {
            "add": self._add,
            "list": self._list,
            "remove": self._remove,
            "reindex": self._reindex,
            "jobs": self._show_jobs,
        }
        async with aclosing(verbs[run.request.verb](run)) as events:
            async for event in events:
                yield event

    async def _add(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shelf = _shelf(request.options.get("shelf"))
        paths = request.options.get("paths")
        named = [str(one) for one in paths] if isinstance(paths, list) else []
        replace = bool(request.options.get("replace"))

        async def gathered() -> tuple[list[Candidate], list[Refused]]:
            return await asyncio.to_thread(gather, named, self._intake.max_bytes)

        files, refused = await run.step("files", gathered, tuple[list[Candidate], list[Refused]])
        yield Stage("job", say("library.adding", n=len(files) + len(refused), shelf=shelf))
        if not files and not refused:
            yield Failed(say("library.nothing_there", paths=", ".join(named)))
            return
        items = [Item(one.name, one.path) for one in files]
        sizes = [one.size for one in files]
        async with aclosing(self._job(run, shelf, items, sizes, refused, replace=replace)) as events:
            async for event in events:
                yield event

    async def _reindex(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shelf = request.options.get("shelf")

        async def gathered() -> list[tuple[str, Item, int]]:
            rows = await self._library.rows(request.place.space, str(shelf) if shelf else None)
            original = self._intake.original
            return [
                (one.shelf, Item(one.source, str(original(one.id, one.source)), one.id), one.size)
                for one in rows
            ]

        found = await run.step("books", gathered, list[tuple[str, Item, int]])
        yield Stage("job", say("library.reindexing", n=len(found)))
        if not found:
            yield Text(say("rules.no_books"))
            return
        for name in dict.fromkeys(one[0] for one in found):
            mine = [one for one in found if one[0] == name]
            job = self._job(run, name, [one[1] for one in mine], [one[2] for one in mine], [], replace=True)
            async with aclosing(job) as events:
                async for event in events:
                    yield event

    async def _job(
        self,
        run: Run,
        shelf: str,
        items: list[Item],
        sizes: list[int],
        refused: list[Refused],
        *,
        replace: bool,
    ) -> AsyncGenerator[Event, None]:
        space, say = run.request.place.space, words(run.request.locale)
        await self._jobs.create(space, run.id, shelf, run.request.verb, len(items) + len(refused))
        for one in refused:
            await self._jobs.add_error(space, run.id, one.name, one.key, json.dumps(one.values))
        taken: list[Taken] = []
        state: Ended = "stopped"
        try:
            async with aclosing(self._read(run, shelf, items, sizes, taken, replace=replace)) as events:
                async for event in events:
                    yield event
            async with aclosing(self._embed(run, shelf, taken)) as events:
                async for event in events:
                    yield event
            bad = [*refused, *(Refused(one.name, one.key, dict(one.values)) for one in taken if one.key)]
            state = "failed" if bad else "done"
            for event in _outcome(shelf, taken, bad, say):
                yield event
        except (Sorry, StorageFault):
            state = "failed"
            raise
        finally:
            await self._jobs.finish(space, run.id, state)

    async def _read(
        self, run: Run, shelf: str, items: list[Item], sizes: list[int], taken: list[Taken], *, replace: bool
    ) -> AsyncGenerator[Event, None]:
        space, say = run.request.place.space, words(run.request.locale)
        for first, past in _batches(sizes):
            yield Status(say("library.reading", name=items[first].name), first, len(items))

            async def some(first: int = first, past: int = past) -> list[Taken]:
                return [
                    await self._intake.take(space, shelf, item, f"{run.id}:{shelf}:{n}", replace=replace)
                    for n, item in enumerate(items[first:past], first)
                ]

            found = await run.step(f"read:{shelf}:{first}", some, list[Taken])
            taken += found
            for one in found:
                if one.key:
                    await self._jobs.add_error(space, run.id, one.name, one.key, json.dumps(one.values))
            await self._intake.clear()
            await self._jobs.progress(space, run.id, "reading", past, len(items), files_done=past)
        yield Status(say("library.reading", name=""), len(items), len(items))

    async def _embed(self, run: Run, shelf: str, taken: list[Taken]) -> AsyncGenerator[Event, None]:
        space, say = run.request.place.space, words(run.request.locale)
        fresh = [one for one in taken if one.document and not one.known]
        if not fresh:
            return

        async def ready() -> str:
            return await self._intake.ready_for_vectors()

        async def without() -> list[str]:
            return await self._intake.do_without_vectors(space, fresh)

        yield Status(say("library.preparing"))
        missing = await run.step(f"embedder:{shelf}", ready, str)
        if missing == "absent":
            yield Notice(say("library.words_only"))
        wanted = set(await run.step(f"without:{shelf}", without, list[str]))
        fresh = [one for one in fresh if one.document in wanted]
        total = sum(one.chunks for one in fresh)
        if not total:
            return
        yield Notice(say("library.searchable", shelf=shelf))
        done = 0
        for n, spans in enumerate(_spans(fresh)):
            yield Status(say("library.vectors"), done, total)

            async def some(spans: Sequence[Span] = spans) -> int:
                await self._intake.embed(space, shelf, spans)
                return sum(past - first for _, first, past in spans)

            done += await run.step(f"embed:{shelf}:{n}", some, int)
            await self._jobs.progress(space, run.id, "vectors", done, total)
        await self._intake.rest()
        yield Status(say("library.vectors"), total, total)

    async def _list(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        shelf = request.options.get("shelf")
        books = await run.step(
            "list",
            lambda: self._library.books(request.place.space, str(shelf) if shelf else None),
            list[Book],
        )
        yield Stage("list", say("library.list", n=len(books)))
        yield Text(book_table(books, say) if books else say("rules.no_books"))

    async def _remove(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        space, shelf = request.place.space, _shelf(request.options.get("shelf"))

        # Which book comes first and is kept: after a crash its name may mean no book, or another one.
        async def book() -> tuple[str, str]:
            found = await self._library.find(space, shelf, request.text)
            if not found:
                raise Sorry("library.no_such_book", name=request.text, shelf=shelf)
            if len(found) > 1:
                names = ", ".join(f"{one.source} ({one.alias})" for one in found)
                raise Sorry("library.which_book", name=request.text, names=names)
            return found[0].id, found[0].source

        async def removed() -> bool:
            await self._intake.remove(space, book_id)
            return True

        book_id, name = await run.step("book", book, tuple[str, str])
        await run.step("remove", removed, bool)
        yield Stage("remove", "")
        yield Text(say("library.removed", name=name, shelf=shelf))

    async def _show_jobs(self, run: Run) -> AsyncGenerator[Event, None]:
        say = words(run.request.locale)
        jobs = await self._jobs.list(run.request.place.space)
        yield Stage("jobs", say("library.jobs", n=len(jobs)))
        yield Text(_job_table(jobs, say) if jobs else say("library.no_jobs"))


def _shelf(value: object) -> str:
    name = str(value or "").strip()
    if not name or len(name) > 64 or not name.isprintable():
        raise Sorry("library.shelf_name")
    return name


def _batches(sizes: list[int]) -> list[tuple[int, int]]:
    """Ranges [first, past) of files that are read in one step."""
    found, first, size = [], 0, 0
    for n, one in enumerate(sizes):
        if n > first and (n - first >= READ_FILES or size + one > READ_BYTES):
            found.append((first, n))
            first, size = n, 0
        size += one
    if sizes:
        found.append((first, len(sizes)))
    return found


def _spans(taken: list[Taken]) -> list[list[Span]]:
    """Every chunk of the new documents, in steps of EMBED_CHUNKS that may cross documents."""
    steps: list[list[Span]] = []
    room = 0
    for one in taken:
        first = 0
        while first < one.chunks:
            if room == 0:
                steps.append([])
                room = EMBED_CHUNKS
            past = min(one.chunks, first + room)
            steps[-1].append((one.document, first, past))
            room -= past - first
            first = past
    return steps


def _outcome(shelf: str, taken: list[Taken], bad: list[Refused], say: Words) -> list[Event]:
    """What the job tells at its end: what went in, what was there already, what failed and why."""
    went_in = [one for one in taken if one.document and not one.known]
    known = sum(1 for one in taken if one.known)
    events: list[Event] = []
    if went_in:
        sections = sum(one.sections for one in went_in)
        passages = sum(one.chunks for one in went_in)
        events.append(
            Text(say("library.added", n=len(went_in), shelf=shelf, sections=sections, passages=passages))
        )
    if known:
        events.append(Text(("\n" if went_in else "") + say("library.known", n=known, shelf=shelf)))
    events += [Notice(say(one.key, **one.values)) for one in islice(bad, NAMED)]
    if len(bad) > NAMED:
        events.append(Notice(say("library.more_failed", n=len(bad) - NAMED)))
    if bad:
        total = len(went_in) + known + len(bad)
        events.append(Failed(say("library.some_failed", n=len(bad), total=total)))
    return events


def _job_table(jobs: Sequence[JobRow], say: Words) -> str:
    lines = [say("library.jobs_header"), "|---|---|---|---|---:|"]
    for job in jobs:
        phase = f" · {job.phase} {job.done}/{job.total}" if job.state == "running" and job.total else ""
        lines.append(
            f"| {job.id[-6:]} | {job.kind} | {job.shelf} | {say(f'library.state_{job.state}')}{phase} "
            f"| {job.files_done}/{job.files_total} |"
        )
    lines += ["", *(f"- {say(one.key, **json.loads(one.values))}" for job in jobs for one in job.errors)]
    return "\n".join(lines).strip()
