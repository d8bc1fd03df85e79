"""The terminal without a person at it: plain text to a pipe, text as it comes, no colours.

Knows no prompt. The same view as at the prompt, on a screen without a tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from bot.adapters.draft import clean
from bot.adapters.stages import Claims, Stages
from bot.adapters.terminal_markdown import BOLD, RED, Ink, MarkdownStream
from bot.adapters.terminal_view import TerminalView
from bot.events import Request, View
from bot.words import Words


class PlainScreen:
    """Finished lines to a stream. The passing line goes to `passing` where that is a terminal."""

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


class PlainOutput:
    """What bot.adapters.feed shows through, for a pipe."""

    speak = None
    """The words stand on the screen already."""

    def __init__(self, screen: PlainScreen, say: Words, folder: Path) -> None:
        self._screen = screen
        self._say = say
        self._folder = folder

    def view(self, run: str, request: Request, outbox: Claims) -> View:
        stages = Stages(outbox, request.place.space, run)
        return TerminalView(self._screen, stages, self._say, self._folder, hold=False)

    async def say(self, run: str, text: str) -> None:
        stream = MarkdownStream(self._screen.ink)
        await self._screen.write([*stream.feed(text), *stream.end()])

    async def note(self, run: str, text: str) -> None:
        await self._screen.write([self._screen.ink(clean(text), BOLD)])

    async def fail(self, run: str, text: str) -> None:
        await self._screen.write([self._screen.ink(f"✗ {clean(text)}", RED)])

    async def done(self, run: str, status: str) -> None:
        self._screen.status(run, "")
