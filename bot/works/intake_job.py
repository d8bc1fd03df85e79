"""One library job: files onto a shelf, in small durable steps. Words first, vectors afterwards.

Knows the run, the intake and the table of jobs; which files and why is its caller's business.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from itertools import islice
from typing import TYPE_CHECKING

from bot.events import Ended, Event, Failed, Notice, Run, Sorry, Status, Text
from bot.retrieval.files import Refused
from bot.retrieval.intake import Item, Taken
from bot.words import Words, words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.retrieval.intake import Intake
    from storage.jobs import Jobs

READ_FILES = 16
READ_BYTES = 1_000_000
"""One step reads this many files or bytes at most: small enough to be repeated after a crash."""

EMBED_CHUNKS = 64
"""One step makes this many vectors: two to three seconds' work on one core."""

NAMED = 20
"""How many files that failed are named in the chat; `library jobs` names them all."""

Span = tuple[str, int, int]


class IntakeJob:
    """Takes files in on one shelf. Everything it does may be repeated after a crash."""

    def __init__(self, intake: Intake, jobs: Jobs, run: Run, shelf: str) -> None:
        self._intake = intake
        self._jobs = jobs
        self._run = run
        self._shelf = shelf
        self._space = run.request.place.space
        self._say = words(run.request.locale)
        # A reindex is one run but a job for each shelf.
        verb = run.request.verb
        self._id = run.id if verb == "add" else f"{shelf}:{run.id}"

    async def events(
        self, items: list[Item], sizes: list[int], refused: list[Refused], *, replace: bool
    ) -> AsyncGenerator[Event, None]:
        """Read, store and embed `items` (`sizes` in bytes), telling how it goes; `refused` are told at the end."""
        await self._jobs.create(
            self._space, self._id, self._shelf, self._run.request.verb, len(items) + len(refused)
        )
        for one in refused:
            await self._jobs.add_error(self._space, self._id, one.name, one.key, json.dumps(one.values))
        taken: list[Taken] = []
        state: Ended = "stopped"
        try:
            async with aclosing(self._read(items, sizes, taken, replace=replace)) as events:
                async for event in events:
                    yield event
            async with aclosing(self._embed(taken)) as events:
                async for event in events:
                    yield event
            bad = [*refused, *(Refused(one.name, one.key, dict(one.values)) for one in taken if one.key)]
            state = "failed" if bad else "done"
            for event in _outcome(self._shelf, taken, bad, self._say):
                yield event
        except (Sorry, StorageFault):
            state = "failed"
            raise
        finally:
            await self._jobs.finish(self._space, self._id, state)

    async def _read(
        self, items: list[Item], sizes: list[int], taken: list[Taken], *, replace: bool
    ) -> AsyncGenerator[Event, None]:
        run, space, shelf, say = self._run, self._space, self._shelf, self._say
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
                    await self._jobs.add_error(
                        self._space, self._id, one.name, one.key, json.dumps(one.values)
                    )
            await self._intake.clear()
            await self._jobs.progress(space, self._id, "reading", past, len(items), files_done=past)
        yield Status(say("library.reading", name=""), len(items), len(items))

    async def _embed(self, taken: list[Taken]) -> AsyncGenerator[Event, None]:
        run, space, shelf, say = self._run, self._space, self._shelf, self._say
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
            await self._jobs.progress(space, self._id, "vectors", done, total)
        await self._intake.rest()
        yield Status(say("library.vectors"), total, total)


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
