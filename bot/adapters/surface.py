"""A surface: a channel, thread or response that accepts messages, and its faults; common to all platforms.

Independent of runs and stages; each platform has its own surfaces and pages.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final, Protocol, TypeVar

OWN: Final = "own:"
"""The prefix of the id of a message under its speaker's own name; the platform's id follows."""


def bare(message: str) -> str:
    """The platform's id of the message."""
    return message.rpartition(":")[2] if message.startswith(OWN) else message


class SurfaceFault(Exception):
    """A fault of a surface. Its text contains no secret."""


class Gone(SurfaceFault):
    """A user has deleted it; do not repost."""


class NotEditable(SurfaceFault):
    """The platform allows no further edit of the message."""


class Refused(SurfaceFault):
    """The platform refuses the message in this form."""


class PlaceClosed(SurfaceFault):
    """Nothing can be written here (any more). `code` is the platform's, 0 if no request was made."""

    def __init__(self, code: int | str = 0, *, expired: bool = False) -> None:
        super().__init__(f"code {code}")
        self.code = code
        self.expired = expired


class Unavailable(SurfaceFault):
    """A temporary fault of the network or the platform."""


class NotSent(Unavailable):
    """A temporary fault that occurred before anything was sent."""


class MessageStyle(IntEnum):
    """How a message is sent; each style needs less from the platform than the previous one."""

    LAYOUT = 0
    PLAIN = 1
    BARE = 2
    """Plain, and without its files."""


@dataclass(frozen=True, slots=True)
class MessageRef:
    """Identifies a message of a run on the platform, even if its id was not stored.

    `turn` counts the messages that have replaced one another.
    """

    run: str
    key: str
    turn: int = 0


class Page(Protocol):
    """The content of one message, made for its platform."""

    @property
    def shown(self) -> str:
        """A text that is equal for equal pages."""

    @property
    def files(self) -> tuple[tuple[str, bytes], ...]:
        """The names and contents of its files."""

    @property
    def wordless(self) -> bool:
        """Whether it shows no text yet although its stage has some."""


AnyPage = TypeVar("AnyPage", bound=Page)
PutPage = TypeVar("PutPage", bound=Page, contravariant=True)


class Surface(Protocol[PutPage]):
    """A place for messages. They are identified by the platform's ids, as texts. The ids of messages under another name
    than the bot's begin with OWN, so that they are edited the way they were posted, even after a crash.
    """

    @property
    def key(self) -> Hashable:
        """The key of the channel's writer."""

    async def post(self, page: PutPage, ref: MessageRef, style: MessageStyle) -> str:
        """Post a new message. Returns its id."""

    async def edit(
        self, message: str, page: PutPage, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool
    ) -> object:
        """Edit a message. `files`: its files have changed. `reset`: its style may have been different."""

    def renames(self, message: str, page: PutPage) -> bool:
        """Whether the page needs another sender's name than the message has; no edit can change that."""

    async def find(self, ref: MessageRef, since: datetime, known_ids: Collection[str]) -> str | None:
        """The message of this ref that was posted since `since` and is not among the known ones."""

    async def delete(self, message: str) -> None: ...


class Guest:
    """What the surfaces have in common where the bot is a guest, such as an interaction's response: its messages always
    have the application's name, and cannot be looked for.
    """

    def renames(self, message: str, page: Page) -> bool:
        return False

    async def find(self, ref: MessageRef, since: datetime, known_ids: Collection[str]) -> str | None:
        return None
