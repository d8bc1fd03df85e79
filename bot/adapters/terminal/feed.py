"""Lines from a pipe: each run ends before the next line is read; at the end of input the remaining runs finish.

Serves the plain and the JSON chat; the output decides how things are shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol

from bot.adapters.terminal.conversation import (
    Application,
    Conversation,
    LocalVerb,
    new_id,
    new_thread,
    only_adults,
)
from bot.adapters.terminal.view import Claims
from bot.commands import ROWS
from bot.events import Request, Speak, UserError
from bot.platforms import Platform
from bot.runs.requests import WATCH
from bot.view import View

if TYPE_CHECKING:
    from bot.speech.clips import Clips, Post

PATIENCE_S = 3.0
"""How many seconds a job of a pipe may take before its reader learns why the next lines wait."""


class Output(Protocol):
    """The output of a feed's runs; each run ends with exactly one `done`.

    `speak` receives spoken words, if the output can use them; otherwise `clip` is called with an audio file of them.
    """

    @property
    def speak(self) -> Callable[[Request, Speak], Awaitable[None]] | None: ...

    @property
    def clip(self) -> Post | None: ...

    def view(self, run: str, request: Request, outbox: Claims) -> View: ...

    async def say(self, run: str, text: str) -> None: ...

    async def note(self, run: str, text: str) -> None: ...

    async def fail(self, run: str, text: str) -> None: ...

    async def done(self, run: str, status: str) -> None: ...


@dataclass(slots=True)
class _Line:
    run: str
    text: str
    stopped: bool = False
    stops: int = 0


async def lines(source: BinaryIO, otherwise: str = "utf-8") -> AsyncIterator[str]:
    """The lines of a stream that may block, read without blocking the loop or the process's end.

    A line that is not UTF-8 is decoded with `otherwise`, the terminal's encoding.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()

    def pump() -> None:
        # After a signal the loop is closed while this thread still reads.
        with contextlib.suppress(RuntimeError):
            for line in _unlocked(source):
                loop.call_soon_threadsafe(queue.put_nowait, line)
            loop.call_soon_threadsafe(queue.put_nowait, b"")

    # A daemon thread, because nothing can interrupt a read that waits for a person.
    threading.Thread(target=pump, name="stdin", daemon=True).start()
    while line := await queue.get():
        try:
            yield line.decode()
        except UnicodeDecodeError:
            yield line.decode(otherwise, errors="replace")


def _unlocked(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream, read below its buffer.

    A thread that waits for input would hold the buffer's lock, which aborts the interpreter at its end.
    """
    raw = getattr(source, "raw", source)
    partial_line = b""
    while some := raw.read(65_536):
        *lines, partial_line = (partial_line + some).split(b"\n")
        yield from (line + b"\n" for line in lines)
    if partial_line:
        yield partial_line


class Feed:
    """Runs lines one by one. With `overtake`, /stop is handled before its turn.

    `elsewhere` shows what does not belong to this conversation, such as a run that an earlier process left unfinished;
    without it the output does.
    """

    def __init__(
        self, conversation: Conversation, output: Output, *, overtake: bool, elsewhere: Output | None = None
    ) -> None:
        self._conversation = conversation
        self._output = output
        self._elsewhere = elsewhere or output
        self._overtake = overtake
        self._waiting: asyncio.Queue[_Line | None] = asyncio.Queue()
        self._pending: list[_Line] = []
        self._arrived = asyncio.Event()
        self._app: Application | None = None
        self._clips: Clips | None = None
        self._failed = False

    async def run(self, opening: Awaitable[Application], source: AsyncIterator[str]) -> int:
        """Run all lines. Returns 0 if every line succeeded, else 1. If the app does not open, every line fails."""
        say = self._conversation
        reading = asyncio.create_task(self._read(source))
        closed: UserError | None = None
        resumed: list[Request] = []
        try:
            try:
                self._app = await opening
                speak, narrates = self._output.speak, None
                if self._output.clip is not None:
                    self._clips = self._app.clips(self._output.clip, suffix="wav")
                    speak, narrates = self._clips.speak, self._clips.narrates
                for platform in ("terminal", WATCH):
                    self._app.attach(
                        Platform(
                            platform,
                            self._view,
                            origin=lambda place: "",
                            new_thread=new_thread,
                            speak=speak,
                            narrates=narrates,
                            reader=self._clips,
                            adults=only_adults,
                        )
                    )
                resumed = await self._app.start()
                await self._conversation.follow_language(self._app)
            except UserError as error:
                closed = error
                print(say.sentence(error), file=sys.stderr)
            while (line := await self._waiting.get()) is not None:
                if self._app is None or closed is not None:
                    await self._finish(line, closed)
                else:
                    await self._answer(line, self._app)
                self._pending.remove(line)
            if self._app is not None and closed is None:
                for request in resumed:  # received before, so only awaited
                    await (await self._app.perform(request)).wait()
                if self._overtake:
                    # A program reads every event. A person's pipe ends, and the next start continues.
                    await self._app.idle()
                if self._clips is not None:
                    await self._clips.settled()
        finally:
            reading.cancel()
            if self._app is not None:
                await self._app.close()
        return 1 if self._failed or closed is not None else 0

    def _view(self, run: str, request: Request, outbox: Claims) -> View:
        output = self._output if request.place == self._conversation.place else self._elsewhere
        return self._conversation.watched(output.view(run, request, outbox), request)

    async def _read(self, source: AsyncIterator[str]) -> None:
        async for text in source:
            if not text.strip():
                continue
            if self._conversation.leaves(text):
                break
            line = _Line(new_id(), text)
            if self._overtake and text.strip().lower() == "/stop":
                line.stops = await self._stop()
            self._pending.append(line)
            self._waiting.put_nowait(line)
            self._arrived.set()
        self._waiting.put_nowait(None)

    async def _stop(self) -> int:
        """Stop the active run and the waiting lines before this one. Returns how many were stopped."""
        waiting = [before for before in self._pending if not before.stopped]
        for before in waiting:
            before.stopped = True
        if self._app is not None and waiting:
            await self._app.stop(self._conversation.place)
        return len(waiting)

    def _overtaken(self, line: _Line) -> bool:
        return line.stopped

    async def _answer(self, line: _Line, app: Application) -> None:
        if self._overtaken(line):
            await self._output.done(line.run, "stopped")
            return
        try:
            read = self._conversation.read(line.text)
            if isinstance(read, str):
                await self._output.note(line.run, read)
                await self._output.done(line.run, "done")
                return
            request = await self._conversation.request(line.run, read, app)
            if isinstance(request, LocalVerb):
                await self._local(line, request)
                return
            ticket = await app.perform(request)
        except UserError as error:
            await self._finish(line, error)
            return
        if self._overtaken(line):  # a /stop arrived while the request was on its way
            await app.stop(self._conversation.place)
        explaining = asyncio.create_task(self._explain(request))
        try:
            status = await ticket.wait()
        finally:
            explaining.cancel()
        await self._conversation.follow_language(app)
        if self._clips is not None:  # a pipe's reader finds it after its text
            await self._clips.settled()
        self._failed |= status == "failed"
        await self._output.done(ticket.run, status)

    async def _explain(self, request: Request) -> None:
        """Say why lines wait for a job: only of a pipe, and `elsewhere`, since it answers none of them."""
        if self._overtake or not ROWS[request.work, request.verb].background:
            return
        await asyncio.sleep(PATIENCE_S)
        while len(self._pending) < 2:  # the first is the job's own
            self._arrived.clear()
            await self._arrived.wait()
        await self._elsewhere.note(request.id, self._conversation.say("terminal.lines_wait"))

    async def _local(self, line: _Line, local: LocalVerb) -> None:
        if local.verb == "help":
            await self._output.say(line.run, self._conversation.help(local.text))
        else:
            await self._output.note(line.run, self._conversation.stopped(line.stops))
        await self._output.done(line.run, "done")

    async def _finish(self, line: _Line, error: UserError | None) -> None:
        self._failed = True
        text = self._conversation.sentence(error) if error else ""
        await self._output.fail(line.run, text)
        await self._output.done(line.run, "failed")
