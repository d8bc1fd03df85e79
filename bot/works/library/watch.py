"""`[library] watch`: folders whose new and changed files are added, at the start and while the bot runs.

It looks only at names, sizes and times, every few seconds; the files are added by an ordinary `library add`, on a shelf
named like the folder. Nothing is removed from a shelf when a file or a folder disappears.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import stat
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.events import Author, Place, Request, UserError
from bot.retrieval.files import sayable, walk
from bot.runs.requests import ONLY, WATCH
from bot.waiting import cancelled
from bot.words import locale_from
from storage.faults import StorageFault
from storage.worker_threads import in_own_thread

if TYPE_CHECKING:
    from storage.document_rows import DocumentRow
    from storage.documents import Documents

ROUND_S = 10.0
"""Seconds between two looks; a file that changed since the last one may still be being written."""

PASSING = ("library.file_missing", "library.file_unguarded")
"""Failures that may pass: the folder was missing, or the machine too busy to read the file."""

MOST_PAUSES = 60
"""The maximum number of rounds that are skipped before a failure is retried: ten minutes."""

LOOK_TIMEOUT_S = 5.0
"""Seconds for one look at the folders: a file system that is no longer mounted may never answer."""

Stamp = tuple[int, int]
"""A file's size in bytes, and the time of its last change, in nanoseconds."""

_log = logging.getLogger(__name__)


def folder_stamps(folder: Path) -> dict[str, Stamp]:
    """The readable files in the folder, by their path within it; blocking.

    Hidden files, empty ones and links are left out. Raises OSError if the folder itself cannot be listed.
    """
    if folder.is_symlink():
        raise NotADirectoryError(errno.ENOTDIR, "it is a symbolic link", str(folder))

    def unreadable(within: str, error: OSError) -> None:
        if not within:
            raise error

    stamps: dict[str, Stamp] = {}
    for name, entry in walk(folder, unreadable):
        with suppress(OSError):  # deleted meanwhile
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_size and sayable(name):
                stamps[name] = (status.st_size, status.st_mtime_ns)
    return stamps


@dataclass(slots=True)
class _Folder:
    """A watched folder. `last` are its files at the last look, `settled` those that need no job as they are.

    `run` adds the files `offered`. After `failures` failed runs in a row, `pause` rounds are skipped.
    """

    path: Path
    run: str = ""
    offered: Mapping[str, Stamp] = field(default_factory=dict)
    failures: int = 0
    pause: int = 0
    last: Mapping[str, Stamp] = field(default_factory=dict)
    settled: dict[str, Stamp] = field(default_factory=dict)
    looking: asyncio.Future[dict[str, Stamp]] | None = None
    troubles: dict[str, str] = field(default_factory=dict)

    def log_change(self, about: str, trouble: str = "") -> None:
        """Log a problem once, and its end once."""
        before = self.troubles.get(about, "")
        if trouble and trouble != before:
            _log.warning("watched folder %s: %s", self.path, trouble)
        elif before and not trouble:
            _log.warning("watched folder %s: %s again", self.path, about)
        self.troubles[about] = trouble


class Watch:
    """Watches the folders of one work. Each folder has one job at a time, which `perform` starts.

    `refused` returns the files that a failed job could not read, with the reasons (None if it did not fail); others
    that it did not add are retried. `work` adds the files to `shelf`, or to a shelf named like each folder.
    """

    def __init__(
        self,
        folders: Iterable[Path],
        space: str,
        documents: Documents,
        perform: Callable[[Request], Awaitable[object]],
        is_running: Callable[[str, str], Awaitable[bool]],
        refused: Callable[[str, str], Awaitable[Mapping[str, str] | None]],
        *,
        work: str = "library",
        shelf: str = "",
        looks: Callable[[Path], dict[str, Stamp]] = folder_stamps,
        timeout_s: float = LOOK_TIMEOUT_S,
        round_s: float = ROUND_S,
    ) -> None:
        self._folders = [_Folder(path) for path in dict.fromkeys(folders)]
        self._space = space
        self._documents = documents
        self._perform = perform
        self._is_running = is_running
        self._refused = refused
        self.work = work
        self._shelf = shelf
        self._look = looks
        self._timeout_s = timeout_s
        self._round_s = round_s
        self._task: asyncio.Task[None] | None = None

    async def start(self, taken_up: Iterable[Request]) -> list[Request]:
        """Check the folders, then again every few seconds; returns the jobs that it has begun.

        `taken_up` are the requests from before the start that still run.
        """
        watched = [
            request for request in taken_up if (request.place.platform, request.work) == (WATCH, self.work)
        ]
        runs = {request.place.thread: request.id for request in watched}
        for folder in self._folders:
            folder.run = runs.get(str(folder.path), "")
        due = await self.round()
        if self._folders:
            self._task = asyncio.create_task(self._watch())
        return due

    async def close(self) -> None:
        """Stop watching. Running jobs continue."""
        await cancelled(self._task)

    async def round(self) -> list[Request]:
        """Check every folder once; returns the jobs that it has begun."""
        ready = [folder for folder in self._folders if await self._ready(folder)]
        looks = await asyncio.gather(*(self._stamps_of(folder) for folder in ready))
        requests = [await self._visit(*visit) for visit in zip(ready, looks, strict=True)]
        return [request for request in requests if request is not None]

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(self._round_s)
            try:
                await self.round()
            except Exception:  # the next round may succeed
                _log.exception("watched folders could not be looked at")

    async def _ready(self, folder: _Folder) -> bool:
        """Whether the folder's last job has ended, and the pause after it."""
        if folder.run and await self._is_running(self._space, folder.run):
            return False
        if folder.run:
            try:
                await self._retry_failed(folder)
            except StorageFault as fault:
                folder.log_change("added", f"the state of the last job could not be read ({fault})")
                return False
        folder.pause, paused = max(folder.pause - 1, 0), folder.pause
        return not paused

    async def _visit(self, folder: _Folder, stamps: dict[str, Stamp] | None) -> Request | None:
        if stamps is None:
            return None
        last, folder.last = folder.last, stamps
        if duplicates := sorted(stamps.keys() & self._earlier_files(folder)):
            stamps = {name: stamp for name, stamp in stamps.items() if name not in duplicates}
            names = ", ".join(duplicates[:3]) + " …" * bool(duplicates[3:])
            folder.log_change(
                "alone", f"an earlier folder of this name also has these files, so they are left out: {names}"
            )
        news = {
            name: stamp
            for name, stamp in stamps.items()
            if stamp != folder.settled.get(name) and (stamp == last.get(name) or self._is_written(stamp))
        }
        if not news:
            return None
        try:
            due = await self._due(folder, news, folder.settled)
            request = self._request(folder.path, due) if due else None
            if request is not None:
                await self._perform(request)
                folder.run, folder.offered = request.id, news
        except (UserError, StorageFault) as fault:
            folder.log_change("added", f"new files could not be added; the bot tries again ({fault})")
            return None
        folder.settled |= news
        folder.log_change("added")
        return request

    def _earlier_files(self, folder: _Folder) -> set[str]:
        """The files that earlier folders have put on the same shelf."""
        earlier = self._folders[: self._folders.index(folder)]
        earlier_same = [
            earlier_folder
            for earlier_folder in earlier
            if self._shelf or earlier_folder.path.name == folder.path.name
        ]
        return {name for earlier_folder in earlier_same for name in earlier_folder.last}

    async def _retry_failed(self, folder: _Folder) -> None:
        """Prepare another job, after a pause, for readable files that the last job did not add."""
        refused = await self._refused(self._space, folder.run)
        due: list[str] = []
        if refused is not None:
            bad = {name for name, why in refused.items() if why not in PASSING}
            good = {name: at for name, at in folder.offered.items() if name not in bad}
            due = await self._due(folder, good, settled=())
            for name in due:
                folder.settled.pop(name, None)
        folder.failures = folder.failures + 1 if due else 0
        folder.pause = min(2 ** (folder.failures - 1), MOST_PAUSES) if due else 0
        folder.run, folder.offered = "", {}
        if due:
            seconds = int(folder.pause * self._round_s)
            _log.warning("watched folder %s: tried again in %d s", folder.path, seconds)

    async def _stamps_of(self, folder: _Folder) -> dict[str, Stamp] | None:
        """The folder's stamps; None if they cannot be read now."""
        if folder.looking is None:
            folder.looking = in_own_thread(lambda: self._look(folder.path))
        if not (await asyncio.wait({folder.looking}, timeout=self._timeout_s))[0]:
            folder.log_change("there", "it does not answer; its books stay")
            return None
        looking, folder.looking = folder.looking, None
        try:
            stamps = looking.result()
        except OSError as error:
            folder.log_change("there", f"it cannot be read ({error.strerror}); its books stay")
            return None
        if not stamps and folder.last:  # an unmounted folder looks empty
            folder.log_change("there", "its files are gone; their books stay")
            return None
        folder.log_change("there")
        return stamps

    def _is_written(self, stamp: Stamp) -> bool:
        """Whether the file was last changed long enough ago to be complete."""
        return time.time() - stamp[1] / 1e9 >= self._round_s

    async def _due(self, folder: _Folder, news: Mapping[str, Stamp], settled: Collection[str]) -> list[str]:
        """The files of `news` that are not in the library as they are; those in `settled` have changed since."""
        rows: Sequence[DocumentRow] = []
        if any(name not in settled for name in news):
            rows = await self._documents.list(self._space, self._shelf or folder.path.name)
        rows_by_source = {row.source: row for row in rows}

        def is_in_library(name: str, stamp: Stamp) -> bool:
            row = rows_by_source.get(name)
            if name in settled or row is None or row.size != stamp[0]:
                return False
            return stamp[1] / 1e9 <= row.created_at.timestamp()

        return sorted(name for name, stamp in news.items() if not is_in_library(name, stamp))

    def _request(self, folder: Path, due: list[str]) -> Request:
        from uuid_utils import uuid7

        on = {} if self._shelf else {"shelf": folder.name}
        return Request(
            id=str(uuid7()),
            place=Place(WATCH, self._space, self.work, str(folder)),
            author=Author(WATCH, WATCH, admin=True),
            work=self.work,
            verb="add",
            options={"paths": [str(folder)], ONLY: due, **on, "replace": True},
            locale=locale_from(os.environ),
        )
