"""Downloads the files of a request, one step each, so that a replay does not download again.

Knows no platform: adapters download. A run's files are stored under its id, for any process that continues it, and
removed at its end.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from bot.events import File, TransientError, UserError
from bot.platforms import Platform
from bot.readers.kinds import unread
from bot.retrieval.files import Candidate, Refused, megabytes, read_file, read_whole
from bot.waiting import Background
from bot.words import words
from bot.work import Run
from storage.faults import StorageFault, fault_of
from storage.files import stored

if TYPE_CHECKING:
    from storage.files import Files

NAME_CHARS = 100
"""The most characters of a file's name, short enough for every file system and message."""

CLOSE_S: Final = 3.0
"""How many seconds the end of the process waits for files that are being removed."""

_FOLDER: Final = "incoming"

_log = logging.getLogger(__name__)

_DEVICE = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9]) *(?:\.|$)", re.IGNORECASE)
"""Names that Windows keeps for devices, with any suffix."""
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f<>:\"|?*\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


class Incoming:
    """One folder of the stored files, with a subfolder for each run that has some."""

    def __init__(self, files: Files, platforms: Mapping[str, Platform]) -> None:
        self._files = files
        self._platforms = platforms
        self.brought: set[str] = set()
        """The runs that have files here, apart from those whose request has files."""
        self._clearing = Background()

    async def bring(
        self,
        run: Run,
        kinds: Sequence[str],
        max_bytes: int,
        *,
        files: Sequence[File] | None = None,
        copied: bool = False,
        prefix: str = "file",
    ) -> tuple[list[Candidate], list[Refused]]:
        """Download the request's files, for `read`; returns them, and why others were skipped. Raises StorageFault, as
        when the disk is full.

        Only names that end in one of `kinds` are fetched, and at most `max_bytes` of each. `files`: these instead of
        the request's own. `copied`: copy also files of this machine, so that they stay unchanged until the run's end.
        `prefix`: how the names of the steps and of the stored files begin, different for each call within a run.
        """
        brought: list[Candidate] = []
        refused: list[Refused] = []
        self.brought.add(run.id)  # also where an earlier process has stored them
        for n, file in enumerate(run.request.files if files is None else files):

            async def bring_one(n: int = n, file: File = file) -> tuple[list[Candidate], list[Refused]]:
                name = safe_name(file.name)
                try:
                    target = f"{prefix}-{n}"
                    return [
                        await self._bring_one(run, target, name, file, kinds, max_bytes, copied=copied)
                    ], []
                except UserError as error:
                    values = words(run.request.locale).plain(error.values | {"name": name})
                    return [], [Refused(name, error.key, values, error.transient)]

            candidates, refusals = await run.step(
                f"{prefix}:{n}", bring_one, tuple[list[Candidate], list[Refused]]
            )
            brought += candidates
            refused += refusals
        return brought, refused

    async def _bring_one(
        self,
        run: Run,
        target: str,
        name: str,
        file: File,
        kinds: Sequence[str],
        max_bytes: int,
        *,
        copied: bool,
    ) -> Candidate:
        suffix = PurePosixPath(name).suffix.lower()
        if suffix not in kinds:
            raise unread(name, kinds)
        if file.size > max_bytes:
            raise _too_large(file.size, max_bytes)
        if file.path and not copied:
            return Candidate(name, file.path, file.size)
        platform = self._platforms.get(run.request.place.platform)
        fetch = platform.fetch if platform is not None else None
        if not file.path and (fetch is None or not file.url):
            raise TransientError("library.not_fetched")
        # Numbered, so that no untrusted name becomes a path.
        target += suffix
        async with self.writing(run, target) as path:
            try:
                if file.path:
                    await asyncio.to_thread(_copy, file.path, path, max_bytes)
                elif fetch is not None:
                    await fetch(run.request, file, path, max_bytes)
                size = (await asyncio.to_thread(path.stat)).st_size
            except OSError as error:
                if (fault := fault_of(error)).kind != "other":
                    raise fault from error
                raise TransientError("library.not_fetched") from error
            if size > max_bytes:
                raise _too_large(size, max_bytes)
            if size == 0:
                raise UserError("library.file_empty")
        return Candidate(name, self.path(run, target), size)

    def path(self, run: Run, name: str) -> str:
        """The path of a run's own file, for a Candidate."""
        return stored(f"{_FOLDER}/{run.id}/{name}")

    @asynccontextmanager
    async def writing(self, run: Run, name: str) -> AsyncIterator[Path]:
        """A path where a run may write a file of its own, which is removed with its others. Raises StorageFault."""
        async with self._files.writing(f"{_FOLDER}/{run.id}/{name}") as path:
            yield path

    async def read(self, path: str, max_bytes: int) -> bytes:
        """The bytes of a Candidate's file. Raises UserError, StorageFault."""
        return await read_file(self._files, path, max_bytes)

    async def clear(self, run: str) -> None:
        """Remove the files of a run that has ended; any that cannot be removed now are removed at the next start."""
        self.brought.discard(run)
        clearing = self._clearing.start(self._clear(run))
        if not self._files.shared:  # a shared store may be far away: the next run does not wait
            await clearing

    async def _clear(self, run: str) -> None:
        try:
            await self._files.clear(f"{_FOLDER}/{run}")
        except StorageFault as fault:
            _log.warning("the files of run %s could not be removed: %s", run, fault)

    async def close(self) -> None:
        """Wait a little for what is being removed; the rest is removed at the next start."""
        if self._clearing.tasks:
            _, left = await asyncio.wait(self._clearing.tasks, timeout=CLOSE_S)
            for clearing in left:
                clearing.cancel()

    async def keep_only(self, unfinished: Callable[[], Awaitable[Collection[str]]]) -> None:
        """At a start: remove the files of all runs but the unfinished ones. Raises StorageFault."""
        if stored_runs := await self._files.list(_FOLDER):
            # Asked for after listing the files, because other processes may begin runs meanwhile.
            runs = await unfinished()
            for run in stored_runs:
                if run not in runs:
                    await self._files.clear(f"{_FOLDER}/{run}")


def _copy(path: str, to: Path, max_bytes: int) -> None:
    to.write_bytes(read_whole(path, max_bytes))


def safe_name(name: str) -> str:
    """A file's name without folders, leading dots and unsafe characters; never empty."""
    last_part = re.split(r"[/\\]", _UNSAFE.sub("", name))[-1].strip().lstrip(".").strip()
    last_part = last_part.encode("utf-8", errors="ignore").decode()
    last_part = f"_{last_part}" if _DEVICE.match(last_part) else last_part
    if len(last_part) > NAME_CHARS:
        suffix = PurePosixPath(last_part).suffix[:20]
        last_part = last_part[: NAME_CHARS - len(suffix)].rstrip() + suffix
    return last_part or "file"


def _too_large(size: int, limit: int) -> UserError:
    return UserError("library.file_large", mb=megabytes(size), limit=limit // 1_000_000)
