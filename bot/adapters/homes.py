"""What a staged view needs of its platform: where a run's messages stand, and where its conversations go on.

Knows no platform.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.adapters import screen
from bot.adapters.surface import AnyPage, Form, Mark, PutPage
from bot.events import Elsewhere


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


class Links(Protocol):
    async def line(self, elsewhere: Elsewhere) -> str:
        """The line that leads there, in the platform's own Markdown."""
        ...

    def ended(self) -> None:
        """The run's last message has been written."""
        ...
