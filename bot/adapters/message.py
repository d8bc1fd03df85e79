"""One message of a run: posted once, even if the process is killed meanwhile, and edited from then on.

Independent of stages; the outbox stores the message's id.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Generic

from bot.adapters.surface import (
    AnyPage,
    Gone,
    MessageRef,
    MessageStyle,
    NotEditable,
    NotSent,
    PlaceClosed,
    Refused,
    Surface,
)
from bot.adapters.writer import Clock, LoopClock
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.home import Home
    from storage.outbox import Outbox, OutboxRow

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class Message(Generic[AnyPage]):
    """One message. `page` gives the present page and whether it is final, or None while there is nothing to show.

    `instead_of` is the key of a message that this one replaces if it does not exist itself. `in_place`: it is only
    edited, never posted.
    """

    home: Home[AnyPage]
    outbox: Outbox
    space: str
    ref: MessageRef
    page: Callable[[], tuple[AnyPage, bool] | None]
    row: OutboxRow | None = None
    instead_of: str = ""
    in_place: bool = False
    clock: Clock = field(default_factory=LoopClock)
    exists: bool = False
    id: str = ""
    """The platform's id, if the message `exists`."""
    gone: bool = False
    unshown: bool = False
    """Whether its page, or a file of it, could not be shown anywhere."""
    posted: float | None = None
    """When it was posted with its present stage, by the clock; None for a message from before this process."""
    _on: Surface[AnyPage] | None = None
    _waited: bool = False
    """Whether so far it only shows that the run waits."""
    _stale: str = ""
    """The id of the message that it replaces, which is deleted as soon as the new one is posted."""
    _claimed: bool = False
    _shown: str | None = None
    _recorded: tuple[str, str, str | None] | None = None
    recording: asyncio.Task[None] | None = None
    """Stores what was written in the outbox."""
    _style: MessageStyle | None = None
    _files: tuple[tuple[str, bytes], ...] | None = ()
    _unsure: bool = False
    """Whether a post may have succeeded without a response."""
    _since: datetime = field(default_factory=partial(datetime.now, UTC))
    _waited_since: datetime | None = None
    """When a replaced message was claimed that may or may not have been posted."""
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def editable(self) -> bool:
        """Whether it exists, and can still be edited."""
        deleted = self.gone and not self.unshown
        return self.exists and not deleted and self._on not in self.home.lost

    def take_over(self, ref: MessageRef, row: OutboxRow) -> None:
        """Become another stage's message."""
        self.instead_of, self.ref, self.row = self.ref.key, ref, row
        self._waited = True
        self.posted = None  # its age says nothing about the age of its text
        self._claimed = False

    def show_finally(self, page: AnyPage) -> None:
        """Show this page as the final one, even if the message had been given up."""
        self.page, self.gone, self.unshown = lambda: (page, True), False, False

    async def write(self) -> bool | None:
        async with self._writing:  # after a run has moved to another channel, two writers may write it
            content = self.page()
            if content is None or self.gone:
                return False
            page, final = content
            new = not self.exists
            while not self._claimed:  # the message may be taken over during the claim
                self._claimed = True
                await self._claim()
            if new and self.exists and page.shown != self._shown:
                return None
            shown: str | None = page.shown
            wrote = shown != self._shown
            if wrote:
                shown = self._shown = page.shown if await self._show(page) else None
                content = self.page()  # the same page may have become final meanwhile; then it is stored once
                final = final or (content is not None and content[1] and content[0].shown == shown)
            # In a task, so that the next message does not wait for the storage. After a crash in between, the message
            # is found.
            self.recording = asyncio.create_task(self._record(self.recording, shown if final else None))
            if self._stale and not self.gone:
                await self._delete_stale()
            return wrote

    async def _claim(self) -> None:
        """Read from the outbox whether the message exists already."""
        try:
            row = self.row or await self.outbox.claim(self.space, self.ref.run, self.ref.key)
            before = None
            if row.message_id is None and self.instead_of:
                before = await self.outbox.get(self.space, self.ref.run, self.instead_of)
        except StorageFault as fault:  # an answer that a crash may repeat is better than none
            _log.warning("run %s: a message could not be claimed: %s", self.ref.run, fault)
            return
        if row.message_id is not None and not self.exists:  # otherwise it was taken over meanwhile
            self._recall(row.message_id, row.shown)
        elif before is not None and before.message_id is not None and not self.exists:
            self._recall(before.message_id, None)
            self._waited = True
        elif before is not None and not self.exists:
            self._waited_since = before.created_at
        self._unsure = not row.fresh
        self._since = row.created_at

    def _recall(self, message: str, shown_hash: str | None) -> None:
        self.exists, self.id, self._shown, self._on = True, message, shown_hash, self.home.surface
        self._style = self._files = None
        self.home.recall(message)

    async def _show(self, page: AnyPage) -> bool:
        """Show the page here, in a simpler style, or on another surface. Returns False if it can be shown nowhere."""
        home = self.home
        style = home.style
        self.unshown = False
        while not self.gone:
            surface = home.surface
            # Other messages may change the home's style meanwhile; a simpler message stays one.
            sent_as = max(home.style, self._style or MessageStyle.LAYOUT) if self.exists else home.style
            try:
                if self._on in home.lost:
                    self._start_anew()
                elif self.exists and self._style is not None and self._style < home.style:
                    # A layout cannot become plain, so the plain style needs a new message.
                    self._stale = "" if self.in_place else self.id
                    self._start_anew()
                elif self.exists and self._waited and surface.renames(self.id, page):
                    self._stale = self.id
                    self._start_anew()
                self._waited = False
                if self.in_place and not self.exists:
                    self.gone = True
                elif self.exists or not await self._post(surface, page, sent_as):
                    # The content of a message from before a crash is unknown.
                    files = page.files != self._files if self._files is not None else bool(page.files)
                    reset = self._style is None
                    await surface.edit(self.id, page, self.ref, sent_as, files=files, reset=reset)
                    self._style, self._files = sent_as, page.files
                break
            except Gone:
                self.gone = True
            except NotEditable:
                self._stale = "" if self.in_place else self.id
                self._start_anew()
            except Refused as refused:
                if sent_as is MessageStyle.BARE:
                    _log.warning("run %s: the platform does not take a message: %s", self.ref.run, refused)
                    self.gone = self.unshown = True
                    home.style = style  # the style was not the reason
                else:
                    # The likely style of a message from before a crash.
                    self._style = self._style or MessageStyle.LAYOUT
                    home.style = max(home.style, MessageStyle(sent_as + 1))
            except PlaceClosed as closed:
                try:
                    if self.in_place:
                        self.gone = True
                    elif not await home.move(surface, closed):
                        _log.warning("run %s: nowhere to show a message: %s", self.ref.run, closed)
                        self.gone = self.unshown = True
                except Gone:
                    self.gone = True
        if self._style is MessageStyle.BARE and page.files:
            self.unshown = True
        return not self.gone

    async def _delete_stale(self) -> None:
        """Delete the message that this one has replaced, which may be unfinished. Raises Unavailable."""
        try:
            await self.home.surface.delete(self._stale)
        except (Gone, Refused, PlaceClosed):
            _log.info("run %s: an older form of a message stays", self.ref.run)
        self._stale = ""

    def _start_anew(self) -> None:
        """Post a new message next time, with another ref, so that it does not count as a repetition of this one."""
        self.exists, self.id, self._on = False, "", None
        self.ref = replace(self.ref, turn=self.ref.turn + 1)

    async def _post(self, surface: Surface[AnyPage], page: AnyPage, style: MessageStyle) -> bool:
        """Post the message, unless an earlier try with an unknown outcome did so. Returns whether it surely shows the
        page.
        """
        unsure, self._unsure = self._unsure, True
        earlier = await surface.find(self.ref, self._since, self.home.messages) if unsure else None
        if earlier is None and self._waited_since is not None:
            waited = MessageRef(self.ref.run, self.instead_of)
            earlier = await surface.find(waited, self._waited_since, self.home.messages)
        if earlier is None:
            try:
                self.id = await surface.post(page, self.ref, style)
            except NotSent:
                self._unsure = unsure
                raise
            self.exists, self.posted = True, self.clock.time()
            self._on, self._style, self._files = surface, style, page.files
            self.home.messages.add(self.id)
        else:
            self._recall(earlier, None)
        self._unsure, self._waited_since = False, None
        return (
            not unsure and earlier is None
        )  # because of its nonce, the post may have returned the earlier message

    async def _record(self, before: asyncio.Task[None] | None, shown_hash: str | None) -> None:
        """Store the message's id and, once it is final, what it shows."""
        if before is not None:
            await before
        noting = (self.ref.key, self.id, shown_hash)
        if not self.exists or self._recorded == noting:
            return
        try:
            await self.outbox.mark_sent(self.space, self.ref.run, self.ref.key, self.id, shown_hash)
        except StorageFault as fault:
            _log.warning("run %s: a message could not be noted: %s", self.ref.run, fault)
        self._recorded = noting
