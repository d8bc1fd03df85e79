"""The files that a request names or brings, and the notices about files that were left out or have failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Container, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from bot.events import Event, Failed, Notice, Request
from bot.readers.kinds import SUFFIXES
from bot.retrieval.files import Candidate, Refused, gather, passed_over
from bot.runs.requests import ONLY, WATCH
from bot.words import Words, words
from bot.work import Run

if TYPE_CHECKING:
    from bot.incoming import Incoming

FAILURES_NAMED = 20
"""How many failed files are named in the chat; `library jobs` names them all."""


def named_paths(request: Request) -> list[str]:
    """The named files and folders; only in the terminal and the configuration.

    On other platforms a path would be one of the server's, which does not belong to the person who types.
    """
    paths = request.options.get("paths")
    has_paths = isinstance(paths, list) and request.place.platform in ("terminal", WATCH)
    return [str(path) for path in paths] if has_paths and isinstance(paths, list) else []


async def files_of(
    run: Run, incoming: Incoming, paths: Sequence[str], max_bytes: int, kinds: Sequence[str] = SUFFIXES
) -> tuple[list[Candidate], list[Refused]]:
    """The named or attached files, or those that are due in a watched folder, and those that cannot be read."""
    due = run.request.options.get(ONLY)

    async def gather_files() -> tuple[list[Candidate], list[Refused]]:
        files, refused = await asyncio.to_thread(gather, paths, max_bytes, kinds)
        if not isinstance(due, list):
            return files, refused
        due_names = set(due)
        return [file for file in files if file.name in due_names], [
            file for file in refused if file.name in due_names
        ]

    files, refused = await run.step("files", gather_files, tuple[list[Candidate], list[Refused]])
    if not run.request.files:
        return files, refused
    attached, refused_attached = await incoming.bring(run, kinds, max_bytes)
    return [*files, *attached], [*refused, *refused_attached]


async def left_out(run: Run, paths: Sequence[str], used: Container[str] = ()) -> AsyncGenerator[Notice, None]:
    """A notice about files of unsupported types in the named folders, except those with a name in `used`."""

    async def count() -> dict[str, int]:
        return await asyncio.to_thread(passed_over, paths, used)

    kinds = (
        await run.step("passed over", count, dict[str, int])
        if paths and ONLY not in run.request.options
        else {}
    )
    if kinds:
        say = words(run.request.locale)
        suffixes = [
            f"{n} {suffix or say('library.no_suffix')}" for suffix, n in islice(kinds.items(), FAILURES_NAMED)
        ]
        yield Notice(say("library.passed_over", n=sum(kinds.values()), kinds=", ".join(suffixes)))


def failures(bad: list[Refused], total: int, say: Words, *, most: int = FAILURES_NAMED) -> list[Event]:
    """The events that report the failed files of a job of `total` files; `/library jobs` has those beyond `most`."""
    events: list[Event] = [Notice(say(refusal.key, **refusal.values)) for refusal in islice(bad, most)]
    if len(bad) > most:
        events.append(Notice(say("library.more_failed", n=len(bad) - most)))
    if bad:
        events.append(Failed(say("library.some_failed", n=len(bad), total=total)))
    return events
