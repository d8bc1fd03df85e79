"""Files by their keys, in a folder; several machines may share one. `storage.objects` keeps them in object stores.

A key is a path such as "originals/ID.pdf". Rows and steps contain it as `stored(key)`. Knows neither books nor runs.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar
from uuid import uuid4

from storage.faults import StorageFault, fault_of

T = TypeVar("T")

FOLDERS: Final[tuple[Literal["originals"], Literal["incoming"]]] = ("originals", "incoming")
"""The first part of every key: original books, and files of running requests."""

PART: Final = ".part"
"""The suffix of an incomplete file in a folder."""

_STORED: Final = "store:"


def stored(key: str) -> str:
    """A key in the form for places that may also contain a local path."""
    return _STORED + key


def key_of(path: str) -> str | None:
    """The key in a value that `stored` returned; None for a local path."""
    return path.removeprefix(_STORED) if path.startswith(_STORED) else None


class TooLarge(Exception):
    """A file has more bytes than its reader wants: `size`."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes")
        self.size = size


class Files(Protocol):
    """A store of files. Each method raises StorageFault if it fails; no file is stored incompletely."""

    @property
    def shared(self) -> bool:
        """Whether other processes may keep files there, too."""

    def writing(self, key: str) -> AbstractAsyncContextManager[Path]:
        """A local path to write to. The file is stored at the end of the block, unless the block raises."""

    async def read(self, key: str, most: int) -> bytes:
        """All bytes of a file. Raises FileNotFoundError, and TooLarge if there are more than `most`."""

    def reading(self, key: str) -> AbstractAsyncContextManager[Path]:
        """A local path to read the file from, within the block. Raises FileNotFoundError."""

    async def list(self, folder: str) -> list[str]:
        """The names of files and folders in a folder, in order; none if it does not exist."""

    async def delete(self, keys: Collection[str]) -> None:
        """Delete those of the files that exist."""

    async def clear(self, folder: str) -> None:
        """Delete a folder with its contents."""

    async def size(self, folder: str) -> tuple[int, int]:
        """The bytes in a folder and its subfolders, and the number of their files."""


class Folder:
    """Files in a folder of this machine, or in one that several machines share."""

    def __init__(self, root: Path, *, shared: bool = False) -> None:
        self._root = root
        self.shared = shared

    @asynccontextmanager
    async def writing(self, key: str) -> AsyncIterator[Path]:
        path = self._root / key
        part = path.with_name(f"{path.name}.{uuid4().hex}{PART}")
        await _done(lambda: path.parent.mkdir(parents=True, exist_ok=True))
        try:
            yield part
            try:
                await _done(lambda: part.replace(path))
            except FileNotFoundError as error:  # the folder was cleared meanwhile
                raise StorageFault("files", fault_of(error).detail) from error
        except BaseException:
            with suppress(StorageFault):
                await _done(lambda: part.unlink(missing_ok=True))  # the disk may be full
            raise

    async def read(self, key: str, most: int) -> bytes:
        def checked_read() -> bytes:
            with (self._root / key).open("rb") as opened:
                data = opened.read(most + 1)
                if len(data) > most:
                    raise TooLarge(max(len(data), os.fstat(opened.fileno()).st_size))
                return data

        return await _done(checked_read)

    @asynccontextmanager
    async def reading(self, key: str) -> AsyncIterator[Path]:
        path = self._root / key
        await _done(path.stat)
        yield path

    async def list(self, folder: str) -> list[str]:
        try:
            return await _done(lambda: sorted(path.name for path in (self._root / folder).iterdir()))
        except FileNotFoundError:
            return []

    async def delete(self, keys: Collection[str]) -> None:
        def forget() -> None:
            for key in keys:
                (self._root / key).unlink(missing_ok=True)

        await _done(forget)

    async def clear(self, folder: str) -> None:
        await _done(lambda: shutil.rmtree(self._root / folder, ignore_errors=True))

    async def size(self, folder: str) -> tuple[int, int]:
        def sizes() -> list[int]:
            return [path.stat().st_size for path in (self._root / folder).rglob("*") if path.is_file()]

        file_sizes = await _done(sizes)
        return sum(file_sizes), len(file_sizes)


async def probe(files: Files) -> None:
    """Test the store: put a file, read, list and delete it. Raises StorageFault."""
    name = f"probe-{uuid4().hex}"
    key = f"incoming/{name}/{name}"
    try:
        async with files.writing(key) as path:
            await asyncio.to_thread(path.write_bytes, name.encode())
        if await files.read(key, len(name)) != name.encode() or name not in await files.list("incoming"):
            raise StorageFault("files", "it does not have what was put there")
        await files.delete([key])
        await files.clear(f"incoming/{name}")
    except OSError as error:
        raise StorageFault("files", fault_of(error).detail) from error


async def _done(call: Callable[[], T]) -> T:
    """Run the call off the event loop and return its result."""
    try:
        return await asyncio.to_thread(call)
    except FileNotFoundError:
        raise
    except OSError as error:
        fault = fault_of(error)
        raise (fault if fault.kind == "full" else StorageFault("files", fault.detail)) from error
