"""Lines that the terminal adapter reads one by one, as from a pipe."""

from __future__ import annotations

import asyncio
import io
import wave
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from bot.adapters.terminal import feed
from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.feed import Feed
from bot.adapters.terminal.markdown import Ink
from bot.adapters.terminal.outputs import PlainOutput, PlainScreen
from bot.events import (
    Author,
    Event,
    Failed,
    Place,
    Request,
    Shown,
    Speak,
    Stage,
    Text,
    UserError,
)
from bot.words import words
from tests.fakes.application import FakeApp


async def given_lines(*lines: str) -> AsyncIterator[str]:
    for line in lines:
        yield line


async def piped(
    app: FakeApp, *lines: str, folder: Path = Path("unused"), overtake: bool = False
) -> tuple[int, str]:
    out = io.StringIO()

    async def opened() -> FakeApp:
        return app

    conversation = Conversation("pt-BR", None)
    output = PlainOutput(PlainScreen(out, Ink(False, 10**6), None), folder)
    feed = Feed(conversation, output, overtake=overtake)
    return await feed.run(opened(), given_lines(*lines)), out.getvalue()


async def test_a_pipe_gets_plain_text_line_by_line() -> None:
    running: list[str] = []

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        running.append(request.text)
        assert len(running) == 1
        await asyncio.sleep(0)
        yield Text(f"{request.locale} {request.text}")
        running.remove(request.text)

    code, text = await piped(FakeApp(play), "um", "/roll 2d6", "/stop")
    assert code == 0
    assert text.splitlines() == ["pt-BR um", "pt-BR 2d6", words("pt-BR")("desk.nothing_to_stop")]
    assert "\x1b" not in text


async def test_a_pipe_does_not_print_runs_of_an_earlier_process() -> None:
    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        yield Stage("job", "Adding 3 files") if request.work == "library" else Text("9")
        if request.work == "library":
            yield Failed("It broke off.")

    left = Request("old", Place("terminal", "local", "terminal", "t"), Author("a", "a"), "library", "add")
    out, beside = io.StringIO(), io.StringIO()
    app = FakeApp(play, unfinished=[left])

    async def opened() -> FakeApp:
        return app

    output, elsewhere = (
        PlainOutput(PlainScreen(stream, Ink(False, 10**6), None), Path("unused")) for stream in (out, beside)
    )
    feed = Feed(Conversation("en", None, reader="pipe"), output, overtake=False, elsewhere=elsewhere)
    assert await feed.run(opened(), given_lines("/roll 1d10")) == 0
    assert out.getvalue() == "9\n"
    assert "It broke off." in beside.getvalue()


@pytest.mark.parametrize("line", ["/library add srd.md", "/rules roll 2d6"])
async def test_lines_that_wait_for_a_job_say_why_on_standard_error(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "PATIENCE_S", 0)
    out, beside, read = io.StringIO(), io.StringIO(), asyncio.Event()

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        yield Text(request.verb)
        if request.verb in ("add", "roll"):
            await read.wait()
            for _ in range(9):
                await asyncio.sleep(0)

    async def opened() -> FakeApp:
        return FakeApp(play)

    async def typed() -> AsyncIterator[str]:
        yield line
        yield "Who?"
        read.set()

    output, elsewhere = (
        PlainOutput(PlainScreen(stream, Ink(False, 10**6), None), Path("unused")) for stream in (out, beside)
    )
    conversation = Conversation("en", None, reader="pipe")
    assert await Feed(conversation, output, overtake=False, elsewhere=elsewhere).run(opened(), typed()) == 0
    assert out.getvalue().splitlines() == [line.split()[1], "ask"]
    why = "The next lines wait until this is done" if line.startswith("/library") else ""
    assert beside.getvalue().startswith(why)
    assert beside.getvalue().count("\n") == bool(why)


async def test_a_failing_view_is_reported_once_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Full(PlainScreen):
        async def write(self, lines: Sequence[str]) -> None:
            raise OSError(28, "No space left on device")

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        with suppress(OSError):
            yield Text("9\n")

    async def opened() -> FakeApp:
        return FakeApp(play)

    output = PlainOutput(Full(io.StringIO(), Ink(False), None), Path("unused"))
    feed = Feed(Conversation("en", None), output, overtake=False)
    with suppress(OSError):  # which the real application catches
        await feed.run(opened(), given_lines("/roll 1d10", "/roll 1d10"))
    told = capsys.readouterr().err
    assert told.count("could not show the answer here: [Errno 28] No space left on device") == 1


async def test_messages_outside_runs_are_in_the_set_language() -> None:
    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        yield Text("done")

    app = FakeApp(play)
    _, text = await piped(app, "/nonsense")
    assert "Não conheço" in text
    _, text = await piped(FakeApp(play, language="en"), "/nonsense", "/stop")
    assert "I don't know" in text
    assert text.endswith(words("en")("desk.nothing_to_stop") + "\n")


@pytest.mark.parametrize("narrates", [True, False])
async def test_narration_is_a_file_named_after_its_text(tmp_path: Path, narrates: bool) -> None:
    async def play(request: Request) -> AsyncGenerator[Event, None]:
        yield Text("The door opens.\n")
        yield Speak("The door opens.", "scene-1", "Mira", "en")

    def files() -> list[Path]:
        return list(tmp_path.iterdir())

    code, text = await piped(FakeApp(play, narrates=narrates), "um", "dois", folder=tmp_path)
    assert code == 0
    first, *rest = text.splitlines()
    assert first == "The door opens."
    if not narrates:
        assert (rest, files()) == (["The door opens."], [])
        return
    label, _, file = rest[0].rpartition(": ")
    assert label == "🔊 Mira, 0:01"
    assert rest[1] == first
    with wave.open(file) as sound:
        assert (sound.getframerate(), sound.getnchannels(), sound.getnframes() > 9_600) == (48_000, 1, True)
    assert len(files()) == 2


async def test_a_pipe_with_a_failure_exits_with_one() -> None:
    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        if request.text:
            raise UserError("desk.new")
        yield Text("never")

    assert (await piped(FakeApp(play), "oi"))[0] == 1
    code, text = await piped(FakeApp(play), "/nada 2d6")
    assert code == 1
    assert "Não conheço `/nada 2d6`" in text


async def test_help_and_quit_work_without_a_slash() -> None:
    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        yield Text(request.text)

    app = FakeApp(play)
    code, text = await piped(app, "help", "Ajuda", "/ajuda", "quit", "never asked")
    assert (code, app.requests) == (0, [])
    assert text.count("/library") == 3


@pytest.mark.parametrize(("program", "order"), [(True, ["behind", "closed"]), (False, ["closed"])])
async def test_only_a_program_waits_for_background_work_at_the_end_of_input(
    program: bool, order: list[str]
) -> None:
    happened: list[str] = []
    waited_for = asyncio.Event()

    async def behind() -> None:
        await waited_for.wait()
        happened.append("behind")

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        app.behind.append(asyncio.create_task(behind()))
        yield Text("9")

    class Closing(FakeApp):
        async def idle(self) -> None:
            waited_for.set()
            await super().idle()

        async def close(self) -> None:
            happened.append("closed")
            for task in self.behind:
                task.cancel()

    app = Closing(play)
    assert (await piped(app, "/roll 1d10", overtake=program))[0] == 0
    assert happened == order
