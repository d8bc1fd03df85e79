"""A platform refuses messages while runs end: soon after its return everything is shown, once and complete.

The outage begins at each moment of an answer in several stages, with and without a restart. For outages of
a bot as a separate process, see tests/wire/test_outages.py.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.discord.shown.links import THREAD
from bot.adapters.discord.text.page import CURSOR
from bot.app import App
from bot.events import Choice, Choices, Citation, Event, Notice, Stage, Status, Text, UserError
from bot.work import Run
from storage.faults import StorageFault
from storage.outbox import Outbox
from tests.adapters.discord.wire import bot
from tests.adapters.slack.desk import QUICK
from tests.adapters.slack.table import seated
from tests.fakes.discord import FakeDiscord
from tests.fakes.outage import Kind, Outage
from tests.fakes.scripted_app import Script
from tests.fakes.slack import FakeSlack
from tests.fakes.slack.elements import held

SOON_S = 60.0
EVENTS: tuple[Event, ...] = (
    Stage("search", "Searching"),
    Status("one moment"),
    Text("Found 3 passages in the book of candles."),
    Stage("answer", "Answer"),
    Text("A lit candle burns for four hours of walking [1]. " * 3),
    Text("It goes out in the rain."),
    Citation(1, "Candles", "Light", "A candle burns for four hours of walking."),
    Notice("Only one of the books was read."),
    Choices("And now?", (Choice("Ask on", "rules ask"),)),
)


class Course:
    """The runs of a test: run n pauses before its nth event until the test releases it."""

    def __init__(self, instants: int, *, fails: bool = False) -> None:
        self.reached = [asyncio.Event() for _ in range(instants)]
        self.go_on = asyncio.Event()
        self.calls: list[str] = []
        self.fails = fails

    def script(self, n: int) -> Script:
        async def play(run: Run) -> AsyncGenerator[Event, None]:
            for at, event in enumerate(EVENTS):
                if at == n:
                    self.reached[n].set()
                    await self.go_on.wait()

                async def call(event: Event = event) -> str:
                    self.calls.append(run.id)
                    return event.text if isinstance(event, Text) else ""

                if isinstance(event, Text):
                    yield Text(await run.step(f"call {at}", call, str))
                else:
                    yield event
            if n == len(EVENTS):
                self.reached[n].set()
                await self.go_on.wait()
            if self.fails:
                raise UserError("app.no_thread")

        return play

    @property
    def scripts(self) -> dict[str, Script]:
        return {question(n): self.script(n) for n in range(len(self.reached))}


def question(n: int) -> str:
    return f"Question {n}?"


class OnDiscord:
    def __init__(self, fake: FakeDiscord, data: Path) -> None:
        self.fake, self.data = fake, data
        guild = fake.guild("Table")
        self.channel = guild.text("general")
        self.people = [fake.user(f"Guest {n}") for n in range(12)]
        for person in self.people:
            guild.join(person)

    @asynccontextmanager
    async def running(self, scripts: dict[str, Script]) -> AsyncIterator[App]:
        async with bot(self.fake, self.data, scripts, hangs_s=1.0) as client:
            yield client.app

    async def ask(self, n: int) -> None:
        await self.fake.slash(self.people[n], self.channel, "rules ask", question=question(n))

    async def say(self, n: int) -> Any:
        return await self.fake.say(self.people[n], self.channel, question(n), mention=True)

    def threads(self) -> dict[str, list[str]]:
        return {
            thread.name: [message.text for message in thread.messages if not message.deleted]
            for thread in self.channel.threads
        }

    def unfinished(self) -> list[str]:
        everything = [message for thread in self.channel.threads for message in thread.messages]
        return [
            message.text
            for message in everything
            if not message.deleted
            and (CURSOR in message.text or any("stop" in str(button.custom_id) for button in message.buttons))
        ]


class OnSlack:
    def __init__(self, fake: FakeSlack, data: Path) -> None:
        self.fake, self.data = fake, data
        fake.limits.on = False  # faster than a real Slack allows
        self.team = fake.workspace("Table")
        self.channel = self.team.channel("general")
        self.people = [self.team.user(f"Guest {n}") for n in range(12)]

    @asynccontextmanager
    async def running(self, scripts: dict[str, Script]) -> AsyncIterator[App]:
        async with seated(self.fake, self.team, self.data, scripts, pace=QUICK) as at:
            yield at.app

    async def ask(self, n: int) -> None:
        await self.fake.command(self.people[n], self.channel, "/rules", f"ask {question(n)}")

    async def say(self, n: int) -> Any:
        return await self.fake.say(self.people[n], self.channel, question(n), mention=True)

    def threads(self) -> dict[str, list[str]]:
        roots = [message for message in self.channel.messages if message.thread_ts is None]
        names = {root.ts: re.findall(r"Question \d+\?", root.shown) for root in roots}
        return {
            names[root.ts][0]: [reply.shown for reply in root.thread if not reply.deleted]
            for root in roots
            if names[root.ts]
        }

    def unfinished(self) -> list[str]:
        messages = [message for message in self.channel.everything if not message.deleted]
        stoppable = [
            message
            for message in messages
            if any(element["action_id"].startswith("stop") for _, element in held(message.blocks))
            or (message.stream is not None and message.stream.live)
        ]
        sessions = self.fake.agents.sessions.values()
        return [message.shown for message in stoppable] + [
            session.status for session in sessions if session.status == "processing"
        ]


PLATFORMS: dict[str, tuple[Callable[[], Any], Callable[[Any, Path], Any]]] = {
    "discord": (FakeDiscord, OnDiscord),
    "slack": (FakeSlack, OnSlack),
}


CASES: list[tuple[str, Kind, bool, bool]] = [
    ("discord", "cut", True, False),
    ("slack", "cut", False, False),
    ("slack", "failing", True, True),
]
"""The platform, how it is down, whether the bot restarts, and whether the run fails."""
SLOW: list[tuple[str, Kind, bool, bool]] = [
    ("discord", "failing", False, False),
    ("discord", "failing", True, True),
    ("slack", "failing", True, False),
]


@pytest.mark.parametrize(
    ("platform", "kind", "restarts", "fails"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
)
async def test_answers_that_end_in_an_outage_are_shown_after_it_complete_and_once(
    tmp_path: Path, platform: str, kind: Kind, restarts: bool, fails: bool
) -> None:
    fake, seat = PLATFORMS[platform]
    course = Course(len(EVENTS) + 1, fails=fails)
    questions = sorted(course.scripts)
    async with fake() as service, AsyncExitStack() as stack:
        at = seat(service, tmp_path)
        app = await stack.enter_async_context(at.running(course.scripts))
        app._execution.showings.late_s = 0.2
        for n in range(len(questions)):
            await at.ask(n)
        async with asyncio.timeout(SOON_S):
            for reached in course.reached:
                await reached.wait()
        outage = Outage(service, kind)
        course.go_on.set()
        await until_owed(app, len(questions))
        if restarts:
            await stack.aclose()
            app = await stack.enter_async_context(at.running({}))
        outage.end()
        await service.until(lambda: len(at.threads()) == len(questions) and not at.unfinished(), SOON_S)
        await until_owed(app, 0)
        assert at.unfinished() == []
        threads = at.threads()
    assert sorted(threads) == questions
    for searched, answer in threads.values():
        assert searched.count("Found 3 passages") == 1
        assert (
            answer.count("It goes out in the rain.") == answer.count("Only one of the books was read.") == 1
        )
        assert answer.count("A lit candle burns") == 3
        assert ("I can't open a thread" in answer) == fails
    assert len(course.calls) == 3 * len(questions), "no model is asked a second time"


@pytest.mark.parametrize(("platform", "restarts"), [("discord", False), ("slack", True)])
async def test_a_question_withdrawn_in_an_outage_loses_its_buttons_and_shows_no_more(
    tmp_path: Path, platform: str, restarts: bool, caplog: pytest.LogCaptureFixture
) -> None:
    fake, seat = PLATFORMS[platform]
    course = Course(6)  # run 5 pauses in its answer
    async with fake() as service, AsyncExitStack() as stack:
        at = seat(service, tmp_path)
        app = await stack.enter_async_context(at.running(course.scripts))
        app._execution.showings.late_s = 0.2
        message = await at.say(5)
        async with asyncio.timeout(SOON_S):
            await course.reached[5].wait()
        await service.until(
            lambda: at.unfinished() and any("A lit candle" in text for text in at.unfinished())
        )
        outage = Outage(service, "failing")
        course.go_on.set()
        await until_owed(app, 1)
        run = (await app.records.unshown.all())[0].run_id
        await service.delete(message)
        async with asyncio.timeout(SOON_S):
            while await app._engine.status(run) is not None:  # noqa: ASYNC110 - the engine tells nobody
                await asyncio.sleep(0.02)
        assert [row.events for row in await app.records.unshown.all()] == [""]
        assert "Question" not in (await app.records.unshown.all())[0].request
        if restarts:
            await stack.aclose()
            app = await stack.enter_async_context(at.running({}))
        outage.end()
        await service.until(lambda: not at.unfinished(), SOON_S)
        await until_owed(app, 0)
    shown = [text for texts in at.threads().values() for text in texts]
    assert not [text for text in shown if "in the rain" in text or "Only one of the books" in text]
    assert "Traceback" not in caplog.text


async def until_owed(app: App, number: int) -> None:
    """Wait until `number` runs have ended but are not shown yet."""
    async with asyncio.timeout(SOON_S):
        while len(await app.records.unshown.all()) != number:  # noqa: ASYNC110 - a database tells nobody
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("call", ["claim", "mark_sent"])
async def test_an_answer_gets_its_thread_after_a_short_database_outage(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A statement that changes something is not repeated automatically: it may already have taken effect."""
    real, faults = getattr(Outbox, call), [StorageFault("other", away=True)]

    async def away(self: Outbox, space: str, run: str, stage: str, *more: Any) -> Any:
        if stage == THREAD and faults:
            raise faults.pop()
        return await real(self, space, run, stage, *more)

    monkeypatch.setattr(Outbox, call, away)
    course = Course(1)
    course.go_on.set()
    async with FakeDiscord() as fake:
        discord = OnDiscord(fake, tmp_path)
        async with discord.running(course.scripts):
            await discord.ask(0)

            def shown() -> list[str]:
                return [text for texts in discord.threads().values() for text in texts]

            await fake.until(lambda: any("It goes out" in text for text in shown()))
    assert not faults
    assert len(discord.threads()) == 1
