"""The home of a run: the place of its messages, and the message that a link to the run leads to. Each platform has its
own homes.

Independent of platforms.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from bot.adapters.stage_content import PageContext, StageContent
from bot.adapters.surface import (
    AnyPage,
    MessageRef,
    MessageStyle,
    PlaceClosed,
    PutPage,
    Surface,
    bare,
)
from bot.events import Elsewhere, Link
from bot.runs.narration import SPEAKING
from bot.runs.requests import request_from_json

if TYPE_CHECKING:
    from bot.events import Place, Request
    from storage.inbox import Inbox
    from storage.outbox import Outbox
    from storage.schedules import Schedules

SHARED = "share:"
"""The prefix of the outbox key of a shared answer."""
ANSWERS = "answers"
"""The kind of stored offers that holds a private answer's last stage, its title and text, so that it can be shared
whole.
"""
NAMED = "named#"
"""The prefix of the outbox key of a thread that the run's request has named; the message id is the thread's."""

_log = logging.getLogger(__name__)

Amend = Callable[[Callable[[StageContent, int], AnyPage]], Awaitable[bool]]
"""Replaces the last editable message by a final page, made from its stage and its number among the stage's messages,
counted from 0. Returns whether that succeeded.
"""


class EphemeralReply(Protocol[PutPage]):
    files: bool
    """Whether it can post a page with files."""

    async def post_ephemeral(self, page: PutPage, ref: MessageRef, style: MessageStyle) -> str:
        """Post the page for the asker alone. Returns the message's id."""


class Home(Protocol[AnyPage]):
    """The home of one run. If its surface closes, the run continues on another."""

    surface: Surface[AnyPage]
    """Where new messages are posted now."""
    style: MessageStyle
    lost: list[Surface[AnyPage]]
    """Surfaces whose messages can no longer be edited."""
    messages: set[str]
    """The ids of all messages of the run."""
    tell: Callable[[str], None]
    """Shows a sentence next to the run's answer. Set by the run."""
    over: bool
    """Whether the run has ended, so that its messages are only changed."""
    hint: str
    """A line about how to continue in this place, or ""."""
    private: bool
    """Whether only the asker sees the messages, so that they can be shared."""
    ephemeral: bool
    """Whether the whole answer is shown to the asker alone, at once, by `response`, after the run's end."""
    share: str
    """The key of the label of the share button."""
    further: bool
    """Whether a window asks for the next private question, because the messages cannot be replied to."""

    @property
    def response(self) -> EphemeralReply[AnyPage] | None:
        """A poster for the asker alone, if that is possible."""

    @property
    def no_files(self) -> str:
        """The permission that is missing to send files here, or ""."""

    async def open(self) -> None:
        """Find or create the place. Afterwards there is a surface, even if something could not be created."""

    def recall(self, message: str) -> None:
        """Note a message of the run from before this process."""

    async def move(self, surface: Surface[AnyPage], closed: PlaceClosed) -> bool:
        """Continue on another surface because `surface` is closed. Returns False if there is none.

        Raises Gone if a user has deleted the place.
        """

    async def line(self, elsewhere: Elsewhere) -> str:
        """The line with a link to another conversation, in the platform's own Markdown."""

    async def link(self, link: Link) -> str:
        """The line with a link to the run's first message, or with its title alone if there is none."""

    async def overflow(
        self, stages: Sequence[StageContent], context: PageContext, amend: Amend[AnyPage]
    ) -> None:
        """Give the asker what could not be shown, by the remaining ways."""

    async def end_messages(self, messages: Sequence[str], note: str) -> None:
        """Finish the messages, if any, that a crash interrupted with `note`, and show that the run is over. Messages
        that cannot be edited stay.
        """

    def ending(self) -> None:
        """Called before the end of the run's last message is written."""

    async def ended(self) -> None:
        """Called when the run's last message is written, even if that is late."""


def goes_back(key: str, quoting: Collection[str], stays: Collection[str] | None) -> bool:
    """Whether the message with this outbox key is removed with a withdrawn request; see `Platform.take_back`.

    `quoting` are the keys of the adapter's own messages.
    """
    if key in quoting:
        return True
    return not key.startswith(NAMED) and stays is not None and not key.startswith((*stays, SPEAKING))


async def leave_place(schedules: Schedules, place: Place) -> None:
    """Remove the schedules of a place that no longer exists; a channel's threads are included.

    Nobody is notified: people know of the deletion and did not ask for a ping. Raises StorageFault.
    """
    if removed := await schedules.remove_there(*place.key):
        place_name = (
            f"thread {place.thread} in channel {place.channel}"
            if place.thread
            else f"channel {place.channel}"
        )
        _log.info("%s of %s is gone, and %d schedules with it", place_name, place.space, removed)


async def first_message(
    inbox: Inbox, outbox: Outbox, place: Place, run: str, besides: Collection[str]
) -> tuple[Request, str] | None:
    """A run's request and the message of its first stage, if it belongs to this space and platform; else None.

    `besides` are the outbox keys of messages that are no stage. Raises StorageFault.
    """
    row = await inbox.get(run)
    if row is None or row.space != place.space:
        return None
    keys = await outbox.stages(place.space, run)
    first = next((key for key in keys if key not in besides and not key.startswith(SHARED)), None)
    opening = await outbox.get(place.space, run, first) if first is not None else None
    if opening is None or opening.message_id is None:
        return None
    request = request_from_json(row.payload)
    return (
        (request, bare(opening.message_id))
        if request.origin and request.place.platform == place.platform
        else None
    )
