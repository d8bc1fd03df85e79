"""Where a run's messages are put, and what can go wrong there, in the words of all platforms.

Knows no run and no stage; each platform has surfaces of its own, and a page made for them.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import Final, Protocol, TypeVar

OWN: Final = "own:"
"""What the id of a message begins with that stands under its speaker's own name: what follows is the platform's."""


def bare(message: str) -> str:
    """The id by which the platform knows the message."""
    return message.rpartition(":")[2] if message.startswith(OWN) else message


class SurfaceFault(Exception):
    """Any of these. Their texts hold no secret."""


class Gone(SurfaceFault):
    """Somebody deleted the message, and did not do it to see it again."""


class NotEditable(SurfaceFault):
    """The message has been edited as often as the platform lets it be."""


class Refused(SurfaceFault):
    """The platform does not take the message as it is."""


class PlaceClosed(SurfaceFault):
    """Nothing can be written here (any more). `code` is the platform's, 0 if we know without asking."""

    def __init__(self, code: int | str = 0, *, expired: bool = False) -> None:
        super().__init__(f"code {code}")
        self.code = code
        self.expired = expired


class Unavailable(SurfaceFault):
    """The platform could not take it just now: a fault of the network, or of its own."""


class NotSent(Unavailable):
    """The same, and it is certain that nothing of it has arrived."""


class MessageStyle(IntEnum):
    """How a message is sent; each style asks less of the platform than the one before."""

    LAYOUT = 0
    PLAIN = 1
    BARE = 2
    """Plain, and without its files."""


@dataclass(frozen=True, slots=True)
class MessageRef:
    """By what one message of a run is known again, though nobody noted its id.

    `turn` counts the messages that stood in one another's place.
    """

    run: str
    key: str
    turn: int = 0


class Page(Protocol):
    """What one message says, made for its platform."""

    @property
    def shown(self) -> str:
        """The same as long as the page is."""
        ...

    @property
    def files(self) -> tuple[tuple[str, bytes], ...]:
        """The names and contents of the files that come with it."""
        ...

    @property
    def wordless(self) -> bool:
        """Whether it has nothing to read yet, though its stage has a text."""
        ...


AnyPage = TypeVar("AnyPage", bound=Page)
PutPage = TypeVar("PutPage", bound=Page, contravariant=True)


class Surface(Protocol[PutPage]):
    """Messages are known by the platform's ids, as texts; those under another name than the bot's begin with OWN, so
    that they are edited, after a crash too, the way they were posted.
    """

    @property
    def key(self) -> Hashable:
        """Whose writer writes here."""
        ...

    async def post(self, page: PutPage, ref: MessageRef, style: MessageStyle) -> str:
        """Post a new message: its id."""
        ...

    async def edit(
        self, message: str, page: PutPage, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool
    ) -> None:
        """`files`: they are others than before. `reset`: it may have been of another style."""
        ...

    def renames(self, message: str, page: PutPage) -> bool:
        """Whether the page is to stand under another name than the message does, which none can change."""
        ...

    async def find(self, ref: MessageRef, since: datetime, known: Collection[str]) -> str | None:
        """The message that may have been sent since then, and is none of the known ones."""
        ...

    async def delete(self, message: str) -> None: ...
