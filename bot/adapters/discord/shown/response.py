"""An interaction's response as a surface, while its token is valid."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, cast

import discord

from bot.adapters.discord.installed.traffic import HANGS_S, UPLOAD_S
from bot.adapters.discord.shown.surface import as_surface_faults, changes, direct, sent_as
from bot.adapters.surface import Gone, Guest, MessageRef, MessageStyle, PlaceClosed

if TYPE_CHECKING:
    from bot.adapters.discord.received.placing import Origin
    from bot.adapters.discord.text.page import Page

ORIGINAL = "@original"
"""The response's name, used in place of a message id (Discord's documentation, "Edit Original Interaction Response").

The library puts either into the address unchanged.
"""
EARLY_S = 5.0
"""Seconds by which a token counts as expired early, because a request takes time."""


class Response(Guest):
    """An interaction's response and then follow-ups, until its token expires.

    It is the only surface for messages to one person in a channel. A response is edited again rather than looked for,
    and a follow-up for one person is in no history.
    """

    files = True

    def __init__(
        self,
        client: discord.Client,
        origin: Origin,
        run: str,
        *,
        in_dm: str = "",
        hangs_s: float = HANGS_S,
    ) -> None:
        """`in_dm`: the first line of the direct message that replaces a message to one person once the token has
        expired; "" for no such message. `hangs_s`: an edit that takes longer is given up. A follow-up is not, because a
        repeated one would be posted twice.
        """
        self._client, self._user, self._in_dm = client, origin.user, in_dm
        self._webhook = discord.Webhook.partial(origin.application, origin.token, client=client)
        # Interactions have webhooks of this type, and only this type can send to one person alone.
        self._webhook.type = discord.WebhookType.application
        self.key = run
        self._private = origin.private
        self._until = origin.until - EARLY_S
        self.answered = origin.pressed
        """Whether the response is used, so that every further message is a follow-up."""
        self._hangs_s = hangs_s

    @property
    def alive(self) -> bool:
        return time.time() < self._until

    async def post(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        if self.answered:
            return await self._follow_up(page, ref, style, ephemeral=self._private)
        message = await self.edit(ORIGINAL, page, ref, style, files=bool(page.files), reset=False)
        self.answered = True
        return message

    async def post_ephemeral(self, page: Page, ref: MessageRef, style: MessageStyle) -> str:
        """Post for the asker alone, even where the response is for everybody."""
        if self._private and not self.answered:
            return await self.post(page, ref, style)
        if not self.answered:
            # Otherwise the first follow-up would replace the response and be as public.
            with suppress(Gone):  # done before a crash
                await self.delete(ORIGINAL)
            self.answered = True
        try:
            return await self._follow_up(page, ref, style, ephemeral=True)
        except PlaceClosed as closed:
            if not (closed.expired and self._in_dm):
                raise
        dm = await direct(self._client, self._user)
        return await dm.post(page.under(self._in_dm), ref, style)

    async def _follow_up(self, page: Page, ref: MessageRef, style: MessageStyle, *, ephemeral: bool) -> str:
        if not self.alive:
            raise PlaceClosed(expired=True)
        none = discord.AllowedMentions.none()
        with as_surface_faults():
            message = await self._webhook.send(
                **sent_as(page, ref, style), ephemeral=ephemeral, wait=True, allowed_mentions=none
            )
        return str(message.id)

    async def edit(
        self, message: str, page: Page, ref: MessageRef, style: MessageStyle, *, files: bool, reset: bool
    ) -> str:
        """Edit a message. Returns its id."""
        if not self.alive:
            raise PlaceClosed(expired=True)
        changed, none = changes(page, ref, style, files=files, reset=reset), discord.AllowedMentions.none()
        # The library may also wait for a limit here, but not longer than this.
        hangs_s = max(self._hangs_s, UPLOAD_S) if changed.get("attachments") else self._hangs_s
        with as_surface_faults():
            async with asyncio.timeout(hangs_s):
                edited = await self._webhook.edit_message(
                    cast("int", message), **changed, allowed_mentions=none
                )
        return str(edited.id)

    async def delete(self, message: str) -> None:
        if not self.alive:
            raise PlaceClosed(expired=True)
        with as_surface_faults():
            await self._webhook.delete_message(cast("int", message))
