"""The work "council": each verb to who does it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from bot.events import Event, Run, Work

if TYPE_CHECKING:
    from bot.works.council.asking import Asking
    from bot.works.council.settings import Settings
    from bot.works.council.showing import Showing
    from bot.works.council.stats import Stats


class Council:
    """Several models asked at once, judged by each other, and summed up."""

    def __init__(self, asking: Asking, settings: Settings, showing: Showing, stats: Stats) -> None:
        self._asking = asking
        self._settings = settings
        self._showing = showing
        self._stats = stats

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        who: dict[str, Work] = {
            "ask": self._asking,
            "members": self._settings,
            "chair": self._settings,
            "criteria": self._settings,
            "show": self._showing,
            "export": self._showing,
            "stats": self._stats,
        }
        async with aclosing(who[run.request.verb].run(run)) as events:
            async for event in events:
                yield event
