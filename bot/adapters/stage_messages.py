"""The messages of a run's stages: made, queued at their channel's writer, and awaited.

Each makes its page when its turn comes, so that all changes until then go into one edit. Independent of events, works
and platforms.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Generic

from bot.adapters.log_redaction import type_and_trace
from bot.adapters.markdown import roll_offset
from bot.adapters.message import Message
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.surface import AnyPage, Gone, MessageRef, MessageStyle, PlaceClosed, Refused
from bot.adapters.writer import Rank, Writer, Writers, until_available
from storage.faults import StorageFault
from storage.patience import patiently

if TYPE_CHECKING:
    from bot.adapters.home import Home
    from storage.outbox import Outbox, OutboxRow

FIRST = "first"
"""The outbox key of a message from before the first stage, or of one message for all stages."""

ALONE = "alone"
"""The outbox key of a message to the asker alone in place of one to everybody."""

OVERDUE_S = 15.0
"""Seconds to wait for the end of a line before a text in an old message continues in another."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dialect(Generic[AnyPage]):
    """A platform's way of showing a run.

    `pages` makes the pages of a stage, one per message, at least one. `folded`, if given, makes one page of all stages,
    for a single message. `adapt` converts a work's Markdown to the platform's; `adapt_alone`, if given, that of a
    failure which only the asker sees, where they asked. After `roll_after_s` a growing text continues in another
    message. `own_keys` are the outbox keys of the adapter's own messages.
    """

    pages: Callable[[StageContent, PageContext], Sequence[AnyPage]]
    folded: Callable[[Sequence[StageContent], PageContext], AnyPage] | None = None
    adapt: Callable[[str], str] = str
    adapt_alone: Callable[[str], str] | None = None
    roll_after_s: float | None = None
    own_keys: Collection[str] = ()


@dataclass(eq=False, slots=True)
class ShownStage(Generic[AnyPage]):
    """A stage with its messages and its last pages.

    `worded`: it has had text to show. `fresh`: no earlier process has shown any of it.
    """

    content: StageContent
    messages: list[Message[AnyPage]] = field(default_factory=list)
    pages: Sequence[AnyPage] | None = None
    worded: bool = False
    fresh: bool = False


@dataclass(eq=False, slots=True)
class StageMessages(Generic[AnyPage]):
    """The messages of one run. `context` gives the PageContext of the last stage (True) or of an earlier one.

    `opening` opens the home; once that is `placed`, messages can be written. `in_place`: they are only edited, never
    posted. `unhurried`: nobody waits for the first words, so a short stage is posted once, when it is complete.
    """

    run: str
    space: str
    outbox: Outbox
    home: Home[AnyPage]
    writers: Writers
    dialect: Dialect[AnyPage]
    context: Callable[[bool], PageContext]
    stages: list[ShownStage[AnyPage]] = field(default_factory=list)
    opening: asyncio.Task[None] | None = None
    placed: bool = False
    in_place: bool = False
    unhurried: bool = False
    _put: dict[Message[AnyPage], Writer] = field(default_factory=dict)

    @property
    def contents(self) -> list[StageContent]:
        return [staged.content for staged in self.stages]

    def begin(self, content: StageContent, row: OutboxRow | None = None) -> ShownStage[AnyPage]:
        """Add a stage. `row` is the outbox's row if the stage was claimed."""
        staged = ShownStage[AnyPage](content, fresh=row is not None and row.fresh)
        if self.dialect.folded is None:
            before = FIRST if row is not None and not self.stages else ""
            staged.messages.append(self._message(staged, 0, content.key, row, before))
        elif self.stages:
            staged.messages = self.stages[0].messages
        else:
            staged.messages.append(self._message(staged, 0, FIRST))
        self.stages.append(staged)
        for stage in self.stages[-2:]:  # the previous stage loses the buttons, which only the last stage has
            self.changed(stage)
        return staged

    def replace(self, staged: ShownStage[AnyPage], content: StageContent, row: OutboxRow) -> None:
        """Show another stage, whose `row` was claimed, in the messages of this one."""
        staged.content, staged.fresh = content, row.fresh
        if self.dialect.folded is None:
            for message in staged.messages:
                message.take_over(MessageRef(self.run, content.key), row)
        self.changed(staged)

    def grow(self, staged: ShownStage[AnyPage], text: str) -> None:
        """Add text, in another message if the last one has grown too old."""
        content, posted = staged.content, staged.messages[-1].posted
        roll_after_s = self.dialect.roll_after_s
        age = self.writers.clock.time() - posted if posted is not None else 0.0
        # One message per cut: no further cut until the message after the last cut exists.
        if roll_after_s is not None and age > roll_after_s and len(staged.messages) > len(content.cuts):
            at = roll_offset(content.text, text, overdue=age > roll_after_s + OVERDUE_S)
            if at is not None and at > max(content.cuts, default=0):
                content.cuts.append(at)
        content.text += text

    def open(self) -> None:
        """Start opening the home; all messages are queued once it is open."""
        if self.opening is None:
            self.opening = asyncio.create_task(self._opened())

    async def _opened(self) -> None:
        try:
            # Tried again if the database was briefly away; as after a crash, it finds what was made.
            await patiently(self.home.open)
        except Exception as fault:  # then the home's present surface is used
            _log.error("run %s: its place could not be opened: %s", self.run, type_and_trace(fault))
        self.placed = True
        for staged in self.stages:
            self.changed(staged)

    def changed(self, staged: ShownStage[AnyPage], *, titled: bool = False) -> None:
        """Queue the messages of a changed stage once the home is open. `titled`: its title has changed too."""
        staged.pages = None
        if not self.placed:
            return
        final = not staged.content.growing
        worded = bool(staged.content.text.strip()) and (final or not self.unhurried)
        if worded and not (final or staged.worded or self.dialect.folded):
            worded = not self._pages(staged)[
                0
            ].wordless  # a platform's pages may hold back the beginning of a text
        rank = Rank.FINAL if final else Rank.FIRST if worded and not staged.worded else Rank.PASSING
        staged.worded = worded
        # While the text grows, only the last message changes; the title is in the first.
        for message in staged.messages if final or titled else staged.messages[-1:]:
            self._write(message, rank, empty=not final and not worded)
        if final and self.dialect.folded is None:
            self._add_messages(staged)  # so that all are queued before those of the next stage

    def _write(self, message: Message[AnyPage], rank: Rank, *, empty: bool = False) -> None:
        writer = self.writers.at(self.home.surface.key)
        self._put[message] = writer
        writer.put(message, rank, group=self.run, empty=empty)

    def _message(
        self,
        staged: ShownStage[AnyPage],
        part: int,
        key: str,
        row: OutboxRow | None = None,
        instead_of: str = "",
    ) -> Message[AnyPage]:
        return Message(
            self.home,
            self.outbox,
            self.space,
            MessageRef(self.run, key),
            partial(self._page, staged, part),
            row=row,
            instead_of=instead_of,
            in_place=self.in_place,
            clock=self.writers.clock,
        )

    def _page(self, staged: ShownStage[AnyPage], part: int) -> tuple[AnyPage, bool] | None:
        """The present page of a message of the stage, and whether it is final; None if the message has no page any
        more.
        """
        if self.dialect.folded is not None:
            context = self.context(True)
            return self.dialect.folded(self.contents, context), bool(context.ended)
        self._add_messages(staged)
        pages = self._pages(staged)
        return (pages[part], not staged.content.growing) if part < len(pages) else None

    def _pages(self, staged: ShownStage[AnyPage]) -> Sequence[AnyPage]:
        if staged.pages is None:
            context = self.context(staged is self.stages[-1])
            staged.pages = self.dialect.pages(staged.content, context)
        return staged.pages

    def _add_messages(self, staged: ShownStage[AnyPage]) -> None:
        """Create messages for pages that have none."""
        for part in range(len(staged.messages), len(self._pages(staged))):
            message = self._message(staged, part, f"{staged.content.key}#{part + 1}")
            staged.messages.append(message)
            self._write(message, Rank.PASSING if staged.content.growing else Rank.FINAL)

    async def written(self) -> None:
        """Wait until the home is open and everything is written there or given up."""
        if self.opening is not None:
            await asyncio.shield(self.opening)  # it continues if the waiting is cancelled
        while self._put:
            waiting, self._put = self._put, {}
            for message, writer in waiting.items():
                await self._settled(message, writer)
        if self.dialect.folded is not None:
            return
        for staged in self.stages:  # delete messages that only the longer text before a crash needed
            part = len(self._pages(staged)) + 1
            if staged.fresh and len(staged.messages) < part:
                continue
            while row := await self.outbox.get(self.space, self.run, f"{staged.content.key}#{part}"):
                if row.message_id is not None:
                    try:
                        await until_available(partial(self.home.surface.delete, row.message_id))
                    except (PlaceClosed, Refused, Gone) as fault:
                        _log.info("run %s: a message too many stays: %s", self.run, fault)
                part += 1

    async def take_back(self) -> None:
        """Delete what was posted; write nothing more."""
        self.drop()
        for message in self.posted():
            try:
                await until_available(partial(self.home.surface.delete, message))
            except (PlaceClosed, Refused, Gone) as fault:
                _log.info("run %s: a message stays that says it waits: %s", self.run, fault)

    def posted(self) -> list[str]:
        """The ids of the posted messages."""
        return [message.id for staged in self.stages for message in staged.messages if message.exists]

    def drop(self) -> None:
        """Write nothing more."""
        if self.opening is not None:
            self.opening.cancel()
        for staged in self.stages:
            for message in staged.messages:
                message.gone = True

    async def _settled(self, message: Message[AnyPage], writer: Writer) -> None:
        await writer.settled(message)
        if message.recording is not None:
            await asyncio.shield(message.recording)

    async def amend(self, page: Callable[[StageContent, int], AnyPage]) -> bool:
        """See `home.Amend`."""
        editable = [
            (message, staged.content, part)
            for staged in self.stages
            for part, message in enumerate(staged.messages)
            if message.editable
        ]
        if not editable:
            return False
        message, content, part = editable[-1]
        message.show_finally(page(content, part))
        self._write(message, Rank.FINAL)
        # Only for this one, because the outbox rows of the others may be out of reach.
        await self._settled(message, self._put.pop(message))
        return not (message.gone or message.unshown)

    async def tell_asker(self, instead: str = "") -> bool:
        """Show everything, or how it ended, to the asker alone. Returns False if that is impossible. Needs no open
        home.

        `instead` is the outbox key to use if the stage's key belongs to a message that everybody sees.
        """
        response = self.home.response
        if response is None or (self.home.private and not self.home.ephemeral):
            return False
        if self.dialect.folded is not None:
            pages = [(instead or FIRST, self.dialect.folded(self.contents, self.context(True)))]
        else:
            pages = [
                (f"{key}#{part}" if part > 1 else key, page)
                for staged, key in ((staged, instead or staged.content.key) for staged in self.stages)
                for part, page in enumerate(self._pages(staged), 1)
            ]
        if not response.files and any(page.files for _, page in pages):
            return False  # otherwise one half would be here and the other elsewhere
        try:
            for key, page in pages:
                row = await self.outbox.claim(self.space, self.run, key)
                if row.message_id is None:
                    ref = MessageRef(self.run, key)
                    post = partial(response.post_ephemeral, page, ref, MessageStyle.LAYOUT)
                    message = await until_available(post)
                    await self.outbox.mark_sent(self.space, self.run, key, message, page.shown)
        except (PlaceClosed, Refused, Gone, StorageFault) as fault:
            _log.info("run %s: its end is told to everybody: %s", self.run, fault)
            return False
        return True
