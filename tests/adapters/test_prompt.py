"""The terminal's prompt: its greeting, keys and completions, and lines typed before the app is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from unicodedata import normalize

import pytest
from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from bot.adapters.terminal import welcome
from bot.adapters.terminal.complete import LineCompleter, paths
from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.markdown import width_of
from bot.adapters.terminal.paths import absolute, absolutes
from bot.adapters.terminal.prompt import TRIES, Prompt
from bot.adapters.terminal.view import progress
from bot.config import DEMO
from bot.events import (
    Author,
    Place,
    Request,
    Shown,
    Stage,
    Status,
    Text,
    UserError,
)
from bot.kind import Typed
from bot.llm.local_servers import LocalServer
from bot.words import words
from tests.fakes.application import FakeApp, FakeTicket, nothing


async def completed(line: str, **names: list[str]) -> list[str]:
    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        yield Text("")

    app = FakeApp(play, names=names)

    async def find(kind: str, prefix: str, shelf: str | None) -> list[str]:
        return await app.complete(kind, Typed("local", prefix, shelf))

    found = LineCompleter(find, lambda: words("en")).get_completions_async(Document(line), CompleteEvent())
    return [line[: len(line) + one.start_position] + one.text async for one in found]


async def test_tab_completes_verbs_options_and_names(tmp_path: Path) -> None:
    assert await completed("what") == []
    assert "/rules lookup" in await completed("/rules lo")
    assert "/rules roll" in await completed("/rol")
    assert await completed("/rules ask --sh") == ["/rules ask --shelf"]
    assert await completed("/rules ask --shelf f", shelf=["faq notes", "rules"]) == [
        '/rules ask --shelf "faq notes"'
    ]
    assert await completed("/rules lookup grappling r", section=["Grappling Rules"]) == [
        "/rules lookup Grappling Rules"
    ]
    assert await completed("/lookup --shelf x gra", section=["Grappled"]) == ["/lookup --shelf x Grappled"]
    assert await completed("/library remove srd", book=["srd.md"]) == ["/library remove srd.md"]
    assert await completed("/help rules l") == ["/help rules lookup"]
    assert await completed("/council ask --level m") == ["/council ask --level mini"]
    assert await completed("/council ask --research a,b", research=["a,beta"]) == [
        "/council ask --research a,beta"
    ]
    assert await completed("/council show ballots ", council=["ballots 1"]) == ["/council show ballots 1"]
    assert await completed("/ask --k") == ["/ask --k"]
    assert await completed("/show rag") == [], "several works have that verb"
    (tmp_path / "my book.md").touch()
    assert await completed(f"/library add {tmp_path}/my") == [f"/library add {tmp_path}/my\\ book.md"]


def test_paths_may_be_typed_or_pasted_in_any_common_form(tmp_path: Path) -> None:
    book, accented = tmp_path / "Ember Roads.pdf", tmp_path / normalize("NFD", "ação.md")
    for file in (book, accented, tmp_path / "a.md"):
        file.touch()
    typed = f"{tmp_path}/a.md {tmp_path}/Ember Roads.pdf {tmp_path}/none".split(" ")
    assert absolutes(typed) == [str(tmp_path / "a.md"), str(book), str(tmp_path / "none")]
    assert absolutes([f"file://{tmp_path}/Ember%20Roads.pdf"]) == [str(book)]
    assert absolute(f"{tmp_path}/{normalize('NFC', 'ação.md')}") == str(accented)


async def test_at_the_prompt_pasted_lines_run_one_by_one(tmp_path: Path) -> None:
    running, ended = 0, asyncio.Event()

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        nonlocal running
        running += 1
        assert running == 1, "the book is added before the question is asked"
        yield Text(request.text)
        running -= 1
        if request.verb == "roll":
            ended.set()

    app = FakeApp(play)

    async def opened() -> FakeApp:
        return app

    block = "/library add a.md --shelf rules\nHow far does it show things?\n\n/rules roll 4d6kh3"
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = Prompt(Conversation("en", "t"), tmp_path, [], colour=True)
        sitting = asyncio.create_task(prompt.run(opened()))
        keys.send_text(f"\x1b[200~{block}\x1b[201~\r")
        async with asyncio.timeout(60):
            await ended.wait()
        keys.send_text("exit\r")
        assert await sitting == 0
    assert [(request.verb, request.text) for request in app.requests] == [
        ("add", ""),
        ("ask", "How far does it show things?"),
        ("roll", "4d6kh3"),
    ]


async def test_tab_pressed_again_keeps_the_only_completion(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        begun.set()
        yield Text("")

    app = FakeApp(play)

    async def opened() -> FakeApp:
        return app

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = Prompt(Conversation("en", "t"), tmp_path, [], colour=True)
        buffer, changed = prompt._session.default_buffer, asyncio.Event()
        buffer.on_completions_changed += lambda _: changed.set()
        sitting = asyncio.create_task(prompt.run(opened()))
        keys.send_text("/rules rol")
        async with asyncio.timeout(60):
            while buffer.complete_state is None or not buffer.complete_state.completions:
                changed.clear()
                await changed.wait()
        keys.send_text("\t\t 1d6\r")
        async with asyncio.timeout(60):
            await begun.wait()
        keys.send_text("\x04")
        assert await sitting == 0
    assert [request.text for request in app.requests] == ["1d6"]


async def test_with_empty_shelves_a_key_tries_an_example(tmp_path: Path) -> None:
    """The other keys remain until a line is typed; with a book on the shelves, no key is offered."""
    asked: asyncio.Queue[Request] = asyncio.Queue()

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        asked.put_nowait(request)
        yield Text("ok")

    say = words("en")
    for model, shelves, pressed, verbs, means in (
        ("", [], "1", ["add", "ask"], "terminal.means_pull"),
        (DEMO, [], "1", ["add", "ask"], "terminal.means_none"),
        ("demo:small", [], "2", ["add", "report"], ""),
        ("some:model", [], "3", ["start"], "terminal.means_model"),
        ("some:model", ["rules"], "1\r", ["ask"], None),
    ):
        app = FakeApp(play)
        app.answers, app.names["shelf"] = model, shelves
        if means == "":
            app.server = LocalServer("ollama", "Ollama", ("qwen3",))

        async def opened(app: FakeApp = app) -> FakeApp:
            return app

        with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
            prompt = Prompt(Conversation("en", "t"), tmp_path, [], colour=False)
            introduced, write, lines = asyncio.Event(), prompt.write, list[str]()

            async def heard(
                new: Sequence[str],
                write: Callable[[Sequence[str]], Awaitable[None]] = write,
                lines: list[str] = lines,
                introduced: asyncio.Event = introduced,
                last: str = "embedding" if shelves else say("terminal.try_tour"),
            ) -> None:
                await write(new)
                lines += new
                if last in "\n".join(new):
                    introduced.set()

            prompt.write = heard  # type: ignore[assignment, method-assign]
            sitting = asyncio.create_task(prompt.run(opened()))
            async with asyncio.timeout(60):
                await introduced.wait()
                keys.send_text(pressed)
                found = [(await asked.get()).verb for _ in verbs]
            keys.send_text("\x04")
            assert await sitting == 0
        assert found == verbs
        assert (say("terminal.tries") in lines) is (not shelves)
        told = " ".join("\n".join(lines).split())
        greetings = ("terminal.means_none", "terminal.means_model", "terminal.means_pull")
        named = [key for key in greetings if say(key) in told]
        assert named == ([means] if means else [])


def test_the_greeting_and_the_bar_fit_eighty_columns(tmp_path: Path) -> None:
    for locale in ("en", "pt-BR"):
        say = words(locale)
        for line in (
            *welcome(colour=False),
            say("terminal.tries"),
            *(f"  1  {say(label)}" for label, _ in TRIES),
        ):
            assert width_of(line) <= 80
    shown = progress(Status(f"Reading {'long ' * 40}.pdf", 3, 12), 76)
    assert width_of(shown) == 76
    assert shown.endswith("… ━━━───────── 3/12")


def test_a_missing_folder_has_no_completions(tmp_path: Path) -> None:
    assert paths(str(tmp_path / "no" / "x")) == []


async def test_at_the_prompt_a_line_waits_for_the_app_and_stop_cancels_it(tmp_path: Path) -> None:
    opening, begun, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        begun.set()
        try:
            yield Stage("answer", "Answer")
            await asyncio.Event().wait()
        finally:
            ended.set()

    app = FakeApp(play)

    async def opened() -> FakeApp:
        await opening.wait()
        return app

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = Prompt(Conversation("en", "t"), tmp_path, [], colour=True)
        sitting = asyncio.create_task(prompt.run(opened()))
        keys.send_text("is it?\r")
        await asyncio.sleep(0)
        assert not app.requests
        opening.set()
        await begun.wait()
        keys.send_text("\x03")
        await ended.wait()
        keys.send_text("\x04")
        assert await sitting == 0
    assert [request.text for request in app.requests] == ["is it?"]
    assert app.closed
    assert "is it?" in (tmp_path / "history").read_text(encoding="utf-8")


@pytest.mark.parametrize("keys_of_stop", ["\x1b", "\x03", "/stop\r"])
async def test_at_the_prompt_stop_also_ends_a_job_of_an_earlier_conversation(
    keys_of_stop: str, tmp_path: Path
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        begun.set()
        try:
            yield Stage("job", "Adding 1 file")
            await asyncio.Event().wait()
        finally:
            ended.set()

    place = Place("terminal", "local", "terminal", "earlier")
    left = Request("old", place, Author("a", "A"), "library", "add")
    app = FakeApp(play, unfinished=[left])

    async def opened() -> FakeApp:
        return app

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = Prompt(Conversation("en", None, reader="person"), tmp_path, [], colour=True)
        sitting = asyncio.create_task(prompt.run(opened()))
        await begun.wait()
        async with asyncio.timeout(60):
            while not ended.is_set():
                keys.send_text(keys_of_stop)
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), 1)
        while not sitting.done():
            keys.send_text("\x04")
            await asyncio.wait({sitting}, timeout=1)
        assert await sitting == 0


async def test_the_note_that_the_library_is_opening_disappears_without_a_keypress(tmp_path: Path) -> None:
    opening, app, drawn = asyncio.Event(), FakeApp(nothing), asyncio.Queue[str]()

    async def opened() -> FakeApp:
        await opening.wait()
        return app

    def note(app: Application[str]) -> None:
        if (screen := app.renderer.last_rendered_screen) is None:
            return
        rows = screen.data_buffer.values()
        drawn.put_nowait("\n".join("".join(row[x].char for x in sorted(row)) for row in rows))

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = Prompt(Conversation("en", "t"), tmp_path, [], colour=False)
        prompt._session.app.after_render += note
        sitting = asyncio.create_task(prompt.run(opened()))
        async with asyncio.timeout(60):
            while words("en")("terminal.opening") not in await drawn.get():
                pass
            opening.set()
            while words("en")("terminal.opening") in await drawn.get():
                pass
        keys.send_text("\x04")
        assert await sitting == 0


class Written(Prompt):
    """Keeps the lines that it writes above itself."""

    written: asyncio.Queue[str]

    async def write(self, lines: Sequence[str]) -> None:
        self.written.put_nowait("\n".join(lines))


async def test_the_prompt_offers_a_local_model_server_in_one_sentence(tmp_path: Path) -> None:
    app = FakeApp(nothing, server=LocalServer("ollama", "Ollama", ("qwen3:8b",)), looked=asyncio.Event())
    drawn = asyncio.Event()

    async def opened() -> FakeApp:
        return app

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = Written(Conversation("en", "t"), tmp_path, [], colour=False)
        prompt.written = asyncio.Queue()
        prompt._session.app.after_render += lambda app: drawn.set()
        sitting = asyncio.create_task(prompt.run(opened()))
        async with asyncio.timeout(60):
            await drawn.wait()  # the prompt appears while the search for servers continues
            assert await prompt.written.get() == "some:model · embedding some:vectors"
            assert prompt.written.empty()
            assert app.looked is not None
            app.looked.set()
            assert await prompt.written.get() == "I found Ollama with qwen3:8b. To use it: /models use ollama"
        keys.send_text("\x04")
        assert await sitting == 0


async def test_the_prompt_prints_only_the_beginning_of_a_line_that_is_too_long(tmp_path: Path) -> None:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = Written(Conversation("en", "t"), tmp_path, [], colour=False)
        prompt.written = asyncio.Queue()
        await prompt._line("word " * 5_000)
        assert prompt.written.get_nowait() == f"› {'word ' * 40}…"
        assert "That line has 24999 characters" in " ".join(prompt.written.get_nowait().split())
        await prompt._line(f"/help {'x' * 400}")
        assert prompt.written.get_nowait() == f"› /help {'x' * 400}"


async def test_at_the_prompt_a_programming_error_is_logged_and_the_next_line_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun = asyncio.Event()

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        begun.set()
        yield Stage("answer", "Answer")

    class Faulty(FakeApp):
        async def perform(self, request: Request) -> FakeTicket:
            if request.text == "broken":
                raise RuntimeError("a fault of ours")
            return await super().perform(request)

    async def opened() -> FakeApp:
        return Faulty(play)

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        prompt = Prompt(Conversation("en", "t"), tmp_path, [], colour=True)
        sitting = asyncio.create_task(prompt.run(opened()))
        keys.send_text("broken\r")
        keys.send_text("whole\r")
        async with asyncio.timeout(60):
            await begun.wait()
        keys.send_text("\x04")
        assert await sitting == 0
    assert "a fault of ours" in caplog.text


async def test_the_prompt_exits_with_one_if_the_app_does_not_open(tmp_path: Path) -> None:
    async def opened() -> FakeApp:
        raise UserError("storage.busy", folder="d", pid=7)

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        assert await Prompt(Conversation("en", "t"), tmp_path, [], colour=False).run(opened()) == 1
