"""Files in S3, with the driver of the extra `objects` and its real protocol."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from bot.config import load
from bot.file_store import file_store
from storage import objects
from storage.faults import StorageFault
from storage.files import TooLarge, probe
from storage.objects import Objects
from tests.fakes.s3 import FakeS3, serving

KEY = "originals/o livro.md"


@pytest.fixture
async def s3(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FakeS3]:
    pytest.importorskip("obstore")
    async with serving() as fake:
        for name, value in fake.environ.items():
            monkeypatch.setenv(name, value)
        yield fake


def opened(folder: Path, bucket: str = "bucket") -> Objects:
    files = objects.opened(f"s3://{bucket}/some/prefix", folder, {})
    files._pauses_s = (0.0, 0.0)
    return files


async def put(files: Objects, key: str, data: bytes) -> None:
    async with files.writing(key) as path:
        await asyncio.to_thread(path.write_bytes, data)


async def test_books_are_stored_in_the_bucket_and_read_back(s3: FakeS3, tmp_path: Path) -> None:
    files, book = opened(tmp_path), bytes(range(256)) * 8_000
    await put(files, KEY, book)
    await put(files, "incoming/run/file-0.md", b"two")
    assert sorted(s3.objects) == ["some/prefix/incoming/run/file-0.md", f"some/prefix/{KEY}"]
    assert await files.read(KEY, len(book)) == book
    async with files.reading(KEY) as path:
        assert await asyncio.to_thread(path.read_bytes) == book
    with pytest.raises(TooLarge):
        await files.read(KEY, len(book) - 1)
    assert await files.list("originals") == ["o livro.md"]
    assert await files.list("incoming") == ["run"]
    with pytest.raises(FileNotFoundError):
        await files.read("originals/never.md", 9)
    await files.clear("incoming/run")
    await files.clear("incoming/never")
    await files.delete([KEY, "originals/never.md"])
    assert s3.objects == {}
    assert await files.list("originals") == []


async def test_the_keys_may_be_in_the_file_of_variables_beside_the_settings(
    s3: FakeS3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in s3.environ:
        monkeypatch.delenv(name)
    variables = "".join(f"{name}={value}\n" for name, value in s3.environ.items())
    (tmp_path / ".env").write_text(f"{variables}OTHER_SECRET=other\n", encoding="utf-8")
    config = tmp_path / "config.toml"
    config.write_text('[storage]\nfiles = "s3://bucket/bot"\n', encoding="utf-8")
    files = file_store(load(config, tmp_path / "data", environ={}))
    await probe(files)
    assert s3.asked
    assert s3.objects == {}
    assert "OTHER_SECRET" not in os.environ


async def test_a_large_book_is_uploaded_in_parts_and_appears_when_complete(
    s3: FakeS3, tmp_path: Path
) -> None:
    files, book = opened(tmp_path), bytes(range(256)) * 60_000
    seen: list[bool] = []

    def looks(request: web.Request) -> None:
        if "partNumber" in request.query:
            seen.append(any(s3.objects))

    s3.fault = looks
    await put(files, KEY, book)
    assert await files.read(KEY, len(book)) == book
    assert len(seen) > 1
    assert not any(seen)
    assert s3.uploads == {}


async def test_a_missing_bucket_is_an_error(s3: FakeS3, tmp_path: Path) -> None:
    with pytest.raises(StorageFault, match="not found") as raised:
        await put(opened(tmp_path, "another"), KEY, b"one")
    assert raised.value.kind == "files"


async def test_a_wrong_key_is_an_error(s3: FakeS3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(StorageFault) as raised:
        await put(opened(tmp_path), KEY, b"one")
    assert raised.value.kind == "files"
    assert s3.objects == {}


async def test_calls_are_retried_if_the_service_fails_now_and_then(s3: FakeS3, tmp_path: Path) -> None:
    met: set[str] = set()

    def fails_once(request: web.Request) -> web.Response | None:
        first = f"{request.method} {request.path}" not in met
        met.add(f"{request.method} {request.path}")
        return web.Response(status=503) if first else None

    s3.fault = fails_once
    files = opened(tmp_path)
    await put(files, KEY, b"one")
    assert await files.read(KEY, 3) == b"one"
    assert await files.list("originals") == ["o livro.md"]
    await files.delete([KEY])
    assert s3.objects == {}
    assert {entry.partition(" ")[0] for entry in met} == {"PUT", "HEAD", "GET", "POST"}
