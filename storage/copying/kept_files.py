"""Copies the stored files from one place to another, and compares each."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from storage.copying.backup import keys
from storage.copying.restore import Occupied
from storage.faults import StorageFault, fault_of

if TYPE_CHECKING:
    from storage.copying.archive import Progress
    from storage.files import Files


async def copy(source: Files, target: Files, progress: Progress) -> int:
    """Copy all files, and compare each with its copy; returns how many. The source is only read.

    Files that an earlier try copied stay. Raises StorageFault, and Occupied if a different file has the same key.
    """
    source_keys, target_keys = await keys(source), set(await keys(target))
    copied = 0
    for n, key in enumerate(source_keys):
        progress("files", n, len(source_keys))
        try:
            async with source.reading(key) as path:
                digest = await asyncio.to_thread(_digest, path)
                if key in target_keys:
                    if await _stored_digest(target, key) != digest:
                        raise Occupied(key)
                    continue
                await put(target, key, path)
        except FileNotFoundError:  # its book or run was deleted meanwhile
            continue
        if await _stored_digest(target, key) != digest:
            raise StorageFault("files", f"{key} is not what it was after it was copied")
        copied += 1
    return copied


async def put(files: Files, key: str, path: Path) -> None:
    """Store a copy of a local file. Raises StorageFault."""
    async with files.writing(key) as to:
        try:
            await asyncio.to_thread(shutil.copyfile, path, to)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise fault_of(error) from error


async def _stored_digest(files: Files, key: str) -> str:
    async with files.reading(key) as path:
        return await asyncio.to_thread(_digest, path)


def _digest(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
