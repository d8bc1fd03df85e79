"""`single`: the question is searched once, as it stands. Needs no model."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from bot.events import Run
from bot.strategies.base import Inquiry, Told
from bot.strategies.searching import Searches, sure_of_any


class Single:
    """One search; findings in several languages are put together."""

    name = "single"
    prompts: tuple[str, ...] = ()

    def __init__(self, searches: Searches) -> None:
        self._searches = searches

    async def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[Told, None]:
        yield sure_of_any(await self._searches.begun(run, inquiry), inquiry)
