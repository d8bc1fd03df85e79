"""What a staged view needs of its platform: where a run's messages stand, and where its conversations go on.

Knows no platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar

from bot.adapters import screen
from bot.adapters.sheet import Facts, Sheet
from bot.adapters.surface import AnyPage, Form, Mark, Page, PutPage
from bot.events import Elsewhere, Link


class Aside(Protocol[PutPage]):
    files: bool
    """Whether a page that comes with files can be told so."""

    async def whisper(self, page: PutPage, mark: Mark, form: Form) -> str:
        """Say it to the asker alone: the message's id."""
        ...


class Home(screen.Home[AnyPage], Protocol[AnyPage]):
    hint: str
    """A line on how to go on here, or ""."""

    @property
    def response(self) -> Aside[AnyPage] | None:
        """Where the asker can be told something alone, if that is possible."""
        ...

    @property
    def no_files(self) -> str:
        """The permission without which no file can be sent here, or ""."""
        ...

    async def put_out(self, messages: Sequence[str], note: str) -> None:
        """End the messages that a crash cut off; `note` says why there is no more."""
        ...


MadePage = TypeVar("MadePage", bound=Page, covariant=True)
Way = Literal["file", "direct", "kept"]
"""How the whole answer comes to its asker: as a file, in a direct message, or not at all by now."""


class Overflow(Protocol[MadePage]):
    """What is left to do where the platform takes a part of an answer nowhere."""

    def page(self, sheet: Sheet, part: int, sheets: Sequence[Sheet], facts: Facts, way: Way) -> MadePage:
        """A message of the stage (`part` counts from 0), and a sentence on where all of `sheets` is."""
        ...

    async def direct(self, sheets: Sequence[Sheet], facts: Facts) -> bool:
        """Send all of it to the asker in a direct message; whether that could be. Once, also after a crash."""
        ...

    async def tell(self, facts: Facts, way: Way) -> bool:
        """Tell the asker alone where all of it is; whether that could be."""
        ...


class Links(Protocol):
    async def line(self, elsewhere: Elsewhere) -> str:
        """The line that leads there, in the platform's own Markdown."""
        ...

    async def link(self, link: Link) -> str:
        """The line that leads to the run, or says what it is called where none of its messages is found."""
        ...

    def ended(self) -> None:
        """The run's last message has been written."""
        ...
