"""A file that comes with a question is read for it alone, cited like a book, and deleted after the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.app import App
from bot.config import load
from bot.config.settings import EmbeddingConfig
from bot.events import Choices, Citation, Failed, File, Notice, OptionValue, Place, Request, Text
from bot.platforms import Platform
from bot.works.rules.question_files import WHOLE_CHARS
from tests.fakes import migrated
from tests.fakes.chat_completions import ChatService
from tests.fakes.reply import Reply
from tests.fakes.scripted_app import Recorder, asked

FILES = Path(__file__).resolve().parents[1] / "readers" / "files"
FERRY = (
    "# The ferry\n\n## Fares\n\nThe ferry across the Grey River costs four copper coins for each passenger.\n"
)
BOOK = "# Tolls\n\n## Bridge\n\nThe stone bridge takes nine silver coins for each wagon.\n"
QUESTION = "How much does the ferry across the Grey River cost?"


class Attachments:
    """A platform's attachments, by URL."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.fetched: list[str] = []

    async def fetch(self, request: Request, file: File, path: Path, most: int) -> None:
        self.fetched.append(file.url)
        await asyncio.to_thread(path.write_bytes, self.files[file.url])

    def named(self, *names: str) -> tuple[File, ...]:
        return tuple(File(name, "", len(self.files[name]), name) for name in names)


@asynccontextmanager
async def running(
    data: Path, recorder: Recorder, attachments: Attachments, config: Path | None = None
) -> AsyncIterator[App]:
    settings = replace(load(config, migrated.folder(data), {}), embedding=EmbeddingConfig("none"))
    app = await App.open(settings)
    app.attach(Platform("terminal", recorder.view))
    app.attach(Platform("discord", recorder.view, attachments.fetch))
    try:
        await app.start()
        yield app
    finally:
        await app.close()


def ask(id: str, text: str, files: tuple[File, ...] = (), **options: OptionValue) -> Request:
    place = Place("discord", "guild", "channel", id)
    return replace(asked(id, text), place=place, files=files, options=options)


async def said(app: App, recorder: Recorder, request: Request) -> str:
    await (await app.perform(request)).wait()
    events = recorder.events[request.id]
    return "\n".join(event.text for event in events if isinstance(event, Text | Notice | Failed))


def cited(recorder: Recorder, run: str) -> list[str]:
    return [event.source for event in recorder.events[run] if isinstance(event, Citation)]


async def test_a_question_is_answered_from_its_own_file_without_any_shelf(tmp_path: Path) -> None:
    files = Attachments({"ferry.md": FERRY.encode(), "cat.png": b"PNG"})
    async with running(tmp_path, recorder := Recorder(), files) as app:
        own = files.named("ferry.md", "cat.png")
        answer = await said(app, recorder, ask("r1", QUESTION, own))
        assert "four copper coins" in answer
        assert "cat.png" in answer
        assert cited(recorder, "r1") == ["ferry.md"]
        assert not [event for event in recorder.events["r1"] if isinstance(event, Choices)], (
            "no shelf has its headings"
        )
        assert await app.resources.records.documents.list("guild") == []
        assert files.fetched == ["ferry.md"]
        assert not list((tmp_path / "incoming").iterdir())
        assert "The library is empty" in await said(app, recorder, ask("r2", QUESTION))
        strange = await said(app, recorder, ask("r3", "Who painted Guernica?", own[:1]))
        assert "nothing in ferry.md" in strange


async def test_every_kind_of_book_can_come_with_a_question(tmp_path: Path) -> None:
    names = ["libreoffice-plain.pdf", "libreoffice.docx", "libreoffice.epub", "libreoffice.html"]
    files = Attachments({name: (FILES / name).read_bytes() for name in names})
    async with running(tmp_path, recorder := Recorder(), files) as app:
        for name in names:
            answer = await said(
                app, recorder, ask(name, "What marks a milestone without a ring?", files.named(name))
            )
            assert cited(recorder, name)[:1] == [name], answer
        page = next(event.page for event in recorder.events[names[0]] if isinstance(event, Citation))
        assert page is not None


async def test_a_named_shelf_is_searched_beside_the_file(tmp_path: Path) -> None:
    files = Attachments({"ferry.md": FERRY.encode(), "tolls.md": BOOK.encode()})
    async with running(tmp_path, recorder := Recorder(), files) as app:
        add = replace(ask("r0", "", files.named("tolls.md"), shelf="rules"), work="library", verb="add")
        assert await (await app.perform(add)).wait() == "done"
        own = files.named("ferry.md")
        question = "What do the ferry and the stone bridge cost?"
        await said(app, recorder, ask("r1", question, own, shelf="rules"))
        assert set(cited(recorder, "r1")) == {"ferry.md", "tolls.md"}
        alone = await said(app, recorder, ask("r2", "What does the stone bridge take for a wagon?", own))
        assert "nine silver coins" not in alone


async def test_an_unreadable_file_is_reported_and_nothing_else_is_searched(tmp_path: Path) -> None:
    files = Attachments({"locked.pdf": (FILES / "libreoffice-locked.pdf").read_bytes(), "void.txt": b"  \n"})
    async with running(tmp_path, recorder := Recorder(), files) as app:
        assert "password" in await said(app, recorder, ask("r1", QUESTION, files.named("locked.pdf")))
        assert "void.txt" in await said(app, recorder, ask("r2", QUESTION, files.named("void.txt")))
        large = replace(files.named("void.txt")[0], size=10**9)
        assert "void.txt" in await said(app, recorder, ask("r3", QUESTION, (large,)))


async def test_a_path_is_accepted_only_in_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "ferry.txt"
    path.write_text(FERRY, encoding="utf-8")
    async with running(tmp_path / "data", recorder := Recorder(), Attachments({})) as app:
        here = replace(asked("r1", QUESTION, thread="here"), options={"file": str(path)})
        assert "four copper coins" in await said(app, recorder, here)
        assert path.exists()
        elsewhere = await said(app, recorder, ask("r2", QUESTION, file=str(path)))
        assert "Attach the file" in elsewhere
        missing = replace(asked("r3", QUESTION, thread="here"), options={"file": str(tmp_path / "no.txt")})
        assert "no.txt" in await said(app, recorder, missing)


@pytest.mark.parametrize("short", [True, False])
async def test_a_short_text_is_read_whole_by_a_model_and_a_long_one_in_passages(
    tmp_path: Path, short: bool
) -> None:
    filler = "\n\n".join(
        f"## Chapter {n}\n\nThe {n}th keeper wrote of weather, nets and eels. " * 6 for n in range(40)
    )
    text = f"{FERRY}\n\n## Ending\n\nAnd so the heron flew home.\n" + ("" if short else f"\n\n{filler}\n")
    assert short is (len(text) <= WHOLE_CHARS)
    files = Attachments({"ferry.md": text.encode()})
    async with ChatService(
        [Reply("The ferry across the Grey River costs four copper coins [1].")]
    ) as service:
        config = tmp_path / "config.toml"
        config.write_text(
            f'[providers.local]\nkind = "openai-compatible"\nbase_url = "{service.base_url}"\n'
            '[roles]\nanswerer = "local:small"\n',
            encoding="utf-8",
        )
        async with running(tmp_path / "data", recorder := Recorder(), files, config) as app:
            await said(app, recorder, ask("r1", QUESTION, files.named("ferry.md")))
        assert cited(recorder, "r1") == ["ferry.md"]
        prompt = str(service.requests[-1])
        assert ("the heron flew home" in prompt) or not short
        assert len(prompt) < len(text) or short


async def test_an_interrupted_question_reads_its_stored_file_again(tmp_path: Path) -> None:
    files = Attachments({"ferry.md": FERRY.encode()})
    async with ChatService(
        [Reply("The ferry", fault="hang", at=2), Reply("It costs four copper coins [1].")]
    ) as service:
        config = tmp_path / "config.toml"
        config.write_text(
            f'[providers.local]\nkind = "openai-compatible"\nbase_url = "{service.base_url}"\n'
            '[roles]\nanswerer = "local:small"\n',
            encoding="utf-8",
        )
        async with running(tmp_path / "data", Recorder(), files, config) as app:
            await app.perform(ask("r1", QUESTION, files.named("ferry.md")))
            await service.asked.wait()
            assert list((tmp_path / "data" / "incoming" / "r1").iterdir())
        files.files.clear()  # the platform's address has expired meanwhile
        async with running(tmp_path / "data", after := Recorder(), files, config) as app:
            assert await app.ended("r1") == "done"
        assert cited(after, "r1") == ["ferry.md"]
        assert files.fetched == ["ferry.md"]
