"""`chat --json`: what a program that reads its output can rely on."""

from __future__ import annotations

import asyncio
import base64
import io
import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest

from bot.adapters.terminal.conversation import Conversation
from bot.adapters.terminal.feed import Feed
from bot.adapters.terminal.outputs import JsonLines, event_fields
from bot.events import (
    Answered,
    Attachment,
    Changed,
    Choice,
    Choices,
    Citation,
    Elsewhere,
    Event,
    Failed,
    Hush,
    Link,
    Notice,
    Picture,
    Place,
    Request,
    Speak,
    Speaking,
    Spoiler,
    Stage,
    Status,
    Text,
    Unquoted,
    UserError,
)
from tests.fakes.application import FakeApp, FakeOutbox

EXAMPLES: list[Event] = [
    Stage("answer", "Answer"),
    Text("It \u2028 may."),
    Status("searching", 1, 3),
    Citation(1, "srd.md", "Grappled", "speed becomes 0", 290),
    Choices("Which?", (Choice("A", "/rules ask A"),)),
    Picture("map.png", b"\x89PNG", "a map"),
    Attachment("ballots.json", "application/json", b"{}"),
    Elsewhere(Place("discord", "1", "2", "3"), "The siege of the mill"),
    Link("run", "The siege of the mill"),
    Speak("It may.", "verdict", "chair", "en"),
    Changed("run", "answer", "Answer", (Text("Or not."),)),
    Notice("word for word"),
    Failed("no"),
    Spoiler("The ferry sinks."),
]


async def given(*lines: str) -> AsyncIterator[str]:
    for line in lines:
        yield line


async def echo(request: Request) -> AsyncGenerator[Event, None]:
    if request.text == "sorry":
        raise UserError("desk.new")
    yield Stage("answer", "Answer")
    yield Text(f"{request.verb}: {request.text}")


async def spoken(app: FakeApp, *lines: str) -> tuple[int, list[dict[str, Any]]]:
    out = io.BytesIO()

    async def opened() -> FakeApp:
        return app

    code = await Feed(Conversation("en", None), JsonLines(out), overtake=True).run(opened(), given(*lines))
    return code, [json.loads(line) for line in out.getvalue().decode().splitlines()]


def test_every_event_has_an_example_here() -> None:
    assert {type(example) for example in EXAMPLES} | {Answered, Speaking, Hush, Unquoted} == set(
        get_args(Event)
    )


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_the_fields_are_those_of_the_event_and_documented(event: Event) -> None:
    made = event_fields(event)
    name = type(event).__name__.lower()
    assert made.pop("event") == name
    assert list(made) == [field.name for field in fields(event)]
    section = (
        Path("docs/json.md").read_text(encoding="utf-8").split(f"\n### {name}\n", 1)[1].split("\n### ", 1)[0]
    )
    assert {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")} == set(made)


def test_bytes_come_as_base64() -> None:
    assert event_fields(EXAMPLES[5])["png"] == base64.b64encode(b"\x89PNG").decode()


async def test_each_line_ends_with_exactly_one_done() -> None:
    app = FakeApp(echo)
    code, lines = await spoken(
        app, "what is it?", "", "/rules roll 2d6", "/nonsense", "/help", "sorry", "/new"
    )
    done = [line for line in lines if line["event"] == "done"]
    assert [line["status"] for line in done] == ["done", "done", "failed", "done", "failed", "done"]
    assert code == 1
    assert app.closed
    for run in {line["run"] for line in lines}:
        mine = [line["event"] for line in lines if line["run"] == run]
        assert mine.count("done") == 1
        assert mine[-1] == "done"


async def test_success_exits_with_zero_and_events_name_run_and_stage() -> None:
    code, lines = await spoken(FakeApp(echo), "hello")
    assert code == 0
    run = lines[0]["run"]
    assert lines == [
        {
            "run": run,
            "stage": "answer",
            "event": "stage",
            "key": "answer",
            "title": "Answer",
            "speaker": None,
            "calls": [],
            "meanwhile": None,
            "answer": False,
        },
        {"run": run, "stage": "answer", "event": "text", "text": "ask: hello"},
        {"run": run, "event": "done", "status": "done"},
    ]


async def test_stop_is_read_before_the_answer_ends_and_cancels_waiting_lines() -> None:
    begun = asyncio.Event()

    async def endless(request: Request) -> AsyncGenerator[Event, None]:
        yield Stage("answer", "Answer")
        begun.set()
        await asyncio.Event().wait()

    async def lines() -> AsyncIterator[str]:
        yield "first"
        yield "second"
        await begun.wait()
        yield "/stop"

    out = io.BytesIO()
    app = FakeApp(endless)

    async def opened() -> FakeApp:
        return app

    code = await Feed(Conversation("en", None), JsonLines(out), overtake=True).run(opened(), lines())
    done = [line for line in map(json.loads, out.getvalue().splitlines()) if line["event"] == "done"]
    assert [line["status"] for line in done] == ["stopped", "stopped", "done"]
    assert [request.text for request in app.requests] == ["first"]
    assert code == 0


async def test_a_stage_shown_again_says_replace() -> None:
    earlier = Conversation("en", "t").asks("run-1", "rules", "ask", {}, "again")
    outbox = FakeOutbox()
    await outbox.claim("local", "run-1", "answer")
    _, lines = await spoken(FakeApp(echo, unfinished=[earlier], outbox=outbox))
    assert [line.get("replace") for line in lines] == [True, True, None]
    assert lines[-1] == {"run": "run-1", "event": "done", "status": "done"}


async def test_a_new_title_repeats_the_stage_without_replacing_its_text() -> None:
    async def renamed(request: Request) -> AsyncGenerator[Event, None]:
        yield Stage("synthesis", "The chair writes")
        yield Text("Both.")
        yield Stage("synthesis", "Synthesis")

    outbox = FakeOutbox()
    earlier = Conversation("en", "t").asks("run-1", "rules", "ask", {}, "again")
    await outbox.claim("local", "run-1", "synthesis")
    _, lines = await spoken(FakeApp(renamed, unfinished=[earlier], outbox=outbox))
    titles = [(line["title"], line.get("replace", False)) for line in lines if line["event"] == "stage"]
    assert titles == [("The chair writes", True), ("Synthesis", False)]
    assert outbox.sent_stages == [("run-1", "synthesis")]


async def test_every_line_gets_done_even_if_the_app_does_not_open(capsys: pytest.CaptureFixture[str]) -> None:
    async def opened() -> FakeApp:
        raise UserError("storage.busy", folder="d", pid=7)

    out = io.BytesIO()
    code = await Feed(Conversation("en", None), JsonLines(out), overtake=True).run(opened(), given("a", "b"))
    events = [json.loads(line)["event"] for line in out.getvalue().splitlines()]
    assert events == ["failed", "done", "failed", "done"]
    assert code == 1
    assert "process 7" in capsys.readouterr().err


def test_line_breaks_inside_a_text_are_escaped() -> None:
    out = io.BytesIO()
    JsonLines(out).write({"text": "a\u2028b\u2029c\x85d\ne"})
    assert len(out.getvalue().decode().splitlines()) == 1
    assert json.loads(out.getvalue())["text"] == "a\u2028b\u2029c\x85d\ne"


def test_control_characters_in_a_text_are_escaped() -> None:
    out = io.BytesIO()
    steering = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
    JsonLines(out).write({"text": steering})
    assert json.loads(out.getvalue())["text"] == steering
    assert not {chr(code) for code in range(0x7F, 0xA0)} & set(out.getvalue().decode())


async def test_a_changed_stage_is_printed_once_with_the_earlier_runs_id() -> None:
    out, outbox = io.BytesIO(), FakeOutbox()
    request = Conversation("en", None).asks("run-0", "rules", "ask", {})
    view = JsonLines(out).view("run-0", request, outbox)
    await view.show(Stage("answer", "Answer"))
    await view.flush("done")
    for _ in range(2):
        await JsonLines(out).view("run-0", request, outbox).change(EXAMPLES[10])  # type: ignore[arg-type]
    assert json.loads(out.getvalue().splitlines()[-1]) == {
        "event": "changed",
        "run": "run",
        "stage": "answer",
        "title": "Answer",
        "contents": [{"event": "text", "text": "Or not."}],
        "in_place": False,
        "speaker": None,
        "answer": False,
    }
    assert out.getvalue().count(b"changed") == 1
