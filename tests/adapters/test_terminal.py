"""The terminal's look: what a run's events become, on a pipe and at the prompt."""

from __future__ import annotations

import asyncio
import io
import os
import re
import time
import wave
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.application import Application, create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from bot.adapters.terminal import welcome
from bot.adapters.terminal.complete import LineCompleter, paths
from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.feed import Feed
from bot.adapters.terminal.markdown import Ink, MarkdownStream, width_of
from bot.adapters.terminal.outputs import PlainOutput, PlainScreen
from bot.adapters.terminal.paths import absolute, absolutes
from bot.adapters.terminal.prompt import TRIES, Prompt
from bot.adapters.terminal.view import Pace, Stages, TerminalView, citation, progress
from bot.events import (
    Attachment,
    Author,
    Changed,
    Choice,
    Choices,
    Citation,
    Elsewhere,
    Event,
    Failed,
    Link,
    Notice,
    Picture,
    Place,
    Request,
    Shown,
    Speak,
    Stage,
    Status,
    Text,
    UserError,
)
from bot.kind import Typed
from bot.llm.local_servers import LocalServer
from bot.words import words
from tests.fakes.application import FakeApp, FakeOutbox, FakeTicket

PLAIN = Ink(False, 60)


class Paper:
    """A screen that remembers."""

    def __init__(self) -> None:
        self.ink = PLAIN
        self.lines: list[str] = []
        self.tails: list[str] = []
        self.statuses: list[str] = []

    async def write(self, lines: Sequence[str]) -> None:
        self.lines += "\n".join(lines).split("\n")

    def tail(self, run: str, text: str) -> None:
        self.tails.append(text)

    def status(self, run: str, text: str) -> None:
        self.statuses.append(text)


async def shown(
    tmp_path: Path, *events: Shown, hold: bool = False, outbox: FakeOutbox | None = None
) -> Paper:
    paper = Paper()
    view = TerminalView(
        paper, Stages(outbox or FakeOutbox(), "local", "run-0"), words("en"), tmp_path, hold=hold
    )
    for event in events:
        await view.show(event)
    await view.flush("done")
    await view.close("done")
    return paper


async def test_a_run_becomes_headed_blocks_with_its_sources_before_what_follows(tmp_path: Path) -> None:
    paper = await shown(
        tmp_path,
        Status("searching", 1, 4),
        Stage("answer", "Answer"),
        Text("It may "),
        Text("not [1]."),
        Citation(1, "srd.md", "Grappled", "speed\nbecomes 0", 290),
        Notice("word for word"),
        Choices("See also", (Choice("Prone", "/rules lookup Prone"),)),
    )
    assert paper.lines == [
        "",
        "▍ Answer",
        "It may not [1].",
        "",
        "[1] srd.md › Grappled, p. 290",
        "    “speed becomes 0”",
        "",
        "· word for word",
        "See also",
        "  Prone  /rules lookup Prone",
    ]
    assert "It may" in paper.tails
    assert paper.statuses[0] == "searching ━━━───────── 1/4"
    assert paper.statuses[-1] == ""


async def test_a_choice_of_doing_nothing_says_that_there_is_nothing_to_type(tmp_path: Path) -> None:
    choices = Choices("Go on?", (Choice("Yes", "/council ask --yes -- Who?"), Choice("Leave it", "")))
    paper = await shown(tmp_path, choices)
    assert paper.lines == ["Go on?", "  Yes  /council ask --yes -- Who?", "  Leave it  nothing to type"]


async def test_another_title_for_the_open_stage_is_a_line_and_not_another_stage(tmp_path: Path) -> None:
    outbox = FakeOutbox()
    paper = await shown(
        tmp_path,
        Stage("synthesis", "The chair writes"),
        Text("Both [1]."),
        Citation(1, "srd.md", "", "quoted"),
        Stage("synthesis", "Synthesis"),
        Text("Dissent: none."),
        outbox=outbox,
    )
    assert paper.lines == [
        "",
        "▍ The chair writes",
        "Both [1].",
        "",
        "▍ Synthesis",
        "Dissent: none.",
        "",
        "[1] srd.md",
        "    “quoted”",
        "",
    ]
    assert outbox.sent_stages == [("run-0", "synthesis")]


async def test_text_is_on_the_screen_before_it_is_whole(tmp_path: Path) -> None:
    paper = await shown(tmp_path, Text("one two"), Text(" three\nfour"))
    assert [tail for tail in paper.tails if tail] == ["one two", "four"]
    assert paper.lines == ["one two three", "four"]


async def test_a_held_run_comes_in_one_block(tmp_path: Path) -> None:
    paper = await shown(tmp_path, Stage("roll", "Ana rolls"), Text("9"), hold=True)
    assert paper.lines == ["", "▍ Ana rolls", "9"]
    assert not any(paper.tails)


async def test_a_replayed_stage_says_that_it_replaces(tmp_path: Path) -> None:
    outbox = FakeOutbox()
    await outbox.claim("local", "run-0", "answer")
    paper = await shown(tmp_path, Stage("answer", "Answer"), Text("x"), outbox=outbox)
    assert "replaces what was shown before" in paper.lines[1]
    assert outbox.sent_stages == [("run-0", "answer")]
    # Another title does not say it again.
    paper = await shown(tmp_path, Stage("answer", "A"), Stage("answer", "B"), outbox=outbox)
    assert "\n".join(paper.lines).count("replaces what was shown before") == 1


async def test_files_are_kept_inside_their_folder(tmp_path: Path) -> None:
    paper = await shown(
        tmp_path,
        Picture("map.png", b"\x89PNG", "a map"),
        Attachment("../../x", "text/plain", b"hi"),
    )
    assert sorted(os.listdir(tmp_path)) == ["run-0-map.png", "run-0-x"]  # noqa: PTH208
    assert paper.lines[0].startswith("a map")


async def test_nothing_that_steers_a_terminal_comes_through(tmp_path: Path) -> None:
    evil = "a\x1b]0;owned\x07b\x1b[2J\u202ec"
    paper = await shown(
        tmp_path,
        Stage("s", evil),
        Text(evil),
        Status(evil),
        Citation(1, evil, evil, evil),
        Choices(evil, (Choice(evil, evil),)),
        Elsewhere(Place(evil, evil, evil, evil), evil),
        Link(evil, evil),
        Notice(evil),
        Failed(evil),
    )
    everything = "\n".join(paper.lines + paper.statuses + paper.tails)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", everything)


def test_a_bar_needs_a_total() -> None:
    assert progress(Status("x")) == "x"
    assert progress(Status("x", 3, 0)) == "x"
    assert progress(Status("x", 9, 4)).endswith("━━━ 9/4")


def test_the_status_names_pages_once_and_the_time_that_is_left() -> None:
    now = [0.0]
    pace = Pace(words("en"), lambda: now[0])
    page = Status("Reading a.pdf: page 0 of 500", 0, 500)
    assert progress(page, 76, pace.left(page)) == "Reading a.pdf: page 0 of 500 ────────────"
    now[0] = 2.0
    assert pace.left(Status("page 50", 50, 500)) == ""
    now[0] = 10.0
    page = Status("Reading a.pdf: page 100 of 500", 100, 500)
    assert progress(page, 76, pace.left(page)) == "Reading a.pdf: page 100 of 500 ━━────────── 40 s left"
    now[0] = 60.0
    assert pace.left(Status("page 150", 150, 500)) == "2 min left"
    assert pace.left(Status("vectors", 0, 90)) == ""
    assert words("pt-BR")("terminal.minutes_left", n=2) == "faltam 2 min"


def test_a_dropped_die_is_struck_through_whatever_it_shows() -> None:
    shown = Ink(True).inline("4d6kh3 (~~**1**~~, **6**, ~~3~~)")
    assert shown == "4d6kh3 (\x1b[2;9m1\x1b[0m, \x1b[1m6\x1b[0m, \x1b[2;9m3\x1b[0m)"


def test_an_escaped_sign_is_shown_as_itself() -> None:
    assert Ink(True).inline(r"The Fool\* \[sic\] and *one*") == "The Fool* [sic] and \x1b[3mone\x1b[0m"


def test_tables_are_aligned_and_lists_hang() -> None:
    stream = MarkdownStream(Ink(False, 30))
    made = [
        *stream.feed("| Die | Hit |\n|---|---|\n| d20 | ação |\n\n- a list item that is long enough\n"),
        *stream.end(),
    ]
    assert made == [
        "Die │ Hit ",
        "────┼─────",
        "d20 │ ação",
        "",
        "• a list item that is long\n  enough",
    ]


def test_a_table_too_wide_for_the_screen_is_a_list_of_its_rows() -> None:
    table = "| Job | Shelf | State |\n|---|---|---|\n| 1a2b3c | a\\|b | running |\n| 4d5e6f | | done |\n\n"
    assert MarkdownStream(Ink(False, 22)).feed(table)[:3] == [
        "• 1a2b3c · Shelf: a|b\n  · State: running",
        "• 4d5e6f · State: done",
        "",
    ]
    assert MarkdownStream(Ink(False, 24)).feed(table)[2] == "1a2b3c │ a|b   │ running"


@given(st.text(alphabet="ab *_`#>|-\n[1]", max_size=80), st.lists(st.integers(1, 9), max_size=30))
def test_however_it_is_cut_a_text_looks_the_same(text: str, cuts: list[int]) -> None:
    whole, parts = MarkdownStream(PLAIN), MarkdownStream(PLAIN)
    made, at = [], 0
    for cut in cuts:
        made += parts.feed(text[at : at + cut])
        at += cut
    made += [*parts.feed(text[at:]), *parts.end()]
    assert made == [*whole.feed(text), *whole.end()]


@given(st.lists(st.text(alphabet="abcé*`", min_size=1, max_size=20), max_size=30), st.integers(25, 60))
def test_wrapped_lines_fit_and_keep_every_word(parts: list[str], width: int) -> None:
    ink = Ink(True, width)
    made = ink.wrap(ink.inline(" ".join(parts)))
    assert all(width_of(line) <= width for line in made.split("\n"))
    plain = Ink(False, width).wrap(" ".join(parts))
    assert plain.split() == parts


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


async def test_what_an_earlier_process_left_is_not_in_the_output_of_a_pipe() -> None:
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


async def test_a_view_that_fails_says_so_on_standard_error_and_once(
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


async def test_a_person_is_told_in_the_language_that_is_set_what_no_run_says() -> None:
    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        yield Text("done")

    app = FakeApp(play)
    _, text = await piped(app, "/nonsense")
    assert "Não conheço" in text
    _, text = await piped(FakeApp(play, language="en"), "/nonsense", "/stop")
    assert "I don't know" in text
    assert text.endswith(words("en")("desk.nothing_to_stop") + "\n")


@pytest.mark.parametrize("narrates", [True, False])
async def test_what_is_narrated_is_a_file_named_behind_its_text(tmp_path: Path, narrates: bool) -> None:
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


async def test_a_pipe_with_a_failure_ends_with_one() -> None:
    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        if request.text:
            raise UserError("desk.new")
        yield Text("never")

    assert (await piped(FakeApp(play), "oi"))[0] == 1
    code, text = await piped(FakeApp(play), "/nada 2d6")
    assert code == 1
    assert "Não conheço `/nada 2d6`" in text


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
    assert await completed("/show rag") == [], "more than one work has that verb"
    (tmp_path / "my book.md").touch()
    assert await completed(f"/library add {tmp_path}/my") == [f"/library add {tmp_path}/my\\ book.md"]


def test_a_path_is_found_as_people_type_or_paste_it(tmp_path: Path) -> None:
    book, accented = tmp_path / "Ember Roads.pdf", tmp_path / normalize("NFD", "ação.md")
    for file in (book, accented, tmp_path / "a.md"):
        file.touch()
    typed = f"{tmp_path}/a.md {tmp_path}/Ember Roads.pdf {tmp_path}/none".split(" ")
    assert absolutes(typed) == [str(tmp_path / "a.md"), str(book), str(tmp_path / "none")]
    assert absolutes([f"file://{tmp_path}/Ember%20Roads.pdf"]) == [str(book)]
    assert absolute(f"{tmp_path}/{normalize('NFC', 'ação.md')}") == str(accented)


async def test_help_and_leaving_are_words_that_need_no_slash() -> None:
    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        yield Text(request.text)

    app = FakeApp(play)
    code, text = await piped(app, "help", "Ajuda", "/ajuda", "quit", "never asked")
    assert (code, app.requests) == (0, [])
    assert text.count("/library") == 3


async def test_at_the_prompt_pasted_lines_run_one_by_one(tmp_path: Path) -> None:
    running, ended = 0, asyncio.Event()

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        nonlocal running
        running += 1
        assert running == 1, "the book is there before it is asked"
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


async def test_at_the_prompt_a_sole_completion_stays_when_tab_is_pressed_again(tmp_path: Path) -> None:
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


async def test_with_nothing_on_the_shelves_a_key_tries_an_example(tmp_path: Path) -> None:
    """The other keys stay on offer until a line is typed; with a book, nothing is offered."""
    asked: asyncio.Queue[Request] = asyncio.Queue()

    async def play(request: Request) -> AsyncGenerator[Shown, None]:
        asked.put_nowait(request)
        yield Text("ok")

    say = words("en")
    for model, shelves, pressed, verbs, means in (
        ("", [], "1", ["add", "ask"], "terminal.means_none"),
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
        named = [key for key in ("terminal.means_none", "terminal.means_model") if say(key) in told]
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


@pytest.mark.parametrize(("program", "order"), [(True, ["behind", "closed"]), (False, ["closed"])])
async def test_a_program_alone_waits_at_the_end_of_input_for_what_goes_on_behind_an_answer(
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


def test_paths_of_a_folder_that_is_not_there_are_none(tmp_path: Path) -> None:
    assert paths(str(tmp_path / "no" / "x")) == []


async def test_at_the_prompt_a_line_waits_for_the_app_and_stop_stops(tmp_path: Path) -> None:
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


async def test_at_the_prompt_it_stops_saying_that_the_library_opens_without_a_key(tmp_path: Path) -> None:
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


async def test_at_the_prompt_a_server_on_this_machine_is_offered_in_one_sentence(tmp_path: Path) -> None:
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
            await drawn.wait()  # the prompt is there while the look goes on
            assert await prompt.written.get() == "some:model · embedding some:vectors"
            assert prompt.written.empty()
            assert app.looked is not None
            app.looked.set()
            assert await prompt.written.get() == "I found Ollama with qwen3:8b. To use it: /models use ollama"
        keys.send_text("\x04")
        assert await sitting == 0


async def test_at_the_prompt_a_fault_of_ours_is_logged_and_the_next_line_runs(
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


async def test_at_the_prompt_an_app_that_does_not_open_ends_it_with_one(tmp_path: Path) -> None:
    async def opened() -> FakeApp:
        raise UserError("storage.busy", folder="d", pid=7)

    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        assert await Prompt(Conversation("en", "t"), tmp_path, [], colour=False).run(opened()) == 1


async def test_what_has_changed_is_shown_once_more_and_once_only(tmp_path: Path) -> None:
    outbox = FakeOutbox()
    await shown(tmp_path, Stage("answer", "Answer"), Text("It may."), outbox=outbox)
    seen = []
    for contents in ((Text("Or not."),), (Text("Or not."),), (), ()):
        paper = Paper()
        view = TerminalView(paper, Stages(outbox, "local", "run-0"), words("en"), tmp_path, hold=True)
        await view.change(Changed("run-0", "answer", "Answer", contents))
        await view.change(Changed("run-0", "never shown", "Answer", (Text("Nobody."),)))
        seen.append([line for line in paper.lines if line])
    assert seen == [
        ["▍ Answer  (changed: this is the new text)", "Or not."],
        [],
        ["▍ Answer  (taken back)"],
        [],
    ]


async def nothing(request: Request) -> AsyncGenerator[Event, None]:
    yield Stage("nothing", "")


@pytest.mark.parametrize("reader", ["person", "asked", "pipe", "program"])
async def test_what_a_crash_cut_off_elsewhere_goes_on_here_or_says_where_it_belongs(
    tmp_path: Path, reader: str
) -> None:
    paper, there = Paper(), Place("terminal", "local", "terminal", "the-door")
    conversation = Conversation("en", None, reader="person" if reader == "asked" else reader)  # type: ignore[arg-type]
    own = conversation.place
    if reader == "asked":
        line = conversation.read("/rules roll 1d6")
        assert not isinstance(line, str)
        await conversation.request("own", line, FakeApp(nothing))
    request = Request("r", there, conversation.author, "story", "act")
    outbox = FakeOutbox()
    await outbox.claim("local", "r", "scene")
    view = TerminalView(paper, Stages(outbox, "local", "r"), words("en"), tmp_path, hold=False)
    watched = conversation.watched(view, request)
    go_on = Choice("Open the door.", "/story act -- Open the door.")
    for event in (Status("It is next."), Stage("scene", "Scene 2"), Text("The sea."), Choices("", (go_on,))):
        await watched.show(event)
    assert bool(paper.lines) == (reader in ("person", "program")), "not in the middle of something else"
    await watched.flush("done")
    await watched.close("done")
    shown = "\n".join(paper.lines)
    told = {"person": " · interrupted before; the conversation continues here", "program": ""}
    elsewhere = " · from an interrupted conversation: python -m bot chat --thread the-door"
    again = "  (starting again: this replaces what was shown before)"
    assert f"▍ Scene 2{told.get(reader, elsewhere)}{again}" in shown
    assert ("interrupted" in shown) == (reader != "program")
    assert conversation.place == (there if reader == "person" else own)
    line = conversation.read(go_on.command)
    assert not isinstance(line, str)
    assert line.answers == ("r" if reader == "person" else "")


def test_blanks_without_end_take_no_longer_the_more_there_are() -> None:
    began = time.process_time()
    MarkdownStream(Ink(False, 80)).feed(" " * 200_000 + "a\n")
    assert time.process_time() - began < 3, "processor, of which it once took twenty times as much"


def test_a_source_that_has_an_address_shows_it_and_no_other_kind_of_one() -> None:
    ink = Ink(colour=False, width=80)
    shown = citation(ink, Citation(2, "bees.txt", "Bees › 5. Swarming", "", link="https://x.org/5"))
    assert shown == ["[2] bees.txt › Bees › 5. Swarming", "    https://x.org/5"]
    assert citation(ink, Citation(2, "bees.txt", "", "", link="javascript:alert(1)")) == ["[2] bees.txt"]
