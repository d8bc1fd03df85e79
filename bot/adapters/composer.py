"""A run's events, composed into the messages that show them.

    Event ─ show ─▶ Composer ─▶ StageContent ─ Dialect.pages ─▶ Page
                       │ put                                      │ what it says by now
                       ▼                                          ▼
                    Writer ─ write, when it may ──────────────▶ Message ─ post, edit ─▶ Surface, of the run's Home

An event changes the content of its stage, and the stage's messages are put in their channel's line; each asks for its
page when its turn comes, so that whatever changed meanwhile goes out in one piece. Knows no work and no platform,
and waits for no network while a run goes on.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, assert_never

from bot import commands
from bot.adapters import offered
from bot.adapters.discreet import traced
from bot.adapters.draft import rolled
from bot.adapters.home import SHARED, Home
from bot.adapters.message import Message
from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.surface import AnyPage, Gone, MessageRef, MessageStyle, PlaceClosed, Refused, Unavailable
from bot.adapters.writer import Rank, Writer, Writers
from bot.events import (
    Attachment,
    Changed,
    Choices,
    Citation,
    Elsewhere,
    Ended,
    Failed,
    Link,
    Notice,
    Picture,
    Request,
    Shown,
    Stage,
    Status,
    Text,
)
from bot.words import words
from storage.faults import StorageFault

if TYPE_CHECKING:
    from storage.offers import Offers
    from storage.outbox import Outbox, OutboxRow
    from storage.votes import Votes

FIRST = "first"
"""The outbox's key for a message that is there before any stage opens, or that holds them all."""

FLUSH_S = 25.0
"""How long the end of a run waits for its last messages; they are tried on beyond that."""

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
class _Staged(Generic[AnyPage]):
    """A stage with its messages, and its pages as they were last made. `worded`: it had words to write."""

    content: StageContent
    messages: list[Message[AnyPage]] = field(default_factory=list)
    pages: Sequence[AnyPage] | None = None
    worded: bool = False


class Composer(Generic[AnyPage]):
    """One run's, on one home: a View."""

    def __init__(
        self,
        request: Request,
        outbox: Outbox,
        offers: Offers,
        home: Home[AnyPage],
        writers: Writers,
        dialect: Dialect[AnyPage],
        votes: Votes | None = None,
    ) -> None:
        """`votes`: what has been voted for already, as after a crash."""
        self._votes = votes
        self._request = request
        self._run, self._space = request.id, request.place.space
        self._outbox = outbox
        self._offers = offers
        self._home = home
        self._writers = writers
        self._dialect = dialect
        self._say = words(request.locale)
        self._stages: list[_Staged[AnyPage]] = []
        self._stage = ""
        """The key of the open one, as its work calls it."""
        self._keys = {FIRST, *dialect.own_keys}
        self._opening: asyncio.Task[None] | None = None
        self._open = False
        self._put: dict[Message[AnyPage], Writer] = {}
        self._choices: list[str] = []
        self._sources: list[str] = []
        self._kept = (0, 0)
        self._begun = True
        """Whether no choice that is offered is still to begin it: else there is nothing to judge yet."""
        self._changes_last = True
        self._in_place = False
        """Whether what it shows is not to be shown where it cannot be edited."""
        self._ended: Ended | None = None
        self._ending: asyncio.Task[None] | None = None
        home.tell = self._tell

    async def show(self, event: Shown) -> None:
        if self._ended is not None:
            return
        if isinstance(event, Stage):
            await self._enter(event)
        else:
            await self._take(event)
        only = self._stages[0].content if len(self._stages) == 1 else None
        # Why it failed, where there is no more than that, concerns the asker alone.
        failed = only is not None and only.failed and replace(only, failed="") == StageContent(FIRST, "")
        if not failed and not self._home.alone:
            self._open_home()

    async def change(self, changed: Changed) -> None:
        """In the stage's own messages. Where these are out of reach it comes in new ones, which say so."""
        row = await self._outbox.get(self._space, self._run, changed.stage)
        if row is None or row.message_id is None:
            return
        before = await self._offers.all(self._space, self._run, offered.KIND)
        self._sources = await self._offers.all(self._space, self._run, "source")
        keys = await self._outbox.stages(self._space, self._run)
        stages = [key for key in keys if key not in self._dialect.own_keys and not key.startswith(SHARED)]
        self._changes_last = stages[-1] == changed.stage
        self._ended, self._in_place = "done", changed.in_place
        content = StageContent(changed.stage, changed.title, growing=False)
        staged = self._begin(content, row)
        groups = [group for group in changed.contents if isinstance(group, Choices)]
        choices = [one for group in groups for one in group.choices]
        content.first_choice = offered.index(choices, before, changed.stage)
        self._choices = before[: content.first_choice]
        for shown in changed.contents or (Text(self._say("page.withdrawn")),):
            await self._take(shown)
        # Those of before stay: their numbers stand in messages that are there.
        self._choices += before[len(self._choices) :]
        self._sources = list(dict.fromkeys(self._sources))
        await self._keep_offers()
        self._open_home()
        await self._written()
        if not self._in_place and any(
            message.ref.turn for message in staged.messages
        ):  # what stood there could not be edited
            content.notices.append(self._say("page.changed_anew"))
            self._changed(staged)
            await self._written()

    async def flush(self, status: Ended) -> None:
        self._ended = status
        if status == "stopped" and not self._stages:
            cut = await self._outbox.cut_off(self._space, self._run)
            if cut:  # it was stopped before a crash, and shows nothing from now on
                await self._home.put_out(cut, self._say("page.stopped"))
                return
        if not self._stages:
            self._begin(StageContent(FIRST, ""))
        await self._keep_offers()
        self._close_stage()
        self._changed(self._stages[-1])
        try:
            async with asyncio.timeout(FLUSH_S):
                if self._opening is not None or not await self._told_alone():
                    self._open_home()
                    self._ending = asyncio.create_task(self._shown_whole())
                    await asyncio.shield(self._ending)  # it goes on, should it take longer
        except TimeoutError:
            self._open_home()
            _log.warning("run %s: not everything is on the screen yet", self._run)
        except StorageFault as fault:
            _log.warning("run %s: %s", self._run, fault)
        self._home.ended()

    async def close(self, status: Ended) -> None:
        """Nothing is left to do: `flush` has shown how it ended."""

    async def _enter(self, stage: Stage) -> None:
        """Open a stage, in the message in which the run has waited for its turn; or retitle the open one."""
        last = self._stages[-1] if self._stages else None
        if last is not None and stage.key == self._stage:
            last.content.title = stage.title
            self._changed(last, titled=True)
            return
        self._stage = stage.key
        # No stage has opened yet, and nothing but a passing line is there.
        waited = last is not None and replace(last.content, status=None, notices=[]) == StageContent(
            FIRST, ""
        )
        await self._keep_offers()
        key, number = stage.key, 2
        while key in self._keys:  # no two of a run are called the same, nor like what is ours
            key, number = f"{stage.key}~{number}", number + 1
        self._keys.add(key)
        row = await self._outbox.claim(self._space, self._run, key)
        content = StageContent(key, stage.title, first_choice=len(self._choices))
        # A stage that had come to its end is shown as it was; one that a crash cut off is made anew.
        content.replaces = not row.fresh and row.shown is None
        if last is None or not waited:
            self._close_stage()
            self._begin(content, row)
            return
        content.notices, last.content = last.content.notices, content
        if self._dialect.folded is None:
            for message in last.messages:
                message.take_over(MessageRef(self._run, key), row)
        self._changed(last)

    def _begin(self, content: StageContent, row: OutboxRow | None = None) -> _Staged[AnyPage]:
        """A new stage. `row` is the outbox's, if it was claimed."""
        staged = _Staged[AnyPage](content)
        if self._dialect.folded is None:
            before = FIRST if row is not None and not self._stages else ""
            staged.messages.append(self._message(staged, 0, content.key, row, before))
        elif self._stages:
            staged.messages = self._stages[0].messages
        else:
            staged.messages.append(self._message(staged, 0, FIRST))
        self._stages.append(staged)
        for stage in self._stages[-2:]:  # the one before is no longer the last, which has the buttons
            self._changed(stage)
        return staged

    def _close_stage(self) -> None:
        """The open stage is whole, and is shown as it stays."""
        if self._stages:
            content = self._stages[-1].content
            content.growing = content.replaces = False
            content.status = None

    async def _take(self, event: Shown) -> None:
        """Change what the open stage shows."""
        staged = self._stages[-1] if self._stages else self._begin(StageContent(FIRST, ""))
        content = staged.content
        match event:
            case Text(text=text):
                self._grow(staged, self._dialect.adapt(text))
            case Status():
                content.status = event
            case Citation():
                content.citations.append(event)
                self._sources.append(json.dumps(asdict(event), ensure_ascii=False))
            case Choices(choices=choices):
                content.choices.append(event)
                first = len(self._choices)
                self._choices += [one.kept() for one in offered.offers(event, first, content.key)]
                if not event.votes:
                    self._begun = self._begun and all(one.command for one in choices)
                elif self._votes is not None:
                    with suppress(StorageFault):  # the next press will show them
                        content.counts |= await self._votes.counts(self._space, self._run, first)
            case Picture() | Attachment():
                content.files.append(event)
            case Elsewhere():
                content.links.append(await self._home.line(event))
            case Link():
                content.links.append(await self._home.link(event))
            case Notice(text=text):
                content.notices.append(self._dialect.adapt(text))
            case Failed(text=text):
                content.failed = self._dialect.adapt(text)
            case Stage():
                pass
            case _:
                assert_never(event)
        self._changed(staged)

    def _grow(self, staged: _Staged[AnyPage], text: str) -> None:
        """More of its text; in another message, if the last one has grown old since it was posted."""
        content, posted, roll_after_s = staged.content, staged.messages[-1].posted, self._dialect.roll_after_s
        age = self._writers.clock.time() - posted if posted is not None else 0.0
        # One cut, one message: the next one waits until what follows the last has begun to be shown.
        if roll_after_s is not None and age > roll_after_s and len(staged.messages) > len(content.cuts):
            at = rolled(content.text, text, overdue=age > roll_after_s + OVERDUE_S)
            if at is not None and at > max(content.cuts, default=0):
                content.cuts.append(at)
        content.text += text

    def _tell(self, sentence: str) -> None:
        """A sentence of the home's: beside the first stage if it is about the place as it was opened."""
        if not self._stages:  # it was stopped before a crash, and has nothing to say beside it
            return
        staged = self._stages[-1 if self._open else 0]
        staged.content.notices.append(sentence)
        self._changed(staged)

    async def _keep_offers(self) -> None:
        """Keep what the buttons of the open stage will offer, before they are there."""
        counted = (len(self._choices), len(self._sources))
        if self._kept != counted:
            try:
                await self._offers.keep(self._space, self._run, offered.KIND, self._choices)
                await self._offers.keep(self._space, self._run, "source", self._sources)
            except StorageFault as fault:  # a press will say that it comes too late
                _log.warning("run %s: what its buttons offer could not be kept: %s", self._run, fault)
            self._kept = counted

    def _open_home(self) -> None:
        if self._opening is None:
            self._opening = asyncio.create_task(self._opened())

    async def _opened(self) -> None:
        try:
            await self._home.open()
        except Exception as fault:  # then the place that it has must do
            _log.error("run %s: its place could not be opened: %s", self._run, traced(fault))
        self._open = True
        for staged in self._stages:
            self._changed(staged)

    def _changed(self, staged: _Staged[AnyPage], *, titled: bool = False) -> None:
        """The stage has something new, perhaps another title: have it written, once there is a place for it."""
        staged.pages = None
        if not self._open:
            return
        final = not staged.content.growing
        worded = bool(staged.content.text.strip())
        if worded and not (final or staged.worded or self._dialect.folded):
            worded = not self._made(staged)[0].wordless  # the platform's pages may hold back its beginning
        rank = Rank.FINAL if final else Rank.FIRST if worded and not staged.worded else Rank.PASSING
        staged.worded = worded
        # While it grows, only its last message does; the title stands in the first.
        for message in staged.messages if final or titled else staged.messages[-1:]:
            self._write(message, rank, empty=not final and not worded)
        if final and self._dialect.folded is None:
            self._pages(staged)  # so that all its messages are in line before the next stage's

    def _write(self, message: Message[AnyPage], rank: Rank, *, empty: bool = False) -> None:
        writer = self._writers.at(self._home.surface.key)
        self._put[message] = writer
        writer.put(message, rank, group=self._run, empty=empty)

    def _message(
        self,
        staged: _Staged[AnyPage],
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
            in_place=self._in_place,
            clock=self._writers.clock,
        )

    def _page(self, staged: _Staged[AnyPage], part: int) -> tuple[AnyPage, bool] | None:
        """What a message of the stage shows by now, and whether it stays so; None for no longer anything."""
        if self._dialect.folded is not None:
            context = self._context(True)
            return self._dialect.folded([one.content for one in self._stages], context), bool(context.ended)
        made = self._pages(staged)
        return (made[part], not staged.content.growing) if part < len(made) else None

    def _pages(self, staged: _Staged[AnyPage]) -> Sequence[AnyPage]:
        """The stage's pages, each with its message."""
        if staged.pages is None:
            staged.pages = self._made(staged)
            for part in range(len(staged.messages), len(staged.pages)):
                message = self._message(staged, part, f"{staged.content.key}#{part + 1}")
                staged.messages.append(message)
                self._write(message, Rank.PASSING if staged.content.growing else Rank.FINAL)
        return staged.pages

    def _made(self, staged: _Staged[AnyPage]) -> Sequence[AnyPage]:
        return self._dialect.pages(staged.content, self._context(staged is self._stages[-1]))

    def _context(self, last: bool) -> PageContext:
        ended = self._ended or ""
        verb = commands.verb(self._request.work, self._request.verb)
        rated = verb.ordered and not verb.background and not verb.bare
        last = last and self._changes_last
        return PageContext(
            run=self._run,
            say=self._say,
            last=last,
            ended=ended if last else "",
            private=self._home.private,
            share=self._home.share,
            retry=ended in ("failed", "stopped"),
            feedback=ended == "done" and rated and self._begun,
            hint=self._home.hint if ended == "done" else "",
            no_files=self._home.no_files,
        )

    async def _shown_whole(self) -> None:
        """Everything is on the screen, or the asker knows where else it is."""
        try:
            await self._written()
        except StorageFault as fault:
            _log.warning("run %s: %s", self._run, fault)
        lacking = any(message.unshown for staged in self._stages for message in staged.messages)
        if lacking and self._ended != "stopped":
            contents = [staged.content for staged in self._stages]
            await self._home.overflow(contents, self._context(True), self._amend)

    async def _written(self) -> None:
        """Wait until everything is on the screen, or given up."""
        if self._opening is not None:
            await asyncio.shield(self._opening)  # whoever waits no longer leaves it going on
        while self._put:
            waiting, self._put = self._put, {}
            for message, writer in waiting.items():
                await writer.settled(message)
                await message.noted()
        if self._dialect.folded is None:
            await self._clear()

    async def _clear(self) -> None:
        """Take away the messages that only a text which a crash cut off had needed."""
        for staged in self._stages:
            part = len(self._pages(staged)) + 1
            while row := await self._outbox.get(self._space, self._run, f"{staged.content.key}#{part}"):
                if row.message_id is not None:
                    try:
                        await self._home.surface.delete(row.message_id)
                    except (PlaceClosed, Refused, Gone, Unavailable) as fault:
                        _log.info("run %s: a message too many stays: %s", self._run, fault)
                part += 1

    async def _amend(self, page: Callable[[StageContent, int], AnyPage]) -> bool:
        """See home.Amend."""
        within_reach = [
            (message, staged.content, part)
            for staged in self._stages
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

    async def _told_alone(self) -> bool:
        """Tell the asker alone how it ended, or all of it; False if that can't be."""
        response = self._home.response
        if response is None or (self._home.private and not self._home.alone):
            return False
        pages = self._drawn()
        if not response.files and any(page.files for _, page in pages):
            return False  # or half of it would stand here, and half elsewhere
        try:
            for key, page in pages:
                row = await self._outbox.claim(self._space, self._run, key)
                if row.message_id is None:
                    message = await response.post_ephemeral(
                        page, MessageRef(self._run, key), MessageStyle.LAYOUT
                    )
                    await self._outbox.sent(self._space, self._run, key, message, page.shown)
        except (PlaceClosed, Refused, Gone, Unavailable, StorageFault) as fault:
            _log.info("run %s: its end is told to everybody: %s", self._run, fault)
            return False
        return True

    def _drawn(self) -> list[tuple[str, AnyPage]]:
        """Every page that there would be, under the outbox's key of its message, without a place to show it."""
        if self._dialect.folded is not None:
            return [(FIRST, self._dialect.folded([one.content for one in self._stages], self._context(True)))]
        pages = []
        for staged in self._stages:
            key = staged.content.key
            pages += [
                (f"{key}#{part + 1}" if part else key, page) for part, page in enumerate(self._made(staged))
            ]
        return pages
