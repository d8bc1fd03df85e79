"""What members of another workspace or organisation may do in a channel that is shared with them (Slack Connect).

By default they may ask, play and speak there as members do, and nothing else: only members may see or change the
space's data. `App.perform` checks this, so it applies to every request. Knows no platform.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.channel_rules import GOVERNED
from bot.events import UserError
from bot.settings import NOTHING, OUTSIDERS, QUESTIONS

if TYPE_CHECKING:
    from bot.events import Place, Request
    from bot.settings import Settings
    from bot.verb import Verb


class Outsiders:
    """Checks requests of outsiders against the setting "outsiders"."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def check(self, verb: Verb, request: Request) -> None:
        """Raise UserError if the request's author, who is from outside, may not do this."""
        if verb.stops or verb.urgent or verb.outside == "always":
            return
        allowed = await self.allowed(request.asked_in or request.place)
        if allowed == NOTHING:
            raise UserError("outsiders.nothing")
        if allowed == QUESTIONS and not asks(verb):
            raise UserError("outsiders.members", verb=verb.path)

    async def allowed(self, place: Place) -> str:
        """What they may do there: one of `settings.FOR_OUTSIDERS`."""
        rows = await self._settings.nearest(place, "", OUTSIDERS)
        return rows[0].value if rows else QUESTIONS


def asks(verb: Verb) -> bool:
    """Whether the verb asks, plays or speaks, and changes none of the space's data."""
    if verb.work not in GOVERNED or verb.admin or verb.background:
        return False
    return verb.asks or verb.turn or verb.speaks or verb.hears or verb.inner or verb.outside != ""
