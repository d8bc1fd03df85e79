"""The bot's own webhook in each channel, which posts under the names and pictures of characters.

Its token is requested when needed and never stored, because anyone who has it can write in the channel. Independent of
runs. Discord's documentation: "Webhook Resource".
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
"""The webhook's own name, which must not contain "discord" or "clyde". Only the channel's settings show it."""
REST_S: Final = 600.0
"""Seconds for which no webhook is tried in a channel after a failure, because each try costs two requests."""
FULL: Final = 30007
"""Discord's code for a channel that already has 15 webhooks ("JSON Error Codes")."""


@dataclass(frozen=True, slots=True)
class NoWebhook:
    """The reason why there is no webhook: a key of the catalogue below "own_name"."""

    why: str


class Webhooks:
    def __init__(self, client: discord.Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._cached: dict[int, discord.Webhook] = {}
        self._without: dict[int, tuple[NoWebhook, float]] = {}
        self._told: set[int] = set()
        self._turns: dict[int, asyncio.Lock] = {}

    def hopeless(self, place: int) -> bool:
        """Whether a try has failed recently in this place's channel; the place is a channel or a thread."""
        failure = self._without.get(self._channel_id(place))
        return failure is not None and self._clock() < failure[1]

    async def webhook(self, place: int) -> discord.Webhook | NoWebhook:
        """The webhook for posts in this place; it is created if there is none."""
        channel = await self._channel(place)
        if channel is None:
            return NoWebhook("not_here")
        if missing(self._client, channel.id, "manage_webhooks"):
            self._cached.pop(channel.id, None)
            return NoWebhook("no_permission")
        async with self._turns.setdefault(channel.id, asyncio.Lock()):
            if (cached := self._cached.get(channel.id)) is not None:
                return cached
            if self.hopeless(place):
                return self._without[channel.id][0]
            try:
                async with asyncio.timeout(HANGS_S):
                    webhook = await self._own(channel) or await channel.create_webhook(name=NAME)
            except (discord.HTTPException, discord.RateLimited, TimeoutError) as fault:
                return self.lost(place, _why(fault))
            self._cached[channel.id] = webhook
            self._without.pop(channel.id, None)
            self._told.discard(channel.id)
            return webhook

    async def posted_by(self, place: int, webhook: int) -> discord.Webhook | None:
        """The webhook that posted a message there; None if it is deleted. Raises what discord.py raises."""
        channel = await self._channel(place)
        if channel is None:
            return None
        cached = self._cached.get(channel.id)
        if cached is not None and cached.id == webhook:
            return cached
        if missing(self._client, channel.id, "manage_webhooks"):
            return None
        async with self._turns.setdefault(channel.id, asyncio.Lock()):
            try:
                own_webhook = await self._own(channel)
            except discord.Forbidden:
                return None
            if own_webhook is not None:
                self._cached[channel.id] = own_webhook
            return own_webhook if own_webhook is not None and own_webhook.id == webhook else None

    def lost(self, place: int, why: str) -> NoWebhook:
        """Note that the webhook does not work; for a while none is tried there."""
        channel, without = self._channel_id(place), NoWebhook(why)
        self._cached.pop(channel, None)
        self._without[channel] = without, self._clock() + REST_S
        return without

    def first_without(self, place: int) -> bool:
        """Whether this is the first call for this channel, so that people get the notice about a missing
        webhook once.
        """
        channel = self._channel_id(place)
        new = channel not in self._told
        self._told.add(channel)
        return new

    async def _own(self, channel: Any) -> discord.Webhook | None:
        """The bot's own webhook; Discord shows only one's own tokens."""
        me = self._client.user
        hooks: list[discord.Webhook] = await channel.webhooks()
        return next(
            (hook for hook in hooks if hook.token and hook.user and me and hook.user.id == me.id),
            None,
        )

    def _channel_id(self, place: int) -> int:
        channel = self._client.get_channel(place)
        return channel.parent_id if isinstance(channel, discord.Thread) else place

    async def _channel(self, place: int) -> Any:
        """The thread's channel, or the channel itself; None if it allows no webhooks."""
        try:
            channel: Any = self._client.get_channel(place) or await self._client.fetch_channel(place)
            if isinstance(channel, discord.Thread):
                channel = channel.parent or await self._client.fetch_channel(channel.parent_id)
        except discord.HTTPException:
            return None
        return channel if hasattr(channel, "create_webhook") else None


def _why(fault: Exception) -> str:
    if isinstance(fault, discord.HTTPException) and fault.code == FULL:
        return "full"
    return "no_permission" if isinstance(fault, discord.Forbidden) else "limited"
