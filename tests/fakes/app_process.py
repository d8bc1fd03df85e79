"""A bot without a platform, as a process: `python -m tests.fakes.app_process CONFIG DATA`.

Reads each order as a line of JSON, and answers each with one: {"order", …}. Runs show text on every platform.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import Any

from bot.app import App
from bot.config import load
from bot.events import (
    Attachment,
    Changed,
    Choices,
    Ended,
    Event,
    Place,
    PressedLate,
    Request,
    Shown,
    Speak,
    Text,
    UserError,
)
from bot.kind import Typed
from bot.platforms import Platform
from bot.runs.requests import request_from_json
from bot.speech.clips import Clip
from bot.words import words
from bot.works.story.scene.choices import present_buttons_owner
from storage.outbox import Outbox
from tests.fakes.engine import FakeEngine
from tests.fakes.run import MemoryRun
from tests.forked import Piped

PLATFORM = "table"
STARTED_S = 120.0


class Shows:
    """A view that stores texts by run, with the time of each. `lasts_s` delays the last text."""

    lasts_s = 0.0

    def __init__(self, run: str, shown: dict[str, list[tuple[float, str]]]) -> None:
        self._texts = shown.setdefault(run, [])

    def _add(self, text: str) -> None:
        self._texts.append((time.time(), text))

    async def show(self, event: Shown) -> None:
        self._add(text_of(event))

    async def change(self, changed: Changed) -> None:
        for event in changed.contents:
            self._add(text_of(event))

    async def flush(self, status: Ended) -> None:
        await asyncio.sleep(self.lasts_s)
        self._add(f"\n[{status}]\n")


def text_of(event: Event) -> str:
    """The words of an event, including its buttons and its file."""
    match event:
        case Text():
            return event.text
        case Attachment():
            return f"\n{event.data.decode(errors='replace')}\n"
        case Choices():
            words_of = [event.prompt, *(f"{choice.label} {choice.command}" for choice in event.choices)]
        case _:
            words_of = [str(value) for value in asdict(event).values() if isinstance(value, str) and value]
    return "\n" + "\n".join(words_of) + "\n"


def contents(thing: object) -> Iterable[object]:
    """The direct contents of a container or of an object with slots."""
    if isinstance(thing, dict):
        return [*thing, *thing.values()]
    if isinstance(thing, list | tuple | set | frozenset | deque):
        return list(thing)
    if not str(type(thing).__module__).startswith(("bot.", "storage.")):
        return []
    names = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    return [
        getattr(thing, name, None) for name in names if isinstance(name, str) and not name.startswith("__")
    ]


def owners(thing: object) -> str:
    """The types of the objects that refer to it, and to those."""
    first = [owner for owner in gc.get_referrers(thing) if not isinstance(owner, FrameType)]
    names = []
    for owner in first[:4]:
        above = [type(each).__name__ for each in gc.get_referrers(owner) if not isinstance(each, FrameType)]
        names.append(f"{type(owner).__name__} < {above[:6]}")
    return str(names)


class Served:
    """The orders that the process accepts."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.shown: dict[str, list[tuple[float, str]]] = {}
        self.engine: Any = FakeEngine("hibari", voices=("low", "normal"))
        app.resources.speech._engines["hibari"] = self.engine
        self.posted: list[str] = []
        self.posts: asyncio.Event | None = None
        self.clips = app.clips(self.post, key=PLATFORM, unpost=self.unpost)
        app.attach(
            Platform(
                PLATFORM,
                self.view,
                standing=None,
                speak=self.clips.speak,
                speaks_again=True,
                hush=self.clips.hush,
                narrates=self.clips.narrates,
                reader=self.clips,
            )
        )

    def view(self, run: str, request: Request, outbox: Outbox) -> Shows:
        return Shows(run, self.shown)

    async def post(self, request: Request, clip: Clip, key: str) -> None:
        name = f"{request.id}/{key}"
        self.posted.append(f"{name} begins")
        if self.posts is not None:
            await self.posts.wait()
        self.posted.append(name)

    async def unpost(self, request: Request, key: str) -> None:
        mine = f"{request.id}/{key}"
        self.posted = [posted for posted in self.posted if not posted.startswith(mine)]

    async def mute(self, muted: bool) -> dict[str, Any]:
        """Mute or unmute its voice."""
        if self.engine.gate is not None:
            self.engine.gate.set()
        self.engine.gate = asyncio.Event() if muted else None
        return {}

    async def hold_posts(self, held: bool) -> dict[str, Any]:
        """Hold back clips while they are being posted, or release them."""
        if self.posts is not None:
            self.posts.set()
        self.posts = asyncio.Event() if held else None
        return {}

    async def speak(self, request: str, key: str) -> dict[str, Any]:
        """Have this process make a clip of a run."""
        await self.clips.speak(request_from_json(request), Speak(f"This is {key} of a long story.", key))
        return {}

    async def hush(self, request: str, key: str) -> dict[str, Any]:
        await self.clips.hush(request_from_json(request), key)
        return {}

    async def heard(self) -> dict[str, Any]:
        """The clips that this process has posted, and how many it is making."""
        return {"texts": self.posted, "waiting": self.clips.waiting}

    async def perform(self, request: str) -> dict[str, Any]:
        """Run a request, here or in another process; returns how it ended."""
        asked = request_from_json(request)
        try:
            ticket = await self.app.perform(asked)
        except UserError as refused:
            return {"ended": "refused", "text": words("en")(refused.key, **refused.values)}
        return {"ended": await ticket.wait(), "text": ""}

    async def scene(self, place: str) -> dict[str, Any]:
        """The run of the buttons of a place's current scene."""
        played = await self.app.works["story"].logs.played_in(Place(**json.loads(place)))  # type: ignore[attr-defined]
        return {"text": present_buttons_owner(played.story, played.row.id)}

    async def press(self, request: str) -> dict[str, Any]:
        """Begin the request of a button; returns whether it came too late."""
        try:
            await self.app.perform(request_from_json(request))
        except PressedLate as late:
            return {"late": True, "by": late.options.get("by", "")}
        return {"late": False, "by": ""}

    async def begin(self, request: str) -> dict[str, Any]:
        """Begin a request without waiting for it."""
        await self.app.perform(request_from_json(request))
        return {}

    async def ended(self, run: str) -> dict[str, Any]:
        return {"ended": await self.app.ended(run)}

    async def texts(self, run: str) -> dict[str, Any]:
        """The texts that this process has shown of a run."""
        return {"texts": self.shown.get(run, [])}

    async def last(self, seconds: float) -> dict[str, Any]:
        """Delay the last words of each run; nothing waits for them longer than two seconds."""
        Shows.lasts_s = seconds
        self.app._execution.showings.late_s = 2.0
        return {}

    async def showing(self, run: str) -> dict[str, Any]:
        """Whether something of the run is still being shown."""
        return {"text": str(self.app._execution.showings.has(run))}

    async def read(self, request: str) -> dict[str, Any]:
        """The answer to a request if this process executed it; nothing is stored."""
        asked = request_from_json(request)
        app = self.app
        asked = replace(asked, locale=await app.settings.locale(asked.place, asked.author.id, asked.locale))
        run: Any = MemoryRun()
        run.request = asked
        shown: list[str] = []
        try:
            shown += [text_of(event) async for event in app.works[asked.work].run(run)]
        except UserError as refused:
            shown.append(words(asked.locale)(refused.key, **refused.values))
        return {"text": "".join(shown)}

    async def names(self, kind: str, prefix: str, place: str, author: str) -> dict[str, Any]:
        """The names that complete a partly typed one."""
        there = Place(**json.loads(place))
        typed = Typed(there.space, prefix, author=author, place=there)
        return {"text": "\n".join(await self.app.complete(kind, typed))}

    async def plain(self, place: str, author: str) -> dict[str, Any]:
        """The work and verb of plain text in a place."""
        return {"text": " ".join(await self.app.plain(Place(**json.loads(place)), author, "Well?"))}

    async def forget(self, space: str, run: str) -> dict[str, Any]:
        """Withdraw the request, as its author would."""
        return {"text": str(await self.app.forget(space, run))}

    async def remembers(self, word: str) -> dict[str, Any]:
        """The objects in memory with a text that contains the word, except this view's texts, stemmed single words,
        and values of SQLAlchemy's statements.
        """
        self.shown.clear()
        gc.collect()
        held = []
        for thing in gc.get_objects():
            held_texts = [text for text in contents(thing) if isinstance(text, str) and word in text]
            built = isinstance(thing, dict) and "_orig_key" in thing
            if any(text != word for text in held_texts) and not built:
                held.append(f"{type(thing).__name__}: {repr(contents(thing))[:300]} of {owners(thing)}")
        return {"text": "\n".join(held)}

    async def live(self) -> dict[str, Any]:
        """The ids of the runs that this process executes."""
        return {"text": "\n".join(live.request.id for live in self.app.runs.all())}


async def main(config: str, data: str) -> None:
    gc.unfreeze()  # `remembers` searches all objects, even those from before the fork
    app = await App.open(load(Path(config), Path(data), environ={}))
    served = Served(app)
    await app.start()
    pipe = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(pipe), os.fdopen(0, "rb")
    )
    print(json.dumps({"order": -1}), flush=True)
    obeying: set[asyncio.Task[None]] = set()

    async def obey(order: dict[str, Any]) -> None:
        number, name = order.pop("order"), order.pop("do")
        try:
            answer = await getattr(served, name)(**order)
        except Exception as fault:
            answer = {"fault": f"{type(fault).__name__}: {fault}"}
        print(json.dumps({"order": number, **answer}), flush=True)

    async for line in pipe:
        task = asyncio.create_task(obey(json.loads(line)))
        obeying.add(task)
        task.add_done_callback(obeying.discard)
    await app.close()


class AppProcess:
    """Starts the process and gives it orders."""

    def __init__(self, config: Path, data: Path) -> None:
        self._arguments = (str(config), str(data))
        self._log = data.with_name(data.name + ".log")
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._orders = 0

    async def start(self) -> None:
        started = self._waiting[-1] = asyncio.Future()
        self._process = await Piped.start(
            "tests.fakes.app_process", self._arguments, os.environ, Path.cwd(), self._log
        )
        self._reading = asyncio.create_task(self._read())
        async with asyncio.timeout(STARTED_S):
            await started

    async def _read(self) -> None:
        async for line in self._process.stdout:
            answer = json.loads(line)
            self._waiting.pop(answer.pop("order")).set_result(answer)
        for waiting in self._waiting.values():
            waiting.set_exception(ConnectionError(self.log()))

    async def order(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Give an order; returns its answer. Raises AssertionError if it has failed."""
        self._orders += 1
        number = self._orders
        answered = self._waiting[number] = asyncio.Future()
        self._process.stdin.write(f"{json.dumps({'order': number, 'do': name, **arguments})}\n".encode())
        async with asyncio.timeout(STARTED_S):
            answer = await answered
        assert "fault" not in answer, f"{name}: {answer['fault']}\n{self.log()}"
        return answer

    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-8_000:]

    async def kill(self) -> None:
        self._process.kill()
        await self._process.wait()

    async def leave(self) -> None:
        self._process.stdin.close()
        async with asyncio.timeout(STARTED_S):
            await self._process.wait()
        await self._reading


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
