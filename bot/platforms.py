"""What a platform brings to the core, in one object; the core names none of them.

Attached before the start, so that runs which a crash cut off can be shown.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bot.events import Changed, Ended, Failed, File, Notice, Place, Request, Shown, Speak, Text, View

if TYPE_CHECKING:
    from storage.outbox import Outbox

_log = logging.getLogger(__name__)

Views: TypeAlias = "Callable[[str, Request, Outbox], View]"
"""Makes the view of a run by its id, again after a crash."""

Fetch: TypeAlias = Callable[[Request, File, Path, int], Awaitable[None]]
"""Writes the bytes of a request's file to the path, at most that many. Raises Sorry."""

Earlier: TypeAlias = Callable[[Request], Awaitable[str]]
"""The words of the request's thread before its own message, a "Name: words" a line, oldest first; "" for nothing."""


@dataclass(frozen=True, slots=True)
class Platform:
    """`name` is that of its places.

    `fetch` brings files that came with a request to this machine, `earlier` what was said in a thread before the bot
    was called into it. `origin` is the note (`Request.origin`) of an answer to nobody's message in a place, so that a
    schedule can begin a run there. `apart` is where a conversation of its own, by this id and title, stands in the
    channel of a request, with the origin of what begins it; None where there can be none. `speak` says words aloud
    where the request's place can hear them.
    """

    name: str
    views: Views
    fetch: Fetch | None = None
    earlier: Earlier | None = None
    origin: Callable[[Place], str] | None = None
    apart: Callable[[Request, str, str], tuple[Place, str] | None] | None = None
    speak: Callable[[Request, Speak], Awaitable[None]] | None = None


class Logged:
    """The view of a job that nobody looks at: how it ended is in the log."""

    def __init__(self, run: str, request: Request, outbox: Outbox) -> None:
        self._folder = request.place.thread

    async def show(self, event: Shown) -> None:
        if isinstance(event, Text | Notice | Failed):
            level = logging.WARNING if isinstance(event, Failed) else logging.INFO
            _log.log(level, "%s: %s", self._folder, " ".join(event.text.split()))

    async def change(self, changed: Changed) -> None:
        return

    async def flush(self, status: Ended) -> None:
        return

    async def close(self, status: Ended) -> None:
        return
