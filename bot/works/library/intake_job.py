"""One library job: puts files onto a shelf, in small durable steps. Words first, vectors afterwards.

A step reports its progress while it runs. Knows the run, the intake and the table of jobs; its caller decides which
files are added and why.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, TypeAlias

from bot.events import Ended, Event, Notice, Status, Text, UserError
from bot.readers.kinds import BUNDLE, suffix_of
from bot.retrieval.files import Refused
from bot.retrieval.intake import IntakeResult, Item
from bot.words import Words, words
from bot.work import Run
from bot.works.library.files import FAILURES_NAMED, failures
from bot.works.library.step_reports import ReportingStep
from bot.works.library.unread import unread_notices
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.readers.document import Progress
    from bot.retrieval.intake import Intake, Shape
    from storage.jobs import Jobs

READ_FILES = 16
READ_BYTES = 1_000_000
"""The maximum number of files and of bytes that one step reads: small enough to be repeated after a crash."""

EMBED_CHUNKS = 64
"""How many vectors one step makes: two to three seconds' work on one core."""

NOTE_S = 1.0
"""Seconds between two times that a file's progress is stored."""

Span = tuple[str, int, int]
Put = Callable[[tuple[int, int, int]], None]
Outcome: TypeAlias = "Callable[[str, list[IntakeResult], list[Refused], Words], list[Event]]"
"""Makes the events at a job's end from the shelf, the results of its files, and the files that failed."""


class IntakeJob:
    """Adds files to one shelf. Every step may be repeated after a crash."""

    def __init__(
        self,
        intake: Intake,
        jobs: Jobs,
        run: Run,
        shelf: str,
        shapes: Mapping[str, Shape] = {},
        outcome: Outcome | None = None,
    ) -> None:
        """`shapes` are those of documents other than books, by kind; `outcome` replaces the usual final message."""
        self._shapes = shapes
        self._outcome = outcome or _outcome
        self._intake = intake
        self._jobs = jobs
        self._run = run
        self._shelf = shelf
        self._space = run.request.place.space
        self._say = words(run.request.locale)
        # A reindex is one run, but has a job for each shelf.
        self._id = f"{shelf}:{run.id}" if run.request.verb == "reindex" else run.id
        self._noted = 0.0

    async def events(
        self, items: list[Item], sizes: list[int], refused: list[Refused], *, replace: bool
    ) -> AsyncGenerator[Event, None]:
        """Read, store and embed `items` (`sizes` in bytes), reporting progress; `refused` are reported at the end."""
        await self._jobs.create(
            self._space, self._id, self._shelf, self._run.request.verb, len(items) + len(refused)
        )
        for refusal in refused:
            await self._jobs.add_error(
                self._space, self._id, refusal.name, refusal.key, json.dumps(refusal.values)
            )
        results: list[IntakeResult] = []
        state: Ended = "stopped"
        try:
            async with aclosing(self._read(items, sizes, results, replace=replace)) as events:
                async for event in events:
                    yield event
            async with aclosing(self._embed(results)) as events:
                async for event in events:
                    yield event
            results = await self._swap(results)
            await self._intake.release_memory()
            bad = [
                *refused,
                *(Refused(result.name, result.key, dict(result.values)) for result in results if result.key),
            ]
            state = "failed" if bad else "done"
            for event in self._outcome(self._shelf.strip(), results, bad, self._say):
                yield event
            unread = [
                (result.name, *part) for result in results if not result.known for part in result.unread
            ]
            for notice in unread_notices(unread[:FAILURES_NAMED], self._say):
                yield notice
            if await self._has_two_models(results):
                yield Notice(self._say("library.two_models", shelf=self._shelf.strip()))
        except (UserError, StorageFault):
            state = "failed"
            raise
        finally:
            await self._jobs.finish(self._space, self._id, state)

    async def _read(
        self, items: list[Item], sizes: list[int], results: list[IntakeResult], *, replace: bool
    ) -> AsyncGenerator[Event, None]:
        run, space, shelf, say = self._run, self._space, self._shelf, self._say
        for first, past in _batches(sizes):
            yield Status(
                say("library.reading", name=items[first].name.removesuffix(BUNDLE)), first, len(items)
            )
            reporting: ReportingStep[tuple[int, int, int], list[IntakeResult]] = ReportingStep()

            async def read_batch(
                first: int = first, past: int = past, put: Put = reporting.put
            ) -> list[IntakeResult]:
                return [
                    await self._intake.take(
                        space,
                        shelf,
                        item,
                        f"{run.id}:{shelf}:{n}",
                        replace=replace,
                        run=run.id,
                        progress=_file_progress(n, put),
                        shape=self._shapes[item.kind] if item.kind else None,
                    )
                    for n, item in enumerate(items[first:past], first)
                ]

            step = run.step(f"read:{shelf}:{first}", read_batch, list[IntakeResult])
            async with aclosing(reporting.reports(step)) as news:
                async for n, pages_done, total in news:
                    yield self._reading_status(items, n, pages_done, total)
                    await self._store_progress(
                        n, sum(sizes[:n]) + sizes[n] * pages_done // max(total, 1), sum(sizes)
                    )
            batch_results = reporting.value
            results += batch_results
            for result in batch_results:
                if result.key:
                    await self._jobs.add_error(
                        self._space, self._id, result.name, result.key, json.dumps(result.values)
                    )
            await self._jobs.progress(
                space, self._id, "reading", sum(sizes[:past]), sum(sizes), files_done=past
            )
        yield Status(say("library.reading", name=""), len(items), len(items))

    def _reading_status(self, items: list[Item], n: int, pages_done: int, total: int) -> Status:
        """The progress in reading one file: its own bar if it is the only file, otherwise that of all files."""
        paged = suffix_of(items[n].name) == ".pdf"
        text = self._say(
            "library.reading_page" if paged else "library.reading_part",
            name=items[n].name.removesuffix(BUNDLE),
            page=pages_done,
            pages=total,
            percent=100 * pages_done // max(total, 1),
        )
        return Status(text, pages_done, total) if len(items) == 1 else Status(text, n, len(items))

    async def _store_progress(self, files: int, bytes_done: int, total: int) -> None:
        """Store the progress in bytes for `library jobs`, once a second; a failure to write it is ignored."""
        if time.monotonic() - self._noted >= NOTE_S:
            self._noted = time.monotonic()
            with suppress(StorageFault):
                await self._jobs.progress(
                    self._space, self._id, "reading", bytes_done, total, files_done=files
                )

    async def _embed(self, results: list[IntakeResult]) -> AsyncGenerator[Event, None]:
        run, space, shelf, say = self._run, self._space, self._shelf, self._say
        new = [result for result in results if result.document and not result.known]
        if not new:
            return

        async def ready() -> str:
            return await self._intake.ready_for_vectors(
                space, [result.replaces for result in new if result.replaces]
            )

        async def without() -> list[str]:
            return await self._intake.do_without_vectors(space, new)

        yield Status(say("library.preparing"))
        missing = await run.step(f"embedder:{shelf}", ready, str)
        if missing == "absent":
            yield Notice(say("library.words_only"))
        with_vectors = set(await run.step(f"without:{shelf}", without, list[str]))
        new = [result for result in new if result.document in with_vectors]
        total = sum(result.chunks for result in new)
        if not total:
            return
        staged_count = sum(result.staged for result in new)
        if staged_count < len(new):
            yield Notice(say("library.searchable", shelf=shelf))
        if staged_count:
            yield Notice(say("library.beside", n=staged_count))
        chunks_done = 0
        for n, spans in enumerate(_spans(new)):
            yield Status(say("library.vectors"), chunks_done, total)

            async def embed_spans(spans: Sequence[Span] = spans) -> int:
                await self._intake.embed(space, shelf, spans)
                return sum(past - first for _, first, past in spans)

            chunks_done += await run.step(f"embed:{shelf}:{n}", embed_spans, int)
            await self._jobs.progress(space, self._id, "vectors", chunks_done, total)
        yield Status(say("library.vectors"), total, total)

    async def _swap(self, results: list[IntakeResult]) -> list[IntakeResult]:
        """Put the editions that were built beside the shelf onto it; one with nothing to replace counts as known."""
        staged = [result for result in results if result.staged]
        if not staged:
            return results

        async def swap() -> list[str]:
            return await self._intake.swap(self._space, self._shelf, staged)

        swapped_in = set(await self._run.step(f"swap:{self._shelf}", swap, list[str]))
        return [
            result
            if not result.staged or result.document in swapped_in
            else dataclasses.replace(result, known=True)
            for result in results
        ]

    async def _has_two_models(self, results: list[IntakeResult]) -> bool:
        """Whether files were added to a shelf whose vectors come from two models."""

        async def mixed() -> bool:
            return await self._intake.mixed(self._space, self._shelf)

        added = any(result.document and not result.known for result in results)
        return added and await self._run.step(f"models:{self._shelf}", mixed, bool)


def _file_progress(n: int, put: Put) -> Progress:
    """A function that reports the progress of the file with this number."""
    return lambda pages_done, total: put((n, pages_done, total))


def _batches(sizes: list[int]) -> list[tuple[int, int]]:
    """Ranges [first, past) of files, each read in one step."""
    batches, first, size = [], 0, 0
    for n, bytes_of_file in enumerate(sizes):
        if n > first and (n - first >= READ_FILES or size + bytes_of_file > READ_BYTES):
            batches.append((first, n))
            first, size = n, 0
        size += bytes_of_file
    if sizes:
        batches.append((first, len(sizes)))
    return batches


def _spans(results: list[IntakeResult]) -> list[list[Span]]:
    """Every chunk of the new documents, in steps of EMBED_CHUNKS chunks that may span documents."""
    steps: list[list[Span]] = []
    room = 0
    for result in results:
        first = 0
        while first < result.chunks:
            if room == 0:
                steps.append([])
                room = EMBED_CHUNKS
            past = min(result.chunks, first + room)
            steps[-1].append((result.document, first, past))
            room -= past - first
            first = past
    return steps


def _outcome(shelf: str, results: list[IntakeResult], bad: list[Refused], say: Words) -> list[Event]:
    """The message at a job's end: files added, files known already, and files that failed, with the reason."""
    added = [result for result in results if result.document and not result.known]
    known = sum(1 for result in results if result.known)
    events: list[Event] = []
    if added:
        sections = sum(result.sections for result in added)
        passages = sum(result.chunks for result in added)
        events.append(
            Text(say("library.added", n=len(added), shelf=shelf, sections=sections, passages=passages))
        )
    if known:
        events.append(Text(("\n" if added else "") + say("library.known", n=known, shelf=shelf)))
    return events + failures(bad, len(added) + known + len(bad), say)
