"""How one run's events look in a terminal: stages as headed blocks, text as it arrives, then the sources.

Independent of prompts and works: a view writes to the Screen of a prompt or a pipe, and asks Stages whether a stage was
shown before a crash.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol, assert_never

from bot.adapters.footer import letters
from bot.adapters.markdown import clean
from bot.adapters.terminal.markdown import BLUE, BOLD, DIM, GREEN, RED, YELLOW, Ink, MarkdownStream
from bot.events import (
    Attachment,
    Changed,
    Choice,
    Choices,
    Citation,
    Elsewhere,
    Ended,
    Failed,
    Link,
    Notice,
    Picture,
    Shown,
    Speaker,
    Spoiler,
    Stage,
    Status,
    Text,
)
from bot.words import PROGRAM, Words

SEEN_S = 3.0
"""Seconds until the remaining time is shown."""
_SHORT = re.compile(r"/\w+ \w+( \w{,4})?")


class Screen(Protocol):
    """The output of views. `write` is permanent; tail and status are replaced."""

    ink: Ink

    async def write(self, lines: Sequence[str]) -> None: ...

    def tail(self, run: str, text: str) -> None:
        """The open block of the run that streams; "" for none."""

    def status(self, run: str, text: str) -> None:
        """The status line of a run; "" when it is over."""


class Claimed(Protocol):
    @property
    def fresh(self) -> bool: ...

    @property
    def shown(self) -> str | None: ...


class Claims(Protocol):
    """The part of storage.outbox.Outbox that a view without messages to edit needs."""

    async def claim(self, space: str, run: str, stage: str) -> Claimed: ...

    async def get(self, space: str, run: str, stage: str) -> Claimed | None: ...

    async def mark_sent(
        self, space: str, run: str, stage: str, message_id: str, shown: str | None = None
    ) -> None: ...


@dataclass(slots=True)
class Stages:
    """Follows one run's events: which stage is being shown, and whether it was shown before a crash.

    A view asks it when a stage opens, and records here what it has shown when the stage ends. `key` is the open stage,
    None before the first.
    """

    outbox: Claims
    space: str
    run: str
    key: str | None = None
    replaces: bool = False
    _shown: list[str] = field(default_factory=list)

    def retitles(self, event: Shown) -> bool:
        """Whether the event only changes the open stage's title."""
        return isinstance(event, Stage) and event.key == self.key

    async def enter(self, event: Shown) -> None:
        """Note an event before it is shown; `replaces` is then set for it."""
        if isinstance(event, Stage) and not self.retitles(event):
            await self.leave()
            self.key = event.key
            self.replaces = not (await self.outbox.claim(self.space, self.run, event.key)).fresh
        if self.key is not None:
            self._shown.append(repr(event))

    async def leave(self) -> None:
        """Record the open stage as shown."""
        if self.key is not None:
            await self.outbox.mark_sent(self.space, self.run, self.key, self.key, _hash(self._shown))
        self.key, self.replaces = None, False
        self._shown.clear()

    async def changes(self, changed: Changed) -> bool:
        """Whether the stage was shown with other contents. If so, the new contents are recorded as shown."""
        row, shown_hash = await self.outbox.get(self.space, self.run, changed.stage), _hash([repr(changed)])
        if row is None or row.shown in (None, shown_hash):
            return False
        await self.outbox.mark_sent(self.space, self.run, changed.stage, changed.stage, shown_hash)
        return True


def _hash(lines: Sequence[str]) -> str:
    return sha256("\n".join(lines).encode(errors="replace")).hexdigest()[:16]


def typable(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """The choices that can be typed. If two have the same command, only the one that asks no question can, and neither
    of two that differ by the text in their windows.
    """
    times = Counter(choice.command.strip() for choice in choices)
    asking_nothing = {choice.command.strip() for choice in choices if not choice.asks}

    def lost(choice: Choice) -> bool:
        command = choice.command.strip()
        return command in asking_nothing or (times[command] > 1 and choice.filled != "")

    return tuple(choice for choice in choices if not (choice.asks and lost(choice)))


class TerminalView:
    """One run on a screen. With `hold`, everything is written in one block at the end."""

    def __init__(self, screen: Screen, stages: Stages, say: Words, folder: Path, *, hold: bool) -> None:
        self._screen = screen
        self._stages = stages
        self._say = say
        self._folder = folder
        self._hold = hold
        self._held: list[str] = []
        self._text = MarkdownStream(screen.ink)
        self._citations: dict[int, Citation] = {}
        self._said: list[str] = []
        self._pace = Pace(say)

    async def show(self, event: Shown) -> None:
        ink, say = self._screen.ink, self._say
        retitles = self._stages.retitles(event)
        if retitles:
            await self._end_text()
        elif isinstance(event, Stage):
            await self._end_stage()
        await self._stages.enter(event)
        match event:
            case Stage(title=title, speaker=speaker):
                anew = self._stages.replaces and not retitles
                again = f"  ({say('terminal.replaces')})" if anew else ""
                if title or again:
                    await self._write(["", ink(f"▍ {clean(title)}", BOLD, BLUE) + ink(again, YELLOW)])
                if speaker is not None and not retitles:
                    await self._write([self._name(speaker)])
            case Text(text=text) | Spoiler(text=text):
                self._said.append(letters(text))
                await self._write(self._text.feed(text))
                if not self._hold:
                    self._screen.status(self._stages.run, "")
                    self._screen.tail(self._stages.run, self._text.tail())
            case Status():
                self._screen.status(self._stages.run, progress(event, ink.width - 4, self._pace.left(event)))
            case Citation(n=n):
                self._citations[n] = event
            case Choices() if event.taken is None and not typable(event.choices):
                pass
            case Choices(prompt=prompt):
                await self._block([ink.wrap(clean(prompt)), *self._offered(event)])
            case Picture(name=name, png=data, alt=alt):
                saved = await self._save(name, data)
                await self._block([ink.wrap(f"{clean(alt)}  {ink(saved, DIM)}")])
            case Attachment(name=name, data=data):
                saved = await self._save(name, data)
                await self._block([ink.wrap(say("terminal.saved", path=saved))])
            case Elsewhere(place=place, title=title):
                opened = f"{PROGRAM} chat --thread {clean(place.thread)}"
                await self._block([ink.wrap(f"→ {clean(title)}  {ink(opened, DIM)}")])
            case Link(title=title):
                await self._block([ink.wrap(f"→ {clean(title)}")])
            case Notice(text=text):
                await self._block([ink(ink.wrap(clean(text), "· ", "  "), YELLOW)])
            case Failed(text=text):
                await self._block([ink(ink.wrap(clean(text), "✗ ", "  "), RED)])
            case _:
                assert_never(event)

    def _name(self, speaker: Speaker) -> str:
        return self._screen.ink(" ".join(clean(speaker.name).split()), BOLD)

    def _offered(self, group: Choices) -> list[str]:
        """One line per choice, or a single line if their commands are short.

        Once a choice is taken, no commands are shown.
        """
        ink, lines = self._screen.ink, []
        choices = typable(group.choices) if group.taken is None else group.choices
        short = all(_SHORT.fullmatch(choice.command) and not choice.asks for choice in choices)
        if group.taken is None and short:
            offered = [f"{ink(clean(choice.label), BOLD)} {ink(choice.command, DIM)}" for choice in choices]
            return [f"  {' · '.join(offered)}"]
        for n, choice in enumerate(choices):
            label = clean(choice.label)
            typed = clean(choice.command) or ("" if group.votes else self._say("terminal.dismiss"))
            if group.taken is not None:
                lines.append(f"✓ {ink(label, BOLD)}" if n == group.taken else f"  {ink(label, DIM)}")
            else:
                command = f"  {ink(typed, DIM)}{' …' if choice.asks else ''}" if typed else ""
                lines.append(f"  {ink(label, BOLD)}{command}")
        if group.votes and group.taken is None:
            lines.append(ink.wrap(self._say("terminal.no_votes")))
        return lines

    async def change(self, changed: Changed) -> None:
        """Show the changed stage again, with the reason, because printed text cannot be changed."""
        if changed.in_place or not await self._stages.changes(changed):
            return
        ink, key = self._screen.ink, "terminal.changed" if changed.contents else "terminal.withdrawn"
        await self._write(
            ["", ink(f"▍ {clean(changed.title)}".rstrip(), BOLD, BLUE) + ink(f"  ({self._say(key)})", YELLOW)]
        )
        if changed.speaker is not None:
            await self._write([self._name(changed.speaker)])
        for content in changed.contents:
            await self.show(content)
        await self._end_stage()
        await self._write_held()

    async def flush(self, status: Ended) -> None:
        await self._end_stage()
        await self._stages.leave()
        if status == "stopped":
            await self._write([self._screen.ink(self._say("terminal.stopped"), YELLOW)])
        await self._write_held()

    async def _write_held(self) -> None:
        if self._held:
            lines, self._held = self._held, []
            await self._screen.write(lines)

    async def close(self, status: Ended) -> None:
        self._screen.status(self._stages.run, "")

    async def _write(self, lines: Sequence[str]) -> None:
        if self._hold:
            self._held += lines
        elif lines:
            await self._screen.write(lines)

    async def _block(self, lines: Sequence[str]) -> None:
        """End the open paragraph, with its sources, before something that is not text."""
        await self._end_stage()
        await self._write(lines)

    async def _end_text(self) -> None:
        remainder = self._text.end()
        self._screen.tail(self._stages.run, "")
        await self._write(remainder)

    async def _end_stage(self) -> None:
        await self._end_text()
        if self._citations:
            cited = [
                line
                for n in sorted(self._citations)
                for line in citation(self._screen.ink, self._citations[n], self._quoted(n))
            ]
            self._citations.clear()
            self._said.clear()
            await self._write(["", *cited, ""])

    def _quoted(self, n: int) -> bool:
        """Whether the quotation of [n] is part of the text that the stage has just shown."""
        return letters(self._citations[n].quote) in "".join(self._said)

    async def _save(self, name: str, data: bytes) -> str:
        """Save a file of the answer. The run's id distinguishes two files with one name; without spaces a line that
        shows the path is not wrapped within it, and a shell needs no quotes.
        """
        name = f"{self._stages.run[-12:]}-{'-'.join(Path(clean(name)).name.split()) or 'file'}"
        file = self._folder / os.fsdecode(name.encode(sys.getfilesystemencoding(), errors="replace"))
        await asyncio.to_thread(save, file, data)
        return str(file)


def save(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


class Pace:
    """Estimates the remaining time of something with a known total, from its progress since it was first seen."""

    def __init__(self, say: Words, clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._first: tuple[float, int, int] | None = None

    def left(self, status: Status) -> str:
        """The remaining time in words; "" in the first few seconds."""
        if status.done is None or not status.total:
            return ""
        now = self._clock()
        if self._first is None or self._first[2] != status.total or status.done < self._first[1]:
            self._first = now, status.done, status.total
        began, before, total = self._first
        if now - began < SEEN_S or status.done == before or status.done >= total:
            return ""
        seconds = (now - began) / (status.done - before) * (total - status.done)
        if seconds < 60:
            return self._say("terminal.seconds_left", n=max(round(seconds), 1))
        return self._say("terminal.minutes_left", n=round(seconds / 60))


def progress(status: Status, width: int = 76, left: str = "") -> str:
    """The status line within a width, with a bar if the total is known, and the time that is `left`."""
    text, bar = " ".join(clean(status.text).split()), ""
    if status.done is not None and status.total:
        share = min(max(status.done / status.total, 0.0), 1.0)
        filled = round(share * 12)
        numbers_in_text = {str(status.done), str(status.total)} <= set(re.findall(r"\d+", text))
        figures = () if numbers_in_text else (f"{status.done}/{status.total}",)
        bar = " " + " ".join((f"{'━' * filled}{'─' * (12 - filled)}", *figures, *filter(None, (left,))))
    room = max(width - len(bar), 1)
    return (text if len(text) <= room else f"{text[: room - 1]}…") + bar


def citation(ink: Ink, cited: Citation, quoted: bool = False) -> list[str]:
    """[n] with its source, then the quotation unless it is `quoted` above."""
    source = clean(cited.source)
    if cited.heading:
        source += f" › {clean(cited.heading)}"
    if cited.page is not None:
        source += f", p. {cited.page}"
    quote = " ".join(clean(cited.quote).split())
    if len(quote) > 240:
        quote = quote[:240].rsplit(" ", 1)[0] + " …"
    marker = f"[{cited.n}] "
    indent = " " * len(marker)
    lines = [ink.wrap(source, ink(marker, GREEN), indent)]
    if cited.link.startswith(("https://", "http://")):
        lines.append(ink(f"{indent}{clean(cited.link)}", DIM))
    if quoted:
        return lines
    return (
        [*lines, *(ink(line, DIM) for line in ink.wrap(f"“{quote}”", indent, indent).split("\n"))]
        if quote
        else lines
    )
