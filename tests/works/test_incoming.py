"""A request's attachments are downloaded once, checked before and after, and deleted when the run is over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.app import App
from bot.config import load
from bot.config.settings import EmbeddingConfig
from bot.events import Failed, File, Notice, OptionValue, Place, Request, Text, TransientError
from bot.incoming import NAME_CHARS, safe_name
from bot.platforms import Platform
from tests.fakes import migrated
from tests.fakes.scripted_app import Recorder, asked

TOWN = b"# Town\n\n## Gate\n\nThe gate of the town opens with a key.\n"


class Attachments:
    """A platform's attachments by URL; counts downloads."""

    def __init__(self, **files: bytes) -> None:
        self.files = files
        self.fetched: list[str] = []
        self.paths: list[Path] = []
        self.hold: asyncio.Event | None = None
        self.begun = asyncio.Event()

    async def fetch(self, request: Request, file: File, path: Path, most: int) -> None:
        assert file in request.files
        self.fetched.append(file.url)
        self.paths.append(path)
        data = self.files.get(file.url)
        if data is None:
            raise TransientError("library.not_fetched")
        await asyncio.to_thread(path.write_bytes, data[: most + 1])
        self.begun.set()
        if self.hold is not None and len(self.fetched) > 1:
            await self.hold.wait()

    def file(self, name: str, url: str, size: int | None = None) -> File:
        return File(name, "", size if size is not None else len(self.files.get(url, b"x")), url)


def adds(id: str, *files: File, verb: str = "add", work: str = "library", **options: OptionValue) -> Request:
    request = asked(id, "rag" if work == "prompts" else "", work=work, verb=verb)
    place = Place("discord", "guild", "channel", "")
    if work == "library":
        options = {"shelf": "rules", **options}
    return replace(request, place=place, files=files, options=options)


@asynccontextmanager
async def running(data: Path, recorder: Recorder, attachments: Attachments) -> AsyncIterator[App]:
    settings = replace(load(data=migrated.folder(data), environ={}), embedding=EmbeddingConfig("none"))
    app = await App.open(settings)
    app.attach(Platform("terminal", recorder.view))
    app.attach(Platform("discord", recorder.view, attachments.fetch))
    try:
        await app.start()
        yield app
    finally:
        await app.close()


def said(recorder: Recorder, run: str) -> str:
    return "\n".join(
        event.text for event in recorder.events[run] if isinstance(event, Text | Notice | Failed)
    )


async def test_attachments_become_books_and_leave_nothing_behind(tmp_path: Path) -> None:
    attachments = Attachments(one=TOWN, two=b"A key is a thing of iron.\n")
    files = (attachments.file("town.md", "one"), attachments.file("key.txt", "two"))
    async with running(tmp_path, recorder := Recorder(), attachments) as app:
        assert await (await app.perform(adds("r1", *files))).wait() == "done"
        assert sorted(
            document.source for document in await app.resources.records.documents.list("guild")
        ) == [
            "key.txt",
            "town.md",
        ]
        assert await app.resources.records.documents.list("local") == []
    assert "Added 2 files" in said(recorder, "r1")
    assert all(path.is_relative_to(tmp_path / "incoming" / "r1") for path in attachments.paths)
    assert list((tmp_path / "incoming").iterdir()) == []


async def test_a_failed_download_can_be_retried_but_not_a_file_of_another_kind(
    tmp_path: Path,
) -> None:
    attachments = Attachments(map=b"x")
    async with running(tmp_path, recorder := Recorder(), attachments) as app:
        for name, retry in (("gone.yml", True), ("map.png", False)):
            file = attachments.file(name, name.partition(".")[0])
            request = adds(name, file, work="prompts", verb="edit")
            request = replace(request, author=replace(request.author, admin=True))
            assert await (await app.perform(request)).wait() == "failed"
            (failed,) = [event for event in recorder.events[name] if isinstance(event, Failed)]
            assert failed.retry is retry, name


async def test_each_unusable_file_gets_its_sentence_and_the_others_are_added(tmp_path: Path) -> None:
    attachments = Attachments(one=TOWN, large=b"x" * 3_000_000, empty=b"")
    files = (
        attachments.file("town.md", "one"),
        attachments.file("map.png", "one"),
        attachments.file("huge.md", "one", 999_000_000),
        attachments.file("liar.md", "large", 10),
        attachments.file("empty.md", "empty"),
        attachments.file("gone.md", "gone"),
        File("nowhere.md", "", 10),
    )
    config = tmp_path / "config.toml"
    config.write_text('[library]\nmax_mb = 2\n[embedding]\nmodel = "none"\n')
    recorder = Recorder()
    app = await App.open(load(config, data=migrated.folder(tmp_path / "data"), environ={}))
    try:
        app.attach(Platform("discord", recorder.view, attachments.fetch))
        await app.start()
        assert await (await app.perform(adds("r1", *files))).wait() == "failed"
        assert [document.source for document in await app.resources.records.documents.list("guild")] == [
            "town.md"
        ]
    finally:
        await app.close()
    answer = said(recorder, "r1")
    for name in ("map.png: I can't read", "huge.md: 999 MB", "liar.md: 2.", "empty.md: the file is empty"):
        assert name in answer
    assert "could not download gone.md" in answer
    assert "could not download nowhere.md" in answer
    assert attachments.fetched == ["one", "large", "empty", "gone"]


async def test_without_files_there_is_one_sentence_and_no_server_path_is_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "secret.md").write_bytes(TOWN)
    async with running(tmp_path / "data", recorder := Recorder(), Attachments()) as app:
        assert await (await app.perform(adds("r1"))).wait() == "failed"
        named: list[str] = [str(tmp_path / "secret.md")]
        assert await (await app.perform(adds("r2", paths=named))).wait() == "failed"
        assert await app.resources.records.documents.list("guild") == []
    assert said(recorder, "r1") == said(recorder, "r2")
    assert "Attach the files" in said(recorder, "r1")


async def test_files_downloaded_before_an_interruption_are_not_downloaded_again(tmp_path: Path) -> None:
    attachments = Attachments(one=TOWN, two=b"A key is a thing of iron.\n")
    attachments.hold = asyncio.Event()
    files = (attachments.file("town.md", "one"), attachments.file("key.txt", "two"))
    async with running(tmp_path, Recorder(), attachments) as app:
        await app.perform(adds("r1", *files))
        while len(attachments.fetched) < 2:
            attachments.begun.clear()
            await attachments.begun.wait()
    (tmp_path / "incoming" / "an old run").mkdir()
    attachments.hold = None
    async with running(tmp_path, Recorder(), attachments) as app:
        assert await app.ended("r1") == "done"
        assert len(await app.resources.records.documents.list("guild")) == 2
    assert attachments.fetched == ["one", "two", "two"]
    assert list((tmp_path / "incoming").iterdir()) == []


async def test_a_prompts_wording_comes_as_an_attachment(tmp_path: Path) -> None:
    attachments = Attachments(one=b"system: Speak {language}.\n")
    async with running(tmp_path, recorder := Recorder(), attachments) as app:
        edit = adds("r1", attachments.file("rag.yml", "one"), work="prompts", verb="edit")
        assert await (await app.perform(edit)).wait() == "done"
        assert (await app.resources.prompts.wording("guild", "rag")).text.system == "Speak {language}.\n"
        gone = adds("r2", attachments.file("rag.yml", "gone"), work="prompts", verb="edit")
        assert await (await app.perform(gone)).wait() == "failed"
        strange = adds("r3", attachments.file("rag.exe", "one"), work="prompts", verb="edit")
        assert await (await app.perform(strange)).wait() == "failed"
    assert "could not download rag.yml" in said(recorder, "r2")
    assert "rag.exe: I can't read" in said(recorder, "r3")


async def test_a_path_that_an_earlier_release_has_stored_is_still_read(tmp_path: Path) -> None:
    attachments = Attachments(one=TOWN)
    async with running(tmp_path, Recorder(), attachments) as app:
        assert await (await app.perform(adds("r1", attachments.file("town.md", "one")))).wait() == "done"
        (row,) = await app.resources.records.documents.list("guild")
        of_then = tmp_path / "originals" / f"{row.id}.md"
        for path in (str(of_then), app.resources.intake.original(row.id, row.source)):
            assert await app.resources.intake.bytes_of(path, 1_000) == TOWN


async def test_half_written_files_of_a_killed_process_are_deleted_at_the_next_start(tmp_path: Path) -> None:
    attachments = Attachments(one=TOWN)
    async with running(tmp_path, Recorder(), attachments) as app:
        assert await (await app.perform(adds("r1", attachments.file("town.md", "one")))).wait() == "done"
    originals = tmp_path / "originals"
    (book,) = originals.iterdir()
    (originals / "half.md.0123.part").write_bytes(b"# Ha")
    async with running(tmp_path, Recorder(), attachments):
        assert list(originals.iterdir()) == [book]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("handbook.md", "handbook.md"),
        ("../../etc/passwd.md", "passwd.md"),
        ("C:\\books\\a.md", "a.md"),
        (".hidden.md", "hidden.md"),
        ("Con.md", "_Con.md"),
        ("lpt1", "_lpt1"),
        ("concord.md", "concord.md"),
        ("a\x00b\nc\u202e.md", "abc.md"),
        ("...", "file"),
        ("", "file"),
        ("a." + "x" * 300, "a." + "x" * (NAME_CHARS - 22) + "." + "x" * 19),
        ("x" * 300 + ".md", "x" * (NAME_CHARS - 3) + ".md"),
    ],
)
def test_a_name_is_made_safe(name: str, kept: str) -> None:
    assert safe_name(name) == kept


@given(st.text(max_size=300))
def test_a_safe_name_is_a_file_name_without_a_path(name: str) -> None:
    kept = safe_name(name)
    assert 0 < len(kept) <= NAME_CHARS
    assert Path(kept).name == kept
    assert safe_name(kept) == kept
    kept.encode()
