"""Where a run's messages stand: what a run needs of its place. Each platform has a home of its own.

Knows no platform.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from bot.adapters.sheet import Facts, Sheet
from bot.adapters.surface import AnyPage, Form, Mark, PutPage, Shut, Surface
from bot.events import Elsewhere, Link

Amend = Callable[[Callable[[Sheet, int], AnyPage]], Awaitable[bool]]
"""Have the last message that can be edited show something else for good: the page that is made of its stage and of
which of the stage's messages it is, from 0. Whether it does."""


class Aside(Protocol[PutPage]):
    files: bool
    """Whether a page that comes with files can be told so."""

    async def whisper(self, page: PutPage, mark: Mark, form: Form) -> str:
        """Say it to the asker alone: the message's id."""
        ...


class Home(Protocol[AnyPage]):
    """One run's. Where a surface of it closes, the run goes on in the next."""

    surface: Surface[AnyPage]
    """Where new messages are posted by now."""
    form: Form
    lost: list[Surface[AnyPage]]
    """Where what stands can no longer be edited."""
    messages: set[str]
    """The ids of all messages of the run."""
    tell: Callable[[str], None]
    """How the run hears of a sentence to stand beside its answer."""
    hint: str
    """A line on how to go on here, or ""."""
    private: bool
    """Whether only the asker sees what stands here, so that it can be shared."""
    alone: bool
    """Whether the asker is told all of it at once, by `response`, when it has ended."""
    share: str
    """The key of what the button says that shows it to all."""

    @property
    def response(self) -> Aside[AnyPage] | None:
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

    async def beyond(self, surface: Surface[AnyPage], shut: Shut) -> bool:
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

    async def overflow(self, sheets: Sequence[Sheet], facts: Facts, amend: Amend[AnyPage]) -> None:
        """Some of it could be shown nowhere: do what is left to do for the asker to get all of it."""
        ...

    async def put_out(self, messages: Sequence[str], note: str) -> None:
        """End the messages that a crash cut off; `note` says why there is no more. What cannot be reached stays."""
        ...

    def ended(self) -> None:
        """The run's last message has been written, or is late."""
        ...
