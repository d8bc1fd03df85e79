"""The messages of a run's stages: made, queued at their channel's writer, and awaited.

Each makes its page when its turn comes, so that all changes until then go into one edit. Knows no event, no work and no
platform.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Generic

from bot.adapters.markdown import roll_offset
from bot.adapters.message import Message
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.surface import AnyPage, Gone, MessageRef, MessageStyle, PlaceClosed, Refused, Unavailable
from bot.adapters.writer import Rank, Writer, Writers
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.home import Home
    from storage.outbox import Outbox, OutboxRow

FIRST = "first"
"""The outbox's key of a message from before the first stage, or of one message for all stages."""

OVERDUE_S = 15.0
"""How long to wait for the end of a line before a text whose message has grown old continues in another."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dialect(Generic[AnyPage]):
    """How a platform shows a run.

    `pages` makes the pages of a stage, one per message, at least one. `folded`, where given, makes one page of all
    stages, for a single message. `adapt` converts a work's Markdown to the platform's. After `roll_after_s` a growing
    text continues in another message. `own_keys` are the outbox's keys of the adapter's own messages.
    """

    pages: Callable[[StageContent, PageContext], Sequence[AnyPage]]
    folded: Callable[[Sequence[StageContent], PageContext], AnyPage] | None = None
    adapt: Callable[[str], str] = str
    roll_after_s: float | None = None
    own_keys: Collection[str] = ()


@dataclass(eq=False, slots=True)
class ShownStage(Generic[AnyPage]):
    """A stage with its messages and its last pages.

    `worded`: it has had text to show. `fresh`: no process before this one has shown any of it.
    """

    content: StageContent
    messages: list[Message[AnyPage]] = field(default_factory=list)
    pages: Sequence[AnyPage] | None = None
    worded: bool = False
    fresh: bool = False


class StageMessages(Generic[AnyPage]):
    """The messages of one run. `context` gives the PageContext of the last stage (True) or of an earlier one."""

    def __init__(
        self,
        run: str,
        space: str,
        outbox: Outbox,
        home: Home[AnyPage],
        writers: Writers,
        dialect: Dialect[AnyPage],
        context: Callable[[bool], PageContext],
    ) -> None:
        self._run, self._space = run, space
        self._outbox = outbox
        self._home = home
        self._writers = writers
        self._dialect = dialect
        self._context = context
        self.stages: list[ShownStage[AnyPage]] = []
        self.placed = False
        """Whether the home is open, so that messages can be written."""
        self.in_place = False
        """Whether messages are only edited, never posted."""
        self.unhurried = False
        """Whether nobody waits for the first words, so that a short stage is posted once, when it is whole."""
        self._put: dict[Message[AnyPage], Writer] = {}

    @property
    def contents(self) -> list[StageContent]:
        return [staged.content for staged in self.stages]

    def begin(self, content: StageContent, row: OutboxRow | None = None) -> ShownStage[AnyPage]:
        """Add a stage. `row` is the outbox's, if it was claimed."""
        staged = ShownStage[AnyPage](content, fresh=row is not None and row.fresh)
        if self._dialect.folded is None:
            before = FIRST if row is not None and not self.stages else ""
            staged.messages.append(self._message(staged, 0, content.key, row, before))
        elif self.stages:
            staged.messages = self.stages[0].messages
        else:
            staged.messages.append(self._message(staged, 0, FIRST))
        self.stages.append(staged)
        for stage in self.stages[-2:]:  # the one before loses the buttons, which only the last stage has
            self.changed(stage)
        return staged

    def replace(self, staged: ShownStage[AnyPage], content: StageContent, row: OutboxRow) -> None:
        """Show another stage, whose `row` was claimed, in the messages of this one."""
        staged.content, staged.fresh = content, row.fresh
        if self._dialect.folded is None:
            for message in staged.messages:
                message.take_over(MessageRef(self._run, content.key), row)
        self.changed(staged)

    def grow(self, staged: ShownStage[AnyPage], text: str) -> None:
        """Add text; in another message, if the last one has grown too old."""
        content, posted = staged.content, staged.messages[-1].posted
        roll_after_s = self._dialect.roll_after_s
        age = self._writers.clock.time() - posted if posted is not None else 0.0
        # One cut, one message: no further cut before the message after the last cut exists.
        if roll_after_s is not None and age > roll_after_s and len(staged.messages) > len(content.cuts):
            at = roll_offset(content.text, text, overdue=age > roll_after_s + OVERDUE_S)
            if at is not None and at > max(content.cuts, default=0):
                content.cuts.append(at)
        content.text += text

    def open(self) -> None:
        """Queue all messages, now that the home is open."""
        self.placed = True
        for staged in self.stages:
            self.changed(staged)

    def changed(self, staged: ShownStage[AnyPage], *, titled: bool = False) -> None:
        """Queue the messages of a changed stage, once the home is open. `titled`: its title has changed, too."""
        staged.pages = None
        if not self.placed:
            return
        final = not staged.content.growing
        worded = bool(staged.content.text.strip()) and (final or not self.unhurried)
        if worded and not (final or staged.worded or self._dialect.folded):
            worded = not self._pages(staged)[
                0
            ].wordless  # a platform's pages may hold back the beginning of a text
        rank = Rank.FINAL if final else Rank.FIRST if worded and not staged.worded else Rank.PASSING
        staged.worded = worded
        # While the text grows, only the last message changes; the title is in the first.
        for message in staged.messages if final or titled else staged.messages[-1:]:
            self._write(message, rank, empty=not final and not worded)
        if final and self._dialect.folded is None:
            self._add_messages(staged)  # so that all are queued before those of the next stage

    def _write(self, message: Message[AnyPage], rank: Rank, *, empty: bool = False) -> None:
        writer = self._writers.at(self._home.surface.key)
        self._put[message] = writer
        writer.put(message, rank, group=self._run, empty=empty)

    def _message(
        self,
        staged: ShownStage[AnyPage],
        part: int,
        key: str,
        row: OutboxRow | None = None,
        instead_of: str = "",
    ) -> Message[AnyPage]:
        return Message(
            self._home,
            self._outbox,
            self._space,
            MessageRef(self._run, key),
            partial(self._page, staged, part),
            row=row,
            instead_of=instead_of,
            in_place=self.in_place,
            clock=self._writers.clock,
        )

    def _page(self, staged: ShownStage[AnyPage], part: int) -> tuple[AnyPage, bool] | None:
        """The present page of a message of the stage, and whether it is final; None where it has none any more."""
        if self._dialect.folded is not None:
            context = self._context(True)
            return self._dialect.folded(self.contents, context), bool(context.ended)
        self._add_messages(staged)
        pages = self._pages(staged)
        return (pages[part], not staged.content.growing) if part < len(pages) else None

    def _pages(self, staged: ShownStage[AnyPage]) -> Sequence[AnyPage]:
        if staged.pages is None:
            context = self._context(staged is self.stages[-1])
            staged.pages = self._dialect.pages(staged.content, context)
        return staged.pages

    def _add_messages(self, staged: ShownStage[AnyPage]) -> None:
        """Make messages for pages that have none."""
        for part in range(len(staged.messages), len(self._pages(staged))):
            message = self._message(staged, part, f"{staged.content.key}#{part + 1}")
            staged.messages.append(message)
            self._write(message, Rank.PASSING if staged.content.growing else Rank.FINAL)

    async def written(self) -> None:
        """Wait until everything is written, or given up."""
        while self._put:
            waiting, self._put = self._put, {}
            for message, writer in waiting.items():
                await writer.settled(message)
                await message.recorded()
        if self._dialect.folded is None:
            await self._clear()

    async def _clear(self) -> None:
        """Delete messages that only the longer text of before a crash needed."""
        for staged in self.stages:
            part = len(self._pages(staged)) + 1
            if staged.fresh and len(staged.messages) < part:
                continue
            while row := await self._outbox.get(self._space, self._run, f"{staged.content.key}#{part}"):
                if row.message_id is not None:
                    try:
                        await self._home.surface.delete(row.message_id)
                    except (PlaceClosed, Refused, Gone, Unavailable) as fault:
                        _log.info("run %s: a message too many stays: %s", self._run, fault)
                part += 1

    async def amend(self, page: Callable[[StageContent, int], AnyPage]) -> bool:
        """See home.Amend."""
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
        await self._put.pop(message).settled(message)
        await message.recorded()
        return not (message.gone or message.unshown)

    async def tell_asker(self) -> bool:
        """Show all of it, or how it ended, to the asker alone; False if that is impossible. Needs no open home."""
        response = self._home.response
        if response is None or (self._home.private and not self._home.ephemeral):
            return False
        if self._dialect.folded is not None:
            pages = [(FIRST, self._dialect.folded(self.contents, self._context(True)))]
        else:
            pages = [
                (f"{staged.content.key}#{part}" if part > 1 else staged.content.key, page)
                for staged in self.stages
                for part, page in enumerate(self._pages(staged), 1)
            ]
        if not response.files and any(page.files for _, page in pages):
            return False  # else one half would be here, and the other elsewhere
        try:
            for key, page in pages:
                row = await self._outbox.claim(self._space, self._run, key)
                if row.message_id is None:
                    ref = MessageRef(self._run, key)
                    message = await response.post_ephemeral(page, ref, MessageStyle.LAYOUT)
                    await self._outbox.sent(self._space, self._run, key, message, page.shown)
        except (PlaceClosed, Refused, Gone, Unavailable, StorageFault) as fault:
            _log.info("run %s: its end is told to everybody: %s", self._run, fault)
            return False
        return True
