"""Processes on one Postgres with separate data folders share their files: what one receives, the others can
use.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.postgres import created
from tests.fakes.s3 import FakeS3, serving
from tests.forked import Piped

ROOT = Path(__file__).resolve().parents[2]
BOOKS = ROOT / "tests" / "readers" / "files"
TOWN = "# Town\n\n## Gate\n\nThe gate of the town opens with a key.\n"
PATIENCE_S = 90

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


class Process:
    """A running `tests.storage.files_process`."""

    def __init__(self, process: Piped, log: Path) -> None:
        self._process = process
        self._log = log

    async def hear(self, key: str) -> dict[str, Any]:
        """The next message with this key."""
        async with asyncio.timeout(PATIENCE_S):
            while line := await self._process.stdout.readline():
                if key in (told := json.loads(line)):
                    return dict(told)
        raise AssertionError(self._log.read_text(encoding="utf-8"))

    async def ask(self, id: str, work: str, verb: str, **more: object) -> None:
        line = json.dumps({"id": id, "work": work, "verb": verb, **more})
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()

    async def do(self, id: str, work: str, verb: str, **more: object) -> dict[str, Any]:
        await self.ask(id, work, verb, **more)
        return await self.hear("status")

    async def kill(self) -> None:
        self._process.kill()
        await self._process.wait()

    async def leave(self) -> None:
        self._process.stdin.close()
        async with asyncio.timeout(PATIENCE_S):
            assert await self._process.wait() == 0, self._log.read_text(encoding="utf-8")


class Place:
    """The shared place of all processes' files."""

    def __init__(self, url: str, environ: dict[str, str], kept: Callable[[], list[str]]) -> None:
        self.url = url
        self.environ = environ
        self.kept = kept


@pytest.fixture(params=["folder", "s3"])
async def shared(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Place]:
    if request.param == "folder":
        folder = tmp_path / "mounted here"

        def kept() -> list[str]:
            return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())

        yield Place(folder.as_uri(), {}, kept)
        return
    pytest.importorskip("obstore")
    async with serving() as s3:
        yield Place("s3://bucket/bot", s3.environ, lambda: in_bucket(s3))


def in_bucket(s3: FakeS3) -> list[str]:
    return sorted(key.removeprefix("bot/") for key in s3.objects)


@pytest.fixture
def attachments(tmp_path: Path) -> Path:
    folder = tmp_path / "attachments"
    folder.mkdir()
    (folder / "town.md").write_text(TOWN, encoding="utf-8")
    shutil.copy(BOOKS / "libreoffice-outline.pdf", folder / "outline.pdf")
    return folder


@pytest.fixture
def start(postgres: str, tmp_path: Path, shared: Place, attachments: Path) -> Iterator[Callable[[str], Any]]:
    url, started = created(postgres), list[Piped]()

    async def begun(name: str) -> Process:
        folder = tmp_path / name
        folder.mkdir()
        config = folder / "config.toml"
        settings = f'[storage]\nurl = "{url}"\nfiles = "{shared.url}"\n[embedding]\nmodel = "none"\n'
        config.write_text(settings, encoding="utf-8")
        log = folder / "log"
        module, arguments = "tests.storage.files_process", (str(config), str(attachments))
        process = await Piped.start(module, arguments, {**os.environ, **shared.environ}, ROOT, log)
        started.append(process)
        made = Process(process, log)
        await made.hear("ready")
        return made

    yield begun
    for process in started:
        process.kill()


async def test_a_book_of_one_process_is_quoted_shown_reindexed_and_removed_by_another(
    start: Callable[[str], Any], shared: Place, tmp_path: Path
) -> None:
    first = await start("first")
    added = await first.do("r1", "library", "add", files=["town.md", "outline.pdf"])
    assert added["status"] == "done", added
    await first.leave()
    assert sorted(Path(key).suffix for key in shared.kept()) == [".md", ".pdf"], "the attachments have gone"
    shutil.rmtree(tmp_path / "first")
    second = await start("second")
    assert "opens with a key" in (await second.do("r2", "rules", "lookup", text="Gate"))["said"]
    shown = await second.do("r3", "library", "show", text="outline.pdf")
    assert shown["shown"] == ["Picture"], shown
    books = shared.kept()
    again = await second.do("r4", "library", "reindex")
    assert again["status"] == "done", again
    assert "could not" not in again["said"]
    assert len(set(shared.kept()) - set(books)) == 2, "both were read again, and kept under their new ids"
    for name in ("town.md", "outline.pdf"):
        assert (await second.do(f"r5 {name}", "library", "remove", text=name))["status"] == "done"
    assert set(shared.kept()) <= set(books), "replaced ones may be read for ten minutes more"
    await second.leave()


async def test_files_that_a_killed_process_downloaded_are_not_downloaded_again(
    start: Callable[[str], Any], shared: Place, attachments: Path
) -> None:
    (attachments / "keys.md").write_text("# Keys\n\nA key is a thing of iron.\n", encoding="utf-8")
    (attachments / "keys.md.held").touch()
    first = await start("first")
    await first.ask("r1", "library", "add", files=["town.md", "keys.md"], leave=True)
    await first.hear("held")
    assert shared.kept() == ["incoming/r1/file-0.md"]
    await first.kill()
    (attachments / "keys.md.held").unlink()
    second = await start("second")
    assert (await second.hear("fetched"))["fetched"] == "keys.md"
    assert (await second.do("r1", "library", "add", **{"await": True}))["status"] == "done"
    assert "thing of iron" in (await second.do("r2", "rules", "lookup", text="Keys"))["said"]
    assert "opens with a key" in (await second.do("r3", "rules", "lookup", text="Gate"))["said"]
    await second.leave()
    assert [key.partition("/")[0] for key in shared.kept()] == ["originals"] * 2
