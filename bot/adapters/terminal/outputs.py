"""The output of a pipe: plain text as it arrives, without colours; or every event as one line of JSON.

docs/json.md describes the fields. Independent of prompts and works.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, get_args

from bot.adapters.markdown import clean
from bot.adapters.terminal.markdown import BOLD, RED, Ink, MarkdownStream, coloured
from bot.adapters.terminal.view import Claims, Stages, TerminalView, save
from bot.events import Changed, Ended, Event, Failed, Notice, Request, Shown, Speak, Text
from bot.view import View
from bot.words import words

if TYPE_CHECKING:
    from bot.speech.clips import Clip

# JSON allows them unescaped in a string, but some end lines for line readers, and others control a terminal.
_BARE = re.compile("[\x7f-\x9f\u2028\u2029]")


class PlainScreen:
    """Writes finished lines to a stream, and the status line to `passing` if that is a terminal."""

    def __init__(self, out: TextIO, ink: Ink, passing: TextIO | None) -> None:
        self.ink = ink
        self._out = out
        self._passing = passing if passing is not None and passing.isatty() else None

    async def write(self, lines: Sequence[str]) -> None:
        self._wipe()
        self._out.write("".join(f"{line}\n" for line in lines))
        self._out.flush()

    def tail(self, run: str, text: str) -> None:
        pass

    def status(self, run: str, text: str) -> None:
        self._wipe()
        if self._passing is not None and text:
            self._passing.write(text[: self.ink.width - 1])
            self._passing.flush()

    def _wipe(self) -> None:
        if self._passing is not None:
            self._passing.write("\r\x1b[K")
            self._passing.flush()


def plain_output(folder: Path, out: TextIO | None = None) -> PlainOutput:
    """The plain output to `out`, else to standard output; without wrapping if a program reads it."""
    out = out or sys.stdout
    tty = out.isatty()
    ink = Ink(coloured(tty), shutil.get_terminal_size().columns if tty else 1_000_000)
    return PlainOutput(PlainScreen(out, ink, sys.stderr), folder)


class PlainOutput:
    """The output for a pipe that bot.adapters.terminal.feed uses."""

    speak = None
    """None: speech is kept as a file; see `clip`."""

    def __init__(self, screen: PlainScreen, folder: Path) -> None:
        self._screen = screen
        self._folder = folder

    def view(self, run: str, request: Request, outbox: Claims) -> View:
        stages = Stages(outbox, request.place.space, run)
        return TerminalView(self._screen, stages, words(request.locale), self._folder, hold=False)

    async def say(self, run: str, text: str) -> None:
        stream = MarkdownStream(self._screen.ink)
        await self._screen.write([*stream.feed(text), *stream.end()])

    async def note(self, run: str, text: str) -> None:
        await self._screen.write([self._screen.ink(clean(text), BOLD)])

    async def fail(self, run: str, text: str) -> None:
        await self._screen.write([self._screen.ink(f"✗ {clean(text)}", RED)])

    async def done(self, run: str, status: str) -> None:
        self._screen.status(run, "")

    async def clip(self, request: Request, clip: Clip, key: str) -> None:
        """Save a narration next to the files of answers, and print its name."""
        if clip.data:
            file = self._folder / clip.name
            await asyncio.to_thread(save, file, clip.data)
            await self.note(request.id, f"{clip.label}: {file}")
        if clip.note:
            await self.note(request.id, clip.note)


def event_fields(event: Event) -> dict[str, Any]:
    """An event's name and fields, with bytes as base64."""
    return {"event": type(event).__name__.lower(), **_fields(event)}


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, tuple):
        return [event_fields(item) if isinstance(item, get_args(Shown)) else _plain(item) for item in value]
    return _fields(value) if is_dataclass(value) else value


class JsonLines:
    """Writes the events of every run to one stream of bytes; each input line ends with exactly one "done"."""

    clip = None
    """None: the reader of the lines turns the words into speech."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._done: set[str] = set()

    def view(self, run: str, request: Request, outbox: Claims) -> View:
        return _JsonView(self, Stages(outbox, request.place.space, run))

    async def speak(self, request: Request, words_aloud: Speak) -> None:
        """Write words for a speech program, each once, even after a crash."""
        self.write({"run": request.id, "stage": None, **event_fields(words_aloud)})

    async def say(self, run: str, text: str) -> None:
        """Write the answer to a verb that needs no run, such as /help."""
        self.write({"run": run, "stage": None, **event_fields(Text(text))})

    async def note(self, run: str, text: str) -> None:
        self.write({"run": run, "stage": None, **event_fields(Notice(text))})

    async def fail(self, run: str, text: str) -> None:
        self.write({"run": run, "stage": None, **event_fields(Failed(text))})

    async def done(self, run: str, status: str) -> None:
        """End a run. Calling it again has no effect."""
        if run not in self._done:
            self._done.add(run)
            self.write({"run": run, "event": "done", "status": status})

    def write(self, line: dict[str, Any]) -> None:
        text = json.dumps(line, ensure_ascii=False, separators=(", ", ": "))
        text = _BARE.sub(lambda bare: f"\\u{ord(bare[0]):04x}", text)
        self._out.write(text.encode("utf-8", errors="replace") + b"\n")
        self._out.flush()


class _JsonView:
    def __init__(self, lines: JsonLines, stages: Stages) -> None:
        self._lines = lines
        self._stages = stages

    async def show(self, event: Shown) -> None:
        retitles = self._stages.retitles(event)
        await self._stages.enter(event)
        line: dict[str, Any] = {"run": self._stages.run, "stage": self._stages.key, **event_fields(event)}
        if self._stages.replaces and not retitles:  # a new title must not drop the text before it
            line["replace"] = True
        self._lines.write(line)

    async def change(self, changed: Changed) -> None:
        if await self._stages.changes(changed):
            self._lines.write(event_fields(changed))

    async def flush(self, status: Ended) -> None:
        await self._stages.leave()

    async def close(self, status: Ended) -> None:
        await self._lines.done(self._stages.run, status)
