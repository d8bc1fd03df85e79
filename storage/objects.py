"""Files by their keys in an object store, or whatever else fsspec opens by a URL.

Each call has a thread of its own, a deadline and a few tries. Knows no store by itself.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from storage.faults import StorageFault, fault_of
from storage.files import TooLarge
from storage.worker_threads import in_own_thread

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")

PAUSES_S: Final = (0.5, 2.0)
"""Seconds before each further try."""

DEADLINE_S: Final = 40.0
"""How many seconds one try may take: enough for 20 MB on a slow line."""

HASTY_S: Final = 10.0
"""The same for a mere check."""

AT_ONCE: Final = 8
"""Calls at the same time."""

_DELETED_AT_ONCE: Final = 50
"""Files of one call, which has one deadline."""

_PIECE: Final = 1 << 20

_OF_OBSTORE: Final = {
    "s3": "s3",
    "s3a": "s3",
    "gs": "gs",
    "gcs": "gs",
    "az": "az",
    "abfs": "abfs",
    "abfss": "abfss",
}
"""Protocols for which obstore is taken where it is installed, and what it calls them."""

_CALM: Final = {"max_retries": 0}
"""obstore's retries, limited: its defaults would take three minutes."""

_log = logging.getLogger(__name__)


class NoDriver(Exception):
    """The package that opens such a URL is not installed: `package`."""

    def __init__(self, package: str) -> None:
        super().__init__(package)
        self.package = package


class Objects:
    """Files in a store, below `root`; in transit they are in the local folder `local`.

    `folders`: folders must be created before files are put into them.
    """

    shared = True

    def __init__(
        self,
        filesystem: AbstractFileSystem,
        root: str,
        local: Path,
        *,
        folders: bool = False,
        pauses_s: tuple[float, ...] = PAUSES_S,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._fs = filesystem
        self._root = root.rstrip("/")
        self._local = local
        self._folders = folders
        self._pauses_s = pauses_s
        self._deadline_s = deadline_s
        self._at_once = asyncio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def writing(self, key: str) -> AsyncIterator[Path]:
        async with self._place(key) as path:
            yield path
            await self._done(lambda: self._put(path, key))

    def _put(self, path: Path, key: str) -> None:
        to = self._at(key)
        try:
            if self._folders:
                self._fs.makedirs(to.rpartition("/")[0], exist_ok=True)
            self._fs.put_file(str(path), to)
        except FileNotFoundError as error:  # there is no such bucket
            raise StorageFault("files", f"{to}: not found") from error

    async def read(self, key: str, most: int) -> bytes:
        def checked_read() -> bytes:
            if (size := int(self._fs.info(self._at(key))["size"])) > most:
                raise TooLarge(size)
            return bytes(self._fs.cat_file(self._at(key)))

        return await self._done(checked_read)

    @asynccontextmanager
    async def reading(self, key: str) -> AsyncIterator[Path]:
        async with self._place(key) as path:
            await self._done(lambda: self._fetch(key, path))
            yield path

    def _fetch(self, key: str, path: Path) -> None:
        with self._fs.open(self._at(key), "rb") as opened, path.open("wb") as out:
            while piece := opened.read(_PIECE):
                out.write(piece)

    async def list(self, folder: str) -> list[str]:
        def names() -> list[str]:
            self._fs.invalidate_cache()
            try:
                paths = self._fs.ls(self._at(folder), detail=False)
            except FileNotFoundError:
                return []
            return sorted({str(path).rstrip("/").rpartition("/")[2] for path in paths})

        return await self._done(names)

    async def delete(self, keys: Collection[str]) -> None:
        def forget(some: Sequence[str]) -> None:
            for key in some:
                with suppress(FileNotFoundError):
                    self._fs.rm_file(self._at(key))

        every = list(keys)
        for first in range(0, len(every), _DELETED_AT_ONCE):
            await self._done(partial(forget, every[first : first + _DELETED_AT_ONCE]))

    async def clear(self, folder: str) -> None:
        def forget() -> None:
            self._fs.invalidate_cache()
            for path in self._fs.find(self._at(folder)):
                with suppress(FileNotFoundError):
                    self._fs.rm_file(path)

        await self._done(forget)

    async def size(self, folder: str) -> tuple[int, int]:
        def sizes() -> list[int]:
            self._fs.invalidate_cache()
            return [int(entry["size"]) for entry in self._fs.find(self._at(folder), detail=True).values()]

        file_sizes = await self._done(sizes)
        return sum(file_sizes), len(file_sizes)

    def _at(self, key: str) -> str:
        return f"{self._root}/{key}"

    @asynccontextmanager
    async def _place(self, key: str) -> AsyncIterator[Path]:
        """A path of this machine with the ending of the key, removed at the end."""

        def new_folder() -> tempfile.TemporaryDirectory[str]:
            self._local.mkdir(parents=True, exist_ok=True)
            return tempfile.TemporaryDirectory(dir=self._local, ignore_cleanup_errors=True)

        try:
            folder = await asyncio.to_thread(new_folder)
        except OSError as error:
            raise fault_of(error) from error
        try:
            yield Path(folder.name) / key.rpartition("/")[2]
        finally:
            await asyncio.to_thread(folder.cleanup)

    async def _done(self, call: Callable[[], T]) -> T:
        """Run the call, with retries, and return its result; a missing file is not looked for again."""
        fault = StorageFault("files")
        for pause_s in (*self._pauses_s, None):
            try:
                async with self._at_once, asyncio.timeout(self._deadline_s):
                    return await in_own_thread(call)
            except (FileNotFoundError, TooLarge):
                raise
            except TimeoutError:
                fault = StorageFault("files", f"no answer within {self._deadline_s:g} s")
            except StorageFault as error:
                fault = error
            except Exception as error:
                if (storage_fault := fault_of(error)).kind == "full":  # of this machine's disk
                    raise storage_fault from error
                detail = storage_fault.detail.partition(" Debug source:")[0]
                fault = StorageFault("files", f"{type(error).__name__}: {detail}")
                fault.__cause__ = error
                if isinstance(error, PermissionError | NotImplementedError | TypeError | ValueError):
                    break
            if pause_s is not None:
                _log.info("the store of files, tried again: %s", fault)
                await asyncio.sleep(pause_s)
        raise fault


def opened(url: str, local: Path, environ: Mapping[str, str], *, hasty: bool = False) -> Objects:
    """The store at a URL, without accessing it. Raises NoDriver, and ValueError for a URL that nothing can open.

    `environ` holds what drivers look for in the environment, such as AWS_ACCESS_KEY_ID. `hasty`: one short try.
    """
    if find_spec("fsspec") is None:
        raise NoDriver("fsspec")
    import os

    from fsspec import get_filesystem_class

    for name, value in environ.items():
        os.environ.setdefault(name, value)
    protocol, _, root = url.partition("://")
    patience: dict[str, Any] = {"pauses_s": (), "deadline_s": HASTY_S} if hasty else {}
    if (obstore_name := _OF_OBSTORE.get(protocol)) and find_spec("obstore") is not None:
        from obstore.fsspec import FsspecStore

        # A service of one's own may have no certificate.
        plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
        client = {"connect_timeout": "5s", "timeout": "30s", "allow_http": plain}
        connect: Callable[..., AbstractFileSystem] = FsspecStore
        store = connect(obstore_name, client_options=client, retry_config=_CALM, skip_instance_cache=True)
        return Objects(store, root, local, **patience)
    try:
        driver = get_filesystem_class(protocol)
    except ImportError as error:
        package = getattr(error.__cause__, "name", None) or str(error)
        raise NoDriver("obstore" if obstore_name else package) from error
    options = driver._get_kwargs_from_urls(url)
    filesystem = driver(**options, use_listings_cache=False, skip_instance_cache=True)
    return Objects(
        filesystem, str(driver._strip_protocol(url)), local, folders=obstore_name is None, **patience
    )


def protocols() -> frozenset[str]:
    """Of the addresses that some package of fsspec's opens."""
    from fsspec.registry import available_protocols, registry

    return frozenset((*available_protocols(), *registry))
