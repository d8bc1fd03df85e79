"""Files by key: a folder and an object store behave the same, and a store's failures are handled."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.faults import StorageFault
from storage.files import Files, Folder, TooLarge
from storage.objects import NoDriver, Objects, opened
from tests.fakes.weak_store import CutOnce, WeakStore, emptied, gone, refuses

KEY = "originals/book.md"


@pytest.fixture
def weak() -> Iterator[type[WeakStore]]:
    yield emptied()
    emptied()


def store(local: Path, *, tries: int = 3, deadline_s: float = 60.0) -> Objects:
    return Objects(
        WeakStore(), "/bucket", local, folders=True, pauses_s=(0.0,) * (tries - 1), deadline_s=deadline_s
    )


@pytest.fixture(params=["folder", "store"])
def files(request: pytest.FixtureRequest, tmp_path: Path, weak: type[WeakStore]) -> Files:
    return Folder(tmp_path / "files") if request.param == "folder" else store(tmp_path / "passing")


async def put(files: Files, key: str, data: bytes) -> None:
    async with files.writing(key) as path:
        await asyncio.to_thread(path.write_bytes, data)


def lying(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()] if folder.exists() else []


async def test_stored_files_are_read_listed_and_deleted(files: Files, tmp_path: Path) -> None:
    await put(files, KEY, b"one")
    await put(files, "incoming/run/file-0.md", b"two")
    await put(files, "incoming/run/file-1.md", b"three")
    assert await files.read(KEY, 3) == b"one"
    async with files.reading(KEY) as path:
        assert path.suffix == ".md"
        assert await asyncio.to_thread(path.read_bytes) == b"one"
    assert await files.list("originals") == ["book.md"]
    assert await files.list("incoming") == ["run"]
    assert await files.list("incoming/run") == ["file-0.md", "file-1.md"]
    await put(files, KEY, b"another")
    assert await files.read(KEY, 7) == b"another"
    await files.delete([KEY, "originals/never.md"])
    await files.clear("incoming/run")
    await files.clear("incoming/never")
    assert await files.list("originals") == await files.list("incoming/run") == []
    assert lying(tmp_path) == []


async def test_missing_and_oversized_files_are_distinguished(files: Files) -> None:
    await put(files, KEY, b"four")
    with pytest.raises(TooLarge) as large:
        await files.read(KEY, 3)
    assert large.value.size == 4
    for missing in ("originals/never.md", "never/book.md"):
        with pytest.raises(FileNotFoundError):
            await files.read(missing, 3)
        with pytest.raises(FileNotFoundError):
            async with files.reading(missing):
                raise AssertionError
    assert await files.list("never") == []


async def test_an_interrupted_write_keeps_the_old_file(files: Files, tmp_path: Path) -> None:
    await put(files, KEY, b"old")

    async def half() -> None:
        async with files.writing(KEY) as path:
            await asyncio.to_thread(path.write_bytes, b"ne")
            raise ConnectionError

    with pytest.raises(ConnectionError):
        await half()
    assert await files.read(KEY, 9) == b"old"
    assert await files.list("originals") == ["book.md"]
    assert lying(tmp_path / "passing") == []


async def test_an_unwritable_folder_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageFault) as raised:
        await put(Folder(tmp_path / "file"), KEY, b"one")
    assert raised.value.kind == "files"


async def test_a_folder_deleted_meanwhile_is_a_storage_error(tmp_path: Path) -> None:
    files = Folder(tmp_path)

    async def cleared() -> None:
        async with files.writing("incoming/run/file-0.md") as path:
            await asyncio.to_thread(path.write_bytes, b"one")
            await files.clear("incoming/run")

    with pytest.raises(StorageFault) as raised:
        await cleared()
    assert raised.value.kind == "files"


async def test_a_call_is_retried_after_a_lost_connection(tmp_path: Path, weak: type[WeakStore]) -> None:
    weak.fault = CutOnce()
    files = store(tmp_path, tries=4)
    await put(files, KEY, b"one")
    assert await files.read(KEY, 3) == b"one"
    async with files.reading(KEY) as path:
        assert await asyncio.to_thread(path.read_bytes) == b"one"
    assert await files.list("originals") == ["book.md"]
    await files.delete([KEY])
    assert await files.list("originals") == []
    assert {"put", "has put", "info", "get", "open", "list", "delete"} <= set(weak.calls)


async def test_calls_to_a_missing_store_fail_after_a_few_tries(tmp_path: Path, weak: type[WeakStore]) -> None:
    weak.fault = gone
    with pytest.raises(StorageFault, match="refused") as raised:
        await store(tmp_path).read(KEY, 3)
    assert raised.value.kind == "files"
    assert weak.calls == ["info"] * 3


async def test_a_refusal_by_the_store_is_not_retried(tmp_path: Path, weak: type[WeakStore]) -> None:
    weak.fault = refuses
    with pytest.raises(StorageFault, match="denied"):
        await put(store(tmp_path), KEY, b"one")
    assert weak.calls.count("put") == 1


async def test_a_store_that_hangs_delays_neither_the_loop_nor_other_calls(
    tmp_path: Path, weak: type[WeakStore]
) -> None:
    held = threading.Event()

    def hangs(operation: str) -> None:
        held.wait(60)

    weak.fault = hangs
    files, ticks = store(tmp_path, tries=2, deadline_s=0.2), 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    began = time.monotonic()
    with pytest.raises(StorageFault, match="no answer within"):
        await files.read(KEY, 3)
    assert 0.4 <= time.monotonic() - began < 30
    ticking.cancel()
    assert ticks > 5
    held.set()


def test_a_url_opens_its_store_or_names_the_package_that_does(tmp_path: Path, weak: type[WeakStore]) -> None:
    assert opened("weak://bucket/prefix/", tmp_path, {})._at("originals/x") == "/bucket/prefix/originals/x"
    with pytest.raises(NoDriver, match="paramiko"):
        opened("sftp://host/folder", tmp_path, {})
    with pytest.raises(ValueError, match="nonsense"):
        opened("nonsense://bucket", tmp_path, {})
