"""What was asked before: to ask it again, and to honour that somebody took it back or changed it.

Knows no platform. A run of another space is no run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.events import Request
from bot.holding import titled
from bot.runs.requests import request_from_json, request_to_json

if TYPE_CHECKING:
    from storage.inbox import Inbox
    from storage.sessions import Sessions
    from storage.withdrawals import Withdrawals


class Past:
    def __init__(self, inbox: Inbox, sessions: Sessions, withdrawals: Withdrawals) -> None:
        self._inbox = inbox
        self._sessions = sessions
        self._withdrawals = withdrawals

    async def request(self, space: str, run: str) -> Request | None:
        """What the run was asked; None where this space has none of that id, or only an earlier release reads it."""
        row = await self._inbox.get(run)
        if row is None or row.space != space:
            return None
        try:
            return request_from_json(row.payload)
        except (KeyError, TypeError, ValueError):
            return None

    async def withdraw(self, request: Request) -> None:
        """Keep no words of the request, nor its answer, nor what the answer offered; it is stopped by that."""
        left = replace(request, text="", options={}, files=(), origin="")
        # A conversation is called by what was asked first in it.
        title = titled(request.text)
        await self._withdrawals.withdraw(request.place.space, request.id, request_to_json(left), title)

    async def reword(self, space: str, run: str, text: str) -> bool:
        """Keep the request, and the question in the conversation, in other words; whether this space had it."""
        request = await self.request(space, run)
        if request is None or not (request.text or request.origin):  # taken back: its words stay away
            return False
        await self._inbox.reword(run, request_to_json(replace(request, text=text)))
        await self._sessions.reword_exchange(space, run, text)
        return True
