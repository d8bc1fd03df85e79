"""Discord as one of the platforms that `run` serves, behind the same few methods as the others."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import cogs
from bot.adapters.discord.installed.client import Client
from bot.adapters.discord.installed.connection import in_words
from bot.adapters.discord.installed.sync import sync
from bot.adapters.discord.received import presses
from bot.adapters.discord.received.commands import Translator
from bot.adapters.discord.received.intake import Intake
from bot.adapters.discord.received.messages import Listener
from bot.adapters.discord.received.placing import PLATFORM, origin_at
from bot.adapters.discord.received.request import Attachments
from bot.adapters.discord.shown.view import view_factory
from bot.platforms import Platform

if TYPE_CHECKING:
    from bot.app import App
    from bot.config import Config
    from bot.words import Words


class Sutradhar(Client):
    """The client with all that it hears and answers."""

    async def setup_hook(self) -> None:
        """Logged in, and not yet connected: everything that answers events is put in its place."""
        fetch = Attachments(self.settings).fetch
        self.app.attach(Platform(PLATFORM, view_factory(self), fetch, origin=origin_at))
        await self.furnish()
        await self.intake.sweep()
        await sync(self.tree, self.app.house.marks, self.settings.sync_guilds)

    async def furnish(self) -> None:
        """The commands and buttons, who takes them in, and who hears what people write."""
        self.intake = Intake(self.app, self, self.config)
        await self.tree.set_translator(Translator())
        await cogs.load(self)
        Listener(self).listen()
        self.add_dynamic_items(*presses.ITEMS)


class Discord:
    """`prepare`, then `App.start`, then `run`. Made in the loop; `close` it, also if it was never prepared."""

    def __init__(self, app: App, config: Config, token: str, say: Words) -> None:
        self._settings = config.discord
        self._token = token
        self._say = say
        self._client = Sutradhar(app, config, on_first_ready=self._welcome)
        self._begun = False

    async def prepare(self) -> None:
        """Log in, and attach the views. Raises Sorry ("discord_run.…")."""
        self._begun = True
        async with in_words(self._settings):
            await self._client.login(self._token)

    async def run(self) -> None:
        """Take in what people do until `quiet`. Raises Sorry when it cannot go on."""
        async with in_words(self._settings):
            await self._client.connect()

    async def quiet(self) -> None:
        """Nothing new comes in, while messages can still be sent."""
        if self._begun:
            await self._client.quiet()

    async def close(self) -> None:
        if self._begun:
            await self._client.close()

    def _welcome(self, client: Client) -> None:
        """Tell whoever started it that it is there."""
        n = len(client.guilds)
        print(self._say("discord_run.ready", who=client.user, n=n), file=sys.stderr, flush=True)
        if not n:
            print(self._say("discord_run.no_guilds"), file=sys.stderr, flush=True)
