"""A run's stages as messages: which there are, what each shows by now, and who is told to write them.

Knows no events and no platform: a home says where messages stand, the channel's pen when they are written, and
what a page looks like is known to the functions that make one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol

from bot.adapters import stage_message
from bot.adapters.discreet import traced
from bot.adapters.pen import Pen, Pens, Rank
from bot.adapters.sheet import Facts, Sheet
from bot.adapters.stage_message import StageMessage
from bot.adapters.surface import AnyPage, Gone, Later, Mark, Refused, Shut

if TYPE_CHECKING:
    from storage.outbox import Outbox, OutboxRow

FIRST = "first"
"""The outbox's key for a message that is there before any stage opens, or that holds them all."""

_log = logging.getLogger(__name__)


class Home(stage_message.Home[AnyPage], Protocol[AnyPage]):
    """`tell` is how the screen hears of a sentence to stand beside the answer."""

    tell: Callable[[str], None]

    async def open(self) -> None:
        """Find or make the place; whatever cannot be made, there is a surface afterwards."""
        ...


@dataclass(eq=False, slots=True)
class Staged(Generic[AnyPage]):
    """A stage with its messages, and its pages as they were last made. `worded`: it had words to write."""

    sheet: Sheet
    messages: list[StageMessage[AnyPage]] = field(default_factory=list)
    pages: Sequence[AnyPage] | None = None
    worded: bool = False


class Screen(Generic[AnyPage]):
    """One run's."""

    def __init__(
        self,
        run: str,
        space: str,
        outbox: Outbox,
        home: Home[AnyPage],
        pens: Pens,
        facts: Callable[[bool], Facts],
        pages: Callable[[Sheet, Facts], Sequence[AnyPage]],
        folded: Callable[[Sequence[Sheet], Facts], AnyPage] | None = None,
        wordless: Callable[[AnyPage], bool] = lambda page: False,
    ) -> None:
        """`facts` of a stage, given whether it is the last. `pages` of a stage: its messages, at least one.

        `folded` makes one page of all stages; where it is given, they stand in one message. `wordless`: whether a
        page has nothing to read yet, though its stage has a text.
        """
        self._run = run
        self._space = space
        self._outbox = outbox
        self._home = home
        self._pens = pens
        self._facts = facts
        self._make = pages
        self._folded = folded
        self._wordless = wordless
        self._single = folded is not None
        self._opening: asyncio.Task[None] | None = None
        self._open = False
        self._put: dict[StageMessage[AnyPage], Pen] = {}
        self.stages: list[Staged[AnyPage]] = []
        home.tell = self._tell

    @property
    def opening(self) -> bool:
        """Whether there is, or will soon be, a place where stages are shown."""
        return self._opening is not None

    def open(self) -> None:
        if self._opening is None:
            self._opening = asyncio.create_task(self._open_home())

    async def _open_home(self) -> None:
        try:
            await self._home.open()
        except Exception as fault:  # then the place that it has must do
            _log.error("run %s: its place could not be opened: %s", self._run, traced(fault))
        self._open = True
        for staged in self.stages:
            self.changed(staged)

    def begin(self, sheet: Sheet, row: OutboxRow | None = None) -> None:
        """A new stage. `row` is the outbox's, if it was claimed."""
        staged: Staged[AnyPage] = Staged(sheet)
        if self._single and self.stages:
            staged.messages = self.stages[0].messages
        elif self._single or row is None:
            staged.messages.append(self._message(staged, 0, FIRST if self._single else sheet.key))
        else:
            before = "" if self.stages else FIRST
            staged.messages.append(self._message(staged, 0, sheet.key, row, before))
        self.stages.append(staged)
        for stage in self.stages[-2:]:  # the one before is no longer the last, which has the buttons
            self.changed(stage)

    def take_over(self, sheet: Sheet, row: OutboxRow) -> None:
        """A new stage, in the last one's messages."""
        staged = self.stages[-1]
        staged.sheet = sheet
        if not self._single:
            for message in staged.messages:
                message.take_over(Mark(self._run, sheet.key), row)
        self.changed(staged)

    def changed(self, staged: Staged[AnyPage], *, titled: bool = False) -> None:
        """The stage has something new, perhaps another title: have it written, once there is a place for it."""
        staged.pages = None
        if not self._open:
            return
        final = not staged.sheet.growing
        words = bool(staged.sheet.text.strip()) and (final or staged.worded or self._reads(staged))
        rank = Rank.FINAL if final else Rank.FIRST if words and not staged.worded else Rank.PASSING
        staged.worded = words
        # While it grows, only its last message does; the title stands in the first.
        for message in staged.messages if final or titled else staged.messages[-1:]:
            self._write(message, rank, empty=not final and not words)
        if final and not self._single:
            self._pages(staged)  # so that all its messages are in line before the next stage's

    def page(self, staged: Staged[AnyPage], part: int = 0) -> tuple[AnyPage, bool] | None:
        """What a message of the stage shows by now, and whether it stays so; None for no longer anything."""
        if self._folded is not None:
            facts = self._facts(True)
            return self._folded([one.sheet for one in self.stages], facts), bool(facts.ended)
        made = self._pages(staged)
        return (made[part], not staged.sheet.growing) if part < len(made) else None

    def drawn(self) -> list[tuple[str, AnyPage]]:
        """Every page that there would be, under the outbox's key of its message, without a place to show it."""
        if self._folded is not None:
            return [(FIRST, self._folded([one.sheet for one in self.stages], self._facts(True)))]
        pages = []
        for staged in self.stages:
            made = self._make(staged.sheet, self._facts(staged is self.stages[-1]))
            key = staged.sheet.key
            pages += [(f"{key}#{part + 1}" if part else key, page) for part, page in enumerate(made)]
        return pages

    @property
    def lacking(self) -> bool:
        """Whether something that the run says could be shown nowhere."""
        return any(message.unshown for staged in self.stages for message in staged.messages)

    @property
    def made_anew(self) -> bool:
        """Whether something stands in another message than it did, which could not be edited."""
        return any(message.mark.turn for staged in self.stages for message in staged.messages)

    async def amend(self, page: Callable[[Sheet, int], AnyPage]) -> bool:
        """Have the last message that can be edited show something else for good; whether it does.

        `page` is given the stage and which of its messages it is, from 0.
        """
        within_reach = [
            (message, staged.sheet, part)
            for staged in self.stages
            for part, message in enumerate(staged.messages)
            if message.within_reach
        ]
        if not within_reach:
            return False
        message, sheet, part = within_reach[-1]
        message.put_right(page(sheet, part))
        self._write(message, Rank.FINAL)
        await self._put.pop(message).settled([message])
        await message.noted()
        return not (message.gone or message.unshown)

    def age(self, staged: Staged[AnyPage]) -> float:
        """Seconds since the last message of the stage was posted; 0 while it is not."""
        posted = staged.messages[-1].posted if staged.messages else None
        return self._pens.clock.time() - posted if posted is not None else 0.0

    def _reads(self, staged: Staged[AnyPage]) -> bool:
        """Whether there is something of its text to read: the platform's pages may hold back its beginning."""
        if self._single:
            return True
        return not self._wordless(self._make(staged.sheet, self._facts(staged is self.stages[-1]))[0])

    def _pages(self, staged: Staged[AnyPage]) -> Sequence[AnyPage]:
        """The stage's pages, each with its message."""
        if staged.pages is None:
            staged.pages = self._make(staged.sheet, self._facts(staged is self.stages[-1]))
            for part in range(len(staged.messages), len(staged.pages)):
                message = self._message(staged, part, f"{staged.sheet.key}#{part + 1}")
                staged.messages.append(message)
                self._write(message, Rank.PASSING if staged.sheet.growing else Rank.FINAL)
        return staged.pages

    def _message(
        self, staged: Staged[AnyPage], part: int, key: str, row: OutboxRow | None = None, instead_of: str = ""
    ) -> StageMessage[AnyPage]:
        return StageMessage(
            self._home,
            self._outbox,
            self._space,
            Mark(self._run, key),
            lambda: self.page(staged, part),
            row=row,
            instead_of=instead_of,
            clock=self._pens.clock,
        )

    def _write(self, message: StageMessage[AnyPage], rank: Rank, *, empty: bool = False) -> None:
        pen = self._pens.at(self._home.surface.key)
        self._put[message] = pen
        pen.put(message, rank, group=self._run, empty=empty)

    def _tell(self, sentence: str) -> None:
        """A sentence of the home's: beside the first stage if it is about the place as it was opened."""
        staged = self.stages[-1 if self._open else 0]
        staged.sheet.notices.append(sentence)
        self.changed(staged)

    async def written(self) -> None:
        """Wait until everything is on the screen, or given up."""
        if self._opening is not None:
            await asyncio.shield(self._opening)  # whoever waits no longer leaves it going on
        while self._put:
            waiting, self._put = self._put, {}
            for message, pen in waiting.items():
                await pen.settled([message])
                await message.noted()
        if not self._single:
            await self._clear()

    async def _clear(self) -> None:
        """Take away the messages that only a text which a crash cut off had needed."""
        for staged in self.stages:
            part = len(self._pages(staged)) + 1
            while row := await self._outbox.get(self._space, self._run, f"{staged.sheet.key}#{part}"):
                if row.message_id is not None:
                    try:
                        await self._home.surface.delete(row.message_id)
                    except (Shut, Refused, Gone, Later) as fault:
                        _log.info("run %s: a message too many stays: %s", self._run, fault)
                part += 1
