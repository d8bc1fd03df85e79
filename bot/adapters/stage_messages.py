"""The messages in which a run's stages stand: made for them, put in their channel's line, waited for.

Each asks for its page when its turn comes, so that whatever changed meanwhile goes out in one piece. Knows no event, no
work and no platform.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Generic

from bot.adapters.markdown import rolled
from bot.adapters.message import Message
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.surface import AnyPage, Gone, MessageRef, MessageStyle, PlaceClosed, Refused, Unavailable
from bot.adapters.writer import Rank, Writer, Writers
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.home import Home
    from storage.outbox import Outbox, OutboxRow

FIRST = "first"
"""The outbox's key for a message that is there before any stage opens, or that holds them all."""

OVERDUE_S = 15.0
"""How long the end of a line is waited for, where a message has grown so old that another should go on."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Dialect(Generic[AnyPage]):
    """How a platform says what a run shows.

    `pages` of a stage: its messages, at least one. `folded` makes one page of all stages; where it is given, they
    stand in one message. `adapt` makes a work's sentence the platform's. After `roll_after_s` a message that still
    grows goes on in another. `own_keys`: by these the adapter has messages of its own in the outbox.
    """

    pages: Callable[[StageContent, PageContext], Sequence[AnyPage]]
    folded: Callable[[Sequence[StageContent], PageContext], AnyPage] | None = None
    adapt: Callable[[str], str] = str
    roll_after_s: float | None = None
    own_keys: Collection[str] = ()


@dataclass(eq=False, slots=True)
class ShownStage(Generic[AnyPage]):
    """A stage with its messages, and its pages as they were last made. `worded`: it had words to write."""

    content: StageContent
    messages: list[Message[AnyPage]] = field(default_factory=list)
    pages: Sequence[AnyPage] | None = None
    worded: bool = False


class StageMessages(Generic[AnyPage]):
    """One run's, on one home. `context` gives what pages need to know beside their stage: of the last one, or not."""

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
        """Whether there is a place for them by now."""
        self.in_place = False
        """Whether what they show is not to be shown where they cannot be edited."""
        self._put: dict[Message[AnyPage], Writer] = {}

    @property
    def contents(self) -> list[StageContent]:
        return [staged.content for staged in self.stages]

    def begin(self, content: StageContent, row: OutboxRow | None = None) -> ShownStage[AnyPage]:
        """A new stage. `row` is the outbox's, if it was claimed."""
        staged = ShownStage[AnyPage](content)
        if self._dialect.folded is None:
            before = FIRST if row is not None and not self.stages else ""
            staged.messages.append(self._message(staged, 0, content.key, row, before))
        elif self.stages:
            staged.messages = self.stages[0].messages
        else:
            staged.messages.append(self._message(staged, 0, FIRST))
        self.stages.append(staged)
        for stage in self.stages[-2:]:  # the one before is no longer the last, which has the buttons
            self.changed(stage)
        return staged

    def replace(self, staged: ShownStage[AnyPage], content: StageContent, row: OutboxRow) -> None:
        """Another stage, whose `row` was claimed, in the messages of this one."""
        staged.content = content
        if self._dialect.folded is None:
            for message in staged.messages:
                message.take_over(MessageRef(self._run, content.key), row)
        self.changed(staged)

    def grow(self, staged: ShownStage[AnyPage], text: str) -> None:
        """More of its text; in another message, if the last one has grown old since it was posted."""
        content, posted = staged.content, staged.messages[-1].posted
        roll_after_s = self._dialect.roll_after_s
        age = self._writers.clock.time() - posted if posted is not None else 0.0
        # One cut, one message: the next one waits until what follows the last has begun to be shown.
        if roll_after_s is not None and age > roll_after_s and len(staged.messages) > len(content.cuts):
            at = rolled(content.text, text, overdue=age > roll_after_s + OVERDUE_S)
            if at is not None and at > max(content.cuts, default=0):
                content.cuts.append(at)
        content.text += text

    def open(self) -> None:
        """There is a place: have all written that has been waiting for it."""
        self.placed = True
        for staged in self.stages:
            self.changed(staged)

    def changed(self, staged: ShownStage[AnyPage], *, titled: bool = False) -> None:
        """The stage has something new, perhaps another title: have it written, once there is a place for it."""
        staged.pages = None
        if not self.placed:
            return
        final = not staged.content.growing
        worded = bool(staged.content.text.strip())
        if worded and not (final or staged.worded or self._dialect.folded):
            worded = not self._pages(staged)[0].wordless  # the platform's pages may hold back its beginning
        rank = Rank.FINAL if final else Rank.FIRST if worded and not staged.worded else Rank.PASSING
        staged.worded = worded
        # While it grows, only its last message does; the title stands in the first.
        for message in staged.messages if final or titled else staged.messages[-1:]:
            self._write(message, rank, empty=not final and not worded)
        if final and self._dialect.folded is None:
            self._add_messages(staged)  # so that all are in line before the next stage's

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
        """What a message of the stage shows by now, and whether it stays so; None for no longer anything."""
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
        """For pages that have none yet."""
        for part in range(len(staged.messages), len(self._pages(staged))):
            message = self._message(staged, part, f"{staged.content.key}#{part + 1}")
            staged.messages.append(message)
            self._write(message, Rank.PASSING if staged.content.growing else Rank.FINAL)

    async def written(self) -> None:
        """Wait until everything is on the screen, or given up."""
        while self._put:
            waiting, self._put = self._put, {}
            for message, writer in waiting.items():
                await writer.settled(message)
                await message.noted()
        if self._dialect.folded is None:
            await self._clear()

    async def _clear(self) -> None:
        """Take away the messages that only a text which a crash cut off had needed."""
        for staged in self.stages:
            part = len(self._pages(staged)) + 1
            while row := await self._outbox.get(self._space, self._run, f"{staged.content.key}#{part}"):
                if row.message_id is not None:
                    try:
                        await self._home.surface.delete(row.message_id)
                    except (PlaceClosed, Refused, Gone, Unavailable) as fault:
                        _log.info("run %s: a message too many stays: %s", self._run, fault)
                part += 1

    async def amend(self, page: Callable[[StageContent, int], AnyPage]) -> bool:
        """See home.Amend."""
        within_reach = [
            (message, staged.content, part)
            for staged in self.stages
            for part, message in enumerate(staged.messages)
            if message.within_reach
        ]
        if not within_reach:
            return False
        message, content, part = within_reach[-1]
        message.put_right(page(content, part))
        self._write(message, Rank.FINAL)
        await self._put.pop(message).settled(message)
        await message.noted()
        return not (message.gone or message.unshown)

    async def tell_alone(self) -> bool:
        """Tell the asker alone how it ended, or all of it; False if that can't be. Needs no place."""
        response = self._home.response
        if response is None or (self._home.private and not self._home.alone):
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
            return False  # or half of it would stand here, and half elsewhere
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
