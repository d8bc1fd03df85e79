"""Where a run's messages stand: what a run needs of its place, what is done there beside its answer, and which of
its messages a link to it leads to. Each platform has a home of its own.

Knows no platform.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.surface import (
    AnyPage,
    MessageRef,
    MessageStyle,
    PlaceClosed,
    PutPage,
    Surface,
    SurfaceFault,
    Unavailable,
    bare,
)
from bot.adapters.writer import BACKOFF_S, Rank, urgency
from bot.events import Elsewhere, Link
from bot.runs.requests import request_from_json
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.events import Place, Request
    from storage.inbox import Inbox
    from storage.outbox import Outbox

T = TypeVar("T")

SHARED = "share:"
"""What the outbox's key of a shared answer begins with."""

_log = logging.getLogger(__name__)

Amend = Callable[[Callable[[StageContent, int], AnyPage]], Awaitable[bool]]
"""Have the last message that can be edited show something else for good: the page that is made of its stage and of
which of the stage's messages it is, from 0. Whether it does."""


class EphemeralReply(Protocol[PutPage]):
    files: bool
    """Whether a page that comes with files can be told so."""

    async def post_ephemeral(self, page: PutPage, ref: MessageRef, style: MessageStyle) -> str:
        """Say it to the asker alone: the message's id."""
        ...


class Home(Protocol[AnyPage]):
    """One run's. Where a surface of it closes, the run goes on in the next."""

    surface: Surface[AnyPage]
    """Where new messages are posted by now."""
    style: MessageStyle
    lost: list[Surface[AnyPage]]
    """Where what stands can no longer be edited."""
    messages: set[str]
    """The ids of all messages of the run."""
    tell: Callable[[str], None]
    """How the run hears of a sentence to stand beside its answer."""
    over: bool
    """Whether the run has ended, and only what it has shown is changed."""
    hint: str
    """A line on how to go on here, or ""."""
    private: bool
    """Whether only the asker sees what stands here, so that it can be shared."""
    alone: bool
    """Whether the asker is told all of it at once, by `response`, when it has ended."""
    share: str
    """The key of what the button says that shows it to all."""

    @property
    def response(self) -> EphemeralReply[AnyPage] | None:
        """Where the asker can be told something alone, if that is possible."""
        ...

    @property
    def no_files(self) -> str:
        """The permission without which no file can be sent here, or ""."""
        ...

    async def open(self) -> None:
        """Find or make the place; whatever cannot be made, there is a surface afterwards."""
        ...

    def recall(self, message: str) -> None:
        """A message of the run was there before this process."""
        ...

    async def beyond(self, surface: Surface[AnyPage], closed: PlaceClosed) -> bool:
        """Go on elsewhere, since `surface` is shut; False if there is nowhere else.

        Raises Gone where somebody deleted the place, who does not want to see it again.
        """
        ...

    async def line(self, elsewhere: Elsewhere) -> str:
        """The line that leads to another conversation, in the platform's own Markdown."""
        ...

    async def link(self, link: Link) -> str:
        """The line that leads to the run, or says what it is called where none of its messages is found."""
        ...

    async def overflow(
        self, stages: Sequence[StageContent], context: PageContext, amend: Amend[AnyPage]
    ) -> None:
        """Some of it could be shown nowhere: do what is left to do for the asker to get all of it."""
        ...

    async def put_out(self, messages: Sequence[str], note: str) -> None:
        """End the messages that a crash cut off; `note` says why there is no more. What cannot be reached stays."""
        ...

    def ended(self) -> None:
        """The run's last message has been written, or is late."""
        ...


class SideTasks:
    """Work that goes on beside a run's answer, which does not need it: what goes wrong with it goes to the log alone.

    One run's. What is begun first is done first. `rank`: how much somebody waits for it, where that counts.
    """

    def __init__(self, run: str, rank: Rank | None = None) -> None:
        self._run = run
        self._rank = rank
        self._tasks: set[asyncio.Task[None]] = set()

    def do(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _quietly(self, work: Coroutine[Any, Any, object]) -> None:
        if self._rank is not None:
            urgency.set(self._rank)
        try:
            await work
        except (SurfaceFault, StorageFault) as fault:
            _log.info("run %s: something beside the answer was left out: %s", self._run, fault)


async def with_retries(call: Callable[[], Awaitable[T]]) -> T:
    """Make the call again while the network or the platform is not up to it. Raises Unavailable in the end."""
    for wait in BACKOFF_S:
        try:
            return await call()
        except Unavailable:
            await asyncio.sleep(wait)
    return await call()


async def first_message(
    inbox: Inbox, outbox: Outbox, here: Place, run: str, besides: Collection[str]
) -> tuple[Request, str] | None:
    """What a run of this space and platform was asked, and the message of its first stage; None where there is none.

    `besides` are the outbox's keys of what is no stage. Raises StorageFault.
    """
    row = await inbox.get(run)
    if row is None or row.space != here.space:
        return None
    keys = await outbox.stages(here.space, run)
    first = next((key for key in keys if key not in besides and not key.startswith(SHARED)), None)
    sent = await outbox.get(here.space, run, first) if first is not None else None
    if sent is None or sent.message_id is None:
        return None
    request = request_from_json(row.payload)
    return (
        (request, bare(sent.message_id))
        if request.origin and request.place.platform == here.platform
        else None
    )
