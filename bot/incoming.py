"""Downloads the files of a request, one step each, so that a replay does not download again.

Knows no platform: adapters download. A run's files are removed at its end.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath

from bot.events import File, Run, UserError
from bot.platforms import Platform
from bot.readers.kinds import unread
from bot.retrieval.files import Candidate, Refused, megabytes, read_whole
from storage.faults import fault_of

LONGEST_NAME = 100
"""Characters of a file's name: every file system and every message has room for as many."""

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f<>:\"|?*\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


class Incoming:
    """One folder, with a subfolder for each run that has files."""

    def __init__(self, folder: Path, platforms: Mapping[str, Platform]) -> None:
        self._folder = folder
        self._platforms = platforms

    async def bring(
        self,
        run: Run,
        kinds: Sequence[str],
        max_bytes: int,
        *,
        files: Sequence[File] | None = None,
        copied: bool = False,
        called: str = "file",
    ) -> tuple[list[Candidate], list[Refused]]:
        """The request's files, readable here, and why some are not. Raises StorageFault when the disk is full.

        Only names that end in one of `kinds` are fetched, and at most `max_bytes` of each. `files`: these instead of
        the request's own. `copied`: copy also files of this machine, so that they stay unchanged until the run's end.
        `called`: the name of the steps and of the stored files, different for each call within a run.
        """
        brought: list[Candidate] = []
        refused: list[Refused] = []
        for n, file in enumerate(run.request.files if files is None else files):

            async def bring_one(n: int = n, file: File = file) -> tuple[list[Candidate], list[Refused]]:
                name = safe(file.name)
                try:
                    target = self._folder / run.id / f"{called}-{n}"
                    return [
                        await self._bring_one(run, target, name, file, kinds, max_bytes, copied=copied)
                    ], []
                except UserError as error:
                    values = {key: v if isinstance(v, int) else str(v) for key, v in error.values.items()}
                    return [], [Refused(name, error.key, {**values, "name": name})]

            candidates, refusals = await run.step(
                f"{called}:{n}", bring_one, tuple[list[Candidate], list[Refused]]
            )
            brought += candidates
            refused += refusals
        return brought, refused

    async def _bring_one(
        self,
        run: Run,
        target: Path,
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
            raise UserError("library.not_fetched")
        # Numbered, so that no name from outside becomes a path of ours.
        path = target.with_suffix(suffix)
        try:
            await asyncio.to_thread(path.parent.mkdir, parents=True, exist_ok=True)
            if file.path:
                await asyncio.to_thread(_copy, file.path, path, max_bytes)
            elif fetch is not None:
                await fetch(run.request, file, path, max_bytes)
            size = (await asyncio.to_thread(path.stat)).st_size
        except OSError as error:
            if (fault := fault_of(error)).kind != "other":
                raise fault from error
            raise UserError("library.not_fetched") from error
        if size > max_bytes:
            await asyncio.to_thread(path.unlink)
            raise _too_large(size, max_bytes)
        if size == 0:
            raise UserError("library.file_empty")
        return Candidate(name, str(path), size)

    def place(self, run: Run, name: str) -> Path:
        """Where a run may write a file of its own, which is gone with its others."""
        return self._folder / run.id / name

    async def clear(self, run_id: str) -> None:
        """Remove the files of a run that has ended."""
        if self._folder.exists():
            await asyncio.to_thread(shutil.rmtree, self._folder / run_id, ignore_errors=True)

    async def keep_only(self, runs: Collection[str]) -> None:
        """At a start: remove the files of all runs but these."""

        def sweep() -> None:
            if self._folder.exists():
                for folder in self._folder.iterdir():
                    if folder.name not in runs:
                        shutil.rmtree(folder, ignore_errors=True)

        await asyncio.to_thread(sweep)


def _copy(path: str, to: Path, max_bytes: int) -> None:
    to.write_bytes(read_whole(path, max_bytes))


def safe(name: str) -> str:
    """A file's name without folders, leading dots and unsafe characters; never empty."""
    bare = re.split(r"[/\\]", _UNSAFE.sub("", name))[-1].strip().lstrip(".").strip()
    bare = bare.encode("utf-8", errors="ignore").decode()
    if len(bare) > LONGEST_NAME:
        suffix = PurePosixPath(bare).suffix[:20]
        bare = bare[: LONGEST_NAME - len(suffix)].rstrip() + suffix
    return bare or "file"


def _too_large(size: int, limit: int) -> UserError:
    return UserError("library.file_large", mb=megabytes(size), limit=limit // 1_000_000)
