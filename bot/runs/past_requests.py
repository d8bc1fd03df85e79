"""Stored requests: read to be asked again, withdrawn or reworded when their author deletes or edits them.

Knows no platform. A run of another space is not found.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.conversation import title_of
from bot.events import Request
from bot.runs.requests import request_from_json, request_to_json

if TYPE_CHECKING:
    from storage.inbox import Inbox
    from storage.sessions import Sessions
    from storage.withdrawals import Withdrawals


class PastRequests:
    def __init__(self, inbox: Inbox, sessions: Sessions, withdrawals: Withdrawals) -> None:
        self._inbox = inbox
        self._sessions = sessions
        self._withdrawals = withdrawals

    async def request(self, space: str, run: str) -> Request | None:
        """The run's request; None where this space has no such run, or its row cannot be read."""
        row = await self._inbox.get(run)
        if row is None or row.space != space:
            return None
        try:
            return request_from_json(row.payload)
        except (KeyError, TypeError, ValueError):
            return None

    async def withdraw(self, request: Request) -> None:
        """Erase the words of the request, its answer and what the answer offered; that stops the run, too."""
        emptied = replace(request, text="", options={}, files=(), origin="")
        # A conversation's title is made of its first question: that goes, too.
        title = title_of(request.text)
        await self._withdrawals.withdraw(request.place.space, request.id, request_to_json(emptied), title)

    async def reword(self, space: str, run: str, text: str) -> bool:
        """Store new words of the request and of the question in its conversation; whether this space has the run."""
        request = await self.request(space, run)
        if request is None or not (request.text or request.origin):  # withdrawn: its words stay erased
            return False
        await self._inbox.reword(run, request_to_json(replace(request, text=text)))
        await self._sessions.reword_exchange(space, run, text)
        return True
