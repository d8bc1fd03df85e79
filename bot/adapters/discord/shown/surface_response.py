"""An interaction's own answer as a surface: its response first, then follow-ups, as long as its token lives.

The one way to speak where the bot is a guest, and the only one to speak to somebody alone in a channel.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

import discord

from bot.adapters.discord.shown.surface import HANGS_S, UPLOAD_S, attached, changes, in_our_words, sent_as
from bot.adapters.surface import Form, Mark, Shut

if TYPE_CHECKING:
    from bot.adapters.discord.received.origin import Origin
    from bot.adapters.discord.text.page import Page

ORIGINAL = "@original"
"""The response's own name where a message's id is wanted (Discord's documentation, "Edit Original Interaction
Response")."""
EARLY_S = 5.0
"""So much before its time a token is taken for dead: a request on its way would come too late."""


class Response:
    files = True

    def __init__(
        self,
        client: discord.Client,
        origin: Origin,
        run: str,
        *,
        answered: bool = False,
        now: Callable[[], float] = time.time,
        hangs_s: float = HANGS_S,
    ) -> None:
        """`answered`: the response says something else already, so that every message is a follow-up.

        `hangs_s`: an edit that takes longer is given up. A follow-up is not: nothing makes a second one the same.
        """
        self._webhook = discord.Webhook.partial(origin.application, origin.token, client=client)
        # What an interaction's token opens is of this kind, and only this kind may send to one person alone.
        self._webhook.type = discord.WebhookType.application
        self._run = run
        self._private = origin.private
        self._until = origin.until - EARLY_S
        self.answered = answered
        self._now = now
        self._hangs_s = hangs_s

    @property
    def key(self) -> Hashable:
        return self._run

    @property
    def alive(self) -> bool:
        return self._now() < self._until

    async def post(self, page: Page, mark: Mark, form: Form) -> str:
        self._must_live()
        with in_our_words():
            if not self.answered:
                changed = changes(page, mark, form, files=bool(page.files), reset=False)
                id = await self._edit(ORIGINAL, changed)
                self.answered = True
                return str(id)
            return await self._follow_up(page, mark, form, ephemeral=self._private)

    async def whisper(self, page: Page, mark: Mark, form: Form) -> str:
        """Say it to the asker alone, also where the response would have been for everybody."""
        self._must_live()
        with in_our_words():
            if self._private and not self.answered:
                return await self.post(page, mark, form)
            if not self.answered:
                # Or the first follow-up would take the response's place, and be as public as that.
                with suppress(discord.NotFound):  # done before a crash
                    await self._webhook.delete_message(_id(ORIGINAL))
                self.answered = True
            return await self._follow_up(page, mark, form, ephemeral=True)

    async def _follow_up(self, page: Page, mark: Mark, form: Form, *, ephemeral: bool) -> str:
        files = attached(page, form)
        said: dict[str, Any] = sent_as(page, mark, form) | ({"files": files} if files else {})
        message = await self._webhook.send(
            **said, ephemeral=ephemeral, wait=True, allowed_mentions=discord.AllowedMentions.none()
        )
        return str(message.id)

    async def edit(
        self, message: str, page: Page, mark: Mark, form: Form, *, files: bool, reset: bool
    ) -> None:
        self._must_live()
        changed = changes(page, mark, form, files=files, reset=reset)
        with in_our_words():
            await self._edit(message, changed)

    async def _edit(self, message: str, changed: dict[str, Any]) -> int:
        # The library waits for a limit here, too, but for less than this.
        uploads = bool(changed.get("attachments"))
        async with asyncio.timeout(max(self._hangs_s, UPLOAD_S) if uploads else self._hangs_s):
            edited = await self._webhook.edit_message(
                _id(message), **changed, allowed_mentions=discord.AllowedMentions.none()
            )
        return edited.id

    async def find(self, mark: Mark, since: datetime, known: Collection[str]) -> str | None:
        """Nothing: the response is edited again, and a follow-up for one person stands in no history."""
        return None

    async def delete(self, message: str) -> None:
        self._must_live()
        with in_our_words():
            await self._webhook.delete_message(_id(message))

    def _must_live(self) -> None:
        if not self.alive:
            raise Shut(expired=True)


def _id(message: str) -> int:
    """As the library types it, which puts the response's name into the address, too."""
    return int(message) if message != ORIGINAL else cast("int", message)
