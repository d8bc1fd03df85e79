"""The bot's own webhook in each channel, through which characters speak under their names and pictures.

Its token is asked for when it is needed and kept nowhere: whoever has it can write in the channel. Knows no run.
Discord's documentation: "Webhook Resource".
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import discord

from bot.adapters.discord.installed.traffic import HANGS_S
from bot.adapters.discord.received.placing import missing

NAME: Final = "Sutradhar"
"""Of the webhook itself, which must not hold "discord" or "clyde"; nobody sees it but in the channel's settings."""
REST_S: Final = 600.0
"""So long a channel goes without, once a webhook could not be had there: each try costs two requests."""
FULL: Final = 30007
"""Discord's code for a channel that has its 15 webhooks ("JSON Error Codes")."""


@dataclass(frozen=True, slots=True)
class Without:
    """Why there is no webhook: a key of the catalogue, below "own_name"."""

    why: str


class Webhooks:
    """One client's."""

    def __init__(self, client: discord.Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[int, discord.Webhook] = {}
        self._without: dict[int, tuple[Without, float]] = {}
        self._told: set[int] = set()
        self._turns: dict[int, asyncio.Lock] = {}

    def hopeless(self, place: int) -> bool:
        """Whether there has been none lately in the channel of this place, a channel or a thread."""
        found = self._without.get(self._channel_id(place))
        return found is not None and self._clock() < found[1]

    async def of(self, place: int) -> discord.Webhook | Without:
        """The webhook by which to post there; made, if there is none yet."""
        channel = await self._channel(place)
        if channel is None:
            return Without("not_here")
        if missing(self._client, channel.id, "manage_webhooks"):
            self._known.pop(channel.id, None)
            return Without("no_permission")
        async with self._turns.setdefault(channel.id, asyncio.Lock()):
            if (known := self._known.get(channel.id)) is not None:
                return known
            if self.hopeless(place):
                return self._without[channel.id][0]
            try:
                async with asyncio.timeout(HANGS_S):
                    found = await self._own(channel) or await channel.create_webhook(name=NAME)
            except (discord.HTTPException, discord.RateLimited, TimeoutError) as fault:
                return self.lost(place, _why(fault))
            self._known[channel.id] = found
            self._without.pop(channel.id, None)
            self._told.discard(channel.id)
            return found

    async def known(self, place: int, webhook: int) -> discord.Webhook | None:
        """The one that has posted a message there; None if it is gone. Raises what discord.py and the network do."""
        channel = await self._channel(place)
        if channel is None:
            return None
        known = self._known.get(channel.id)
        if known is not None and known.id == webhook:
            return known
        if missing(self._client, channel.id, "manage_webhooks"):
            return None
        async with self._turns.setdefault(channel.id, asyncio.Lock()):
            try:
                found = await self._own(channel)
            except discord.Forbidden:
                return None
            if found is not None:
                self._known[channel.id] = found
            return found if found is not None and found.id == webhook else None

    def lost(self, place: int, why: str) -> Without:
        """It is of no use (any more): for a while none is asked for there."""
        channel, without = self._channel_id(place), Without(why)
        self._known.pop(channel, None)
        self._without[channel] = without, self._clock() + REST_S
        return without

    def tells(self, place: int) -> bool:
        """Whether nobody has been told yet that there is none in this channel."""
        channel = self._channel_id(place)
        new = channel not in self._told
        self._told.add(channel)
        return new

    async def _own(self, channel: Any) -> discord.Webhook | None:
        """Discord shows the tokens of nobody's webhooks but ours."""
        me = self._client.user
        hooks: list[discord.Webhook] = await channel.webhooks()
        return next(
            (one for one in hooks if one.token and one.user and me and one.user.id == me.id),
            None,
        )

    def _channel_id(self, place: int) -> int:
        found = self._client.get_channel(place)
        return found.parent_id if isinstance(found, discord.Thread) else place

    async def _channel(self, place: int) -> Any:
        """The channel that a thread hangs from, or the channel itself; None where it takes no webhooks."""
        try:
            found: Any = self._client.get_channel(place) or await self._client.fetch_channel(place)
            if isinstance(found, discord.Thread):
                found = found.parent or await self._client.fetch_channel(found.parent_id)
        except discord.HTTPException:
            return None
        return found if hasattr(found, "create_webhook") else None


def _why(fault: Exception) -> str:
    if isinstance(fault, discord.HTTPException) and fault.code == FULL:
        return "full"
    return "no_permission" if isinstance(fault, discord.Forbidden) else "limited"
