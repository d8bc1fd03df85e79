"""Takes back the messages of runs that people withdraw, also after a crash.

Knows no platform: the platform removes the messages.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bot.commands import KINDS
from bot.events import Author, Request
from bot.runs.requests import request_to_json
from bot.runs.showing import Showings
from bot.view import View
from storage.unshown import QUOTED, WITHDRAWN

if TYPE_CHECKING:
    from bot.platforms import Platform
    from storage.records import Records

TAKING_BACK = 4
"""How many runs' messages are taken back at the same time on a platform."""


class Withdrawals:
    """Stores which messages are to be taken back, and has the platform remove them."""

    def __init__(
        self,
        records: Records,
        platforms: Mapping[str, Platform],
        showings: Showings,
        view: Callable[[Request], View | None],
    ) -> None:
        """`view` makes a run's view, None if it cannot be made."""
        self._records = records
        self._platforms = platforms
        self._showings = showings
        self._view = view
        self._taking_back: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(TAKING_BACK)
        )
        """By platform, so that one that is down does not delay another."""

    async def keep(self, request: Request, how: str = WITHDRAWN) -> Request | None:
        """Store that the run's messages are to be taken back, or only those that quote its request (QUOTED).

        Returns its request without words, for `take_back`; None if the platform cannot take messages back.
        """
        platform = self._platforms.get(request.place.platform)
        if platform is None or platform.without_words is None or not request.origin:
            return None
        origin, nobody = platform.without_words(request.origin), Author("", "")
        bare = replace(
            request, author=nobody, text="", options={}, files=(), origin=origin, answers="", quoted=()
        )
        stored = request_to_json(bare)
        await self._records.unshown.keep(
            request.place.space, request.id, how, status=WITHDRAWN, request=stored
        )
        return bare

    def take_back(self, bare: Request, how: str = WITHDRAWN) -> None:
        """Take back the messages that `keep` has stored, after everything of the run that is still being shown."""
        self._showings.take_up(bare, how, partial(self._remove_messages, bare, how))

    async def _remove_messages(self, request: Request, how: str) -> None:
        platform = self._platforms[request.place.platform]
        async with self._taking_back[request.place.platform]:
            sent = await self._records.outbox.all(request.place.space, request.id)
            finished = {row.message_id for row in sent if row.shown is not None}
            unfinished = {row.message_id for row in sent} - finished - {None}
            if how == WITHDRAWN and unfinished and (view := self._view(request)) is not None:
                await view.flush("stopped")
            kind = KINDS.get(request.work)
            stays = kind.stays if kind is not None else ()
            if platform.take_back is not None:
                await platform.take_back(request, None if how == QUOTED else stays)
