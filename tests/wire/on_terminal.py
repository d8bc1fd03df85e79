"""The driver of the stories in the terminal: lines typed into `python -m bot chat --json`, and the JSON that comes out.

There is one conversation, so only the stories in STORIES run here.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from ast import literal_eval
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tests.kill.process import PATIENCE_S, Events
from tests.kill.remains import shown
from tests.wire.driver import Post, as_typed
from tests.wire.inbox import newest, requests
from tests.wire.model import Answerer
from tests.wire.process import BotProcess
from tests.wire.stock import LANTERNS

STORIES = (
    "a cited answer",
    "a redelivered event",
    "stop",
    "kill 9 mid stream",
    "a 40 000 character answer",
    "a failing model",
    "a language of ones own and then everything deleted",
    "a table plays a story",
    "a scene that a kill 9 cuts off",
    "a story that begins in a window",
)
LOOK_S = 0.01


class ChatProcess(BotProcess):
    """`chat --json` in one thread. `told` has the events of each start."""

    command = ("chat", "--json", "--thread", "t")

    def __init__(self, *where: Any) -> None:
        super().__init__(*where)
        self.told: list[Events] = []
        self._reader: asyncio.Task[None] | None = None
        self._stdin: IO[bytes] | None = None

    async def start(self) -> None:
        theirs, ours = os.pipe()
        read, written = os.pipe()
        await self._fork(theirs, written)
        os.close(theirs)
        os.close(written)
        self._stdin = os.fdopen(ours, "wb", buffering=0)
        self.told.append([])
        self._reader = asyncio.create_task(self._read(read, self.told[-1]))

    @staticmethod
    async def _read(number: int, events: Events) -> None:
        lines = asyncio.StreamReader(limit=2**20)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(number, "rb")
        )
        async for line in lines:
            if line.endswith(b"\n"):  # otherwise the kill cut the line off
                events.append(json.loads(line))

    def type(self, line: str) -> None:
        assert self._stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._stdin.write(f"{line}\n".encode())

    async def leave(self) -> int:
        """Close the input."""
        assert self._stdin is not None
        self._stdin.close()
        return await self.gone()

    async def gone(self) -> int:
        code = await super().gone()
        if self._stdin is not None:
            self._stdin.close()
        return code

    @property
    def ended(self) -> set[str]:
        """The runs whose "done" was printed."""
        return {event["run"] for events in self.told for event in events if event["event"] == "done"}


def beside(fields: tuple[tuple[str, str], ...]) -> str:
    """How plain text shows an event other than text, with values formatted by Python."""
    event = {name: literal_eval(value) for name, value in fields}
    if event["event"] == "citation":
        return f"[{event['n']}] {event['source']} › {event['heading']}"
    return str(event.get("text", ""))


class TerminalTalk:
    """The answers to a line and to the lines typed in reply. `driver` knows the line of each run."""

    def __init__(self, driver: OnTerminal) -> None:
        self._process = driver.process
        self._driver = driver

    def runs(self) -> list[str]:
        pairs = zip(self._driver.begun(), self._driver.lines, strict=False)
        return [run for run, (_, talk) in pairs if talk is self]

    def posts(self) -> list[Post]:
        ended = self._process.ended
        return [
            Post("bot", text, () if run in ended else ("stop",))
            for run in self.runs()
            for text in self._of(run)
        ]

    def said(self) -> list[str]:
        return [text for run in self.runs() for text in self._of(run)]

    def _of(self, run: str) -> list[str]:
        """The output by stage; sources, notices and a failure come after the text."""
        events = [event for some in self._process.told for event in some if event["run"] == run]
        if not any(
            event["event"] == "stage" for event in events
        ):  # a verb of the terminal conversation itself
            return [event["text"] for event in events if "text" in event]
        stages = shown(self._process.told, run).values()
        return ["\n".join([stage.title, stage.text, *map(beside, stage.beside)]) for stage in stages]


class OnTerminal:
    """The terminal: the person who types is the admin; Ana and Bia are the same person."""

    process_of = ChatProcess

    def __init__(self, nothing: object, answerer: Answerer) -> None:
        self.model = answerer
        self.process: ChatProcess
        self.first = 0
        self.lines: list[tuple[str, TerminalTalk]] = []
        """What was typed, and the talk that it belongs to."""
        self._past: set[str] = set()

    def settings(self) -> str:
        return ""

    def environ(self) -> dict[str, str]:
        return {}

    def books(self, folder: Path) -> dict[str, list[Path]]:
        return {"local": [LANTERNS]}

    async def furnish(self, data: Path) -> None:
        """Do nothing: nobody else has to admit the bot."""

    async def begin(self, process: ChatProcess) -> None:
        self.process = process
        await process.start()

    async def sit(self) -> None:
        self.process.mark()
        self.first = newest(self.process.data)
        self._past = set(self._told())

    # Actions of a story

    async def ask(
        self, person: str, question: str, *, verb: str = "rules ask", **options: Any
    ) -> TerminalTalk:
        return self._type(f"/{verb} {question}")

    async def command(self, person: str, line: str, *, talk: Any = None, **options: Any) -> TerminalTalk:
        return self._type(f"/{as_typed(line, options)}", talk)

    async def mention(self, person: str, talk: TerminalTalk, text: str) -> None:
        self._type(text, talk)

    async def press(self, person: str, talk: TerminalTalk, action: str) -> TerminalTalk:
        if action == "choice":
            groups = [
                event for run in talk.runs() for event in self._events(run) if event["event"] == "choices"
            ]
            # Choices come before the other actions.
            return self._type(groups[-2]["choices"][0]["command"], talk)
        await self.until(lambda: any(action in post.actions for post in talk.posts()))
        return self._type(f"/{action}")

    async def choose(self, person: str, talk: TerminalTalk, label: str) -> TerminalTalk:
        """Type the choice's line."""

        def lines() -> list[str]:
            groups = [
                event for run in talk.runs() for event in self._events(run) if event["event"] == "choices"
            ]
            return [
                choice["command"]
                for group in groups
                for choice in group["choices"]
                if choice["label"] == label
            ]

        await self.until(lambda: bool(lines()))
        return self._type(lines()[-1], talk)

    async def fill(
        self, person: str, talk: TerminalTalk | None, opened: TerminalTalk, text: str, **options: str
    ) -> TerminalTalk:
        """There is no window: the text is typed on the next line."""
        return self._type(text, talk or opened)

    async def redeliver(self) -> None:
        """Do nothing: the next process continues unfinished requests by itself."""
        await self.restart(kill=False)

    async def restart(self, *, kill: bool = True) -> None:
        if kill:
            await self.process.kill()
        else:
            await self.process.leave()
        await self.begin(self.process)

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not true():
                assert self.process.alive, self.process.log()
                await asyncio.sleep(LOOK_S)

    async def rest(self, runs: int) -> None:
        await self.until(lambda: "" not in (states := self.states()) and len(states) >= runs)
        await self.until(lambda: set(self.runs()) <= self.process.ended)

    def channel(self, table: int = 0) -> Any:
        return Lines([line for line, _ in self.lines])

    # What people see

    def _type(self, line: str, talk: TerminalTalk | None = None) -> TerminalTalk:
        talk = talk or TerminalTalk(self)
        self.lines.append((line, talk))
        self.process.type(line)
        return talk

    def _events(self, run: str) -> Events:
        return [event for events in self.process.told for event in events if event["run"] == run]

    def begun(self) -> list[str]:
        """The runs with output, in the order of the lines: each ends before the next begins."""
        return [run for run in self._told() if run not in self._past]

    def _told(self) -> list[str]:
        return list(dict.fromkeys(event["run"] for events in self.process.told for event in events))

    def states(self) -> list[str]:
        return [state for _, state in requests(self.process.data, self.first)]

    def runs(self) -> list[str]:
        return [run for run, _ in requests(self.process.data, self.first)]

    def check(self) -> None:
        assert self.process.alive, self.process.log()
        assert "Traceback" not in self.process.log(), self.process.log()

    def story(self) -> str:
        return "\n".join([*map(str, self.process.told), self.process.log()])


class Lines:
    """The typed lines as a conversation."""

    def __init__(self, typed: list[str]) -> None:
        self._typed = typed

    def posts(self) -> list[Post]:
        return [Post("Ana", line) for line in self._typed]

    def said(self) -> list[str]:
        return []
