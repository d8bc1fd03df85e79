"""Finds the names of a space's people and channels, without mentioning anybody."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bot.events import Place, UserError
from bot.runs.requests import readable

if TYPE_CHECKING:
    from bot.resources import Resources


class Names:
    """Looks up names in the stored requests, then asks the platform."""

    def __init__(self, resources: Resources) -> None:
        self._inbox = resources.records.inbox
        self._platforms = resources.platforms

    async def person(self, place: Place, id: str) -> str:
        """The person's name at their last request in the place's space, otherwise on the platform; "" if unknown."""
        if not id:
            return ""
        row = await self._inbox.last_of(place.space, id)
        last_request = readable(row.payload) if row is not None else None
        name = " ".join(last_request.author.name.split()) if last_request is not None else ""
        platform = self._platforms.get(place.platform)
        if name or platform is None or platform.person_name is None:
            return name
        try:
            return await platform.person_name(place, id)
        except UserError:  # the platform does not answer
            return ""

    async def channel(self, place: Place, id: str) -> str:
        """The name of a channel or category of the place's space; "" if unknown."""
        platform = self._platforms.get(place.platform)
        if not id or platform is None or platform.channel_name is None:
            return ""
        return await platform.channel_name(replace(place, channel=id, thread=""))
