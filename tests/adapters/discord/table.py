"""A bot at a simulated table: the real client's listeners, intake and buttons, the real application and storage.

The works are scripts, and the events of runs are recorded: these tests are about people's presses and messages.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import discord
import simcord
from discord import app_commands
from discord.ui import ActionRow, Button, LayoutView, TextDisplay
from simcord.builders import ChannelHandle
from simcord.results import InteractionResult, ResponseMessage

from bot.adapters.discord.installed.setup import sync
from bot.adapters.discord.installed.traffic import guard
from bot.adapters.discord.received import presses
from bot.adapters.discord.received.commands import Translator
from bot.adapters.discord.received.intake import Intake
from bot.adapters.discord.received.messages import Listener
from bot.adapters.discord.received.presses import message_text
from bot.adapters.discord.service import Sutradhar
from bot.app import App
from bot.config import Config, DiscordConfig
from bot.platforms import Platform
from cogs import FreeChat, Setup
from tests.fakes import scripted_app
from tests.fakes.scripted_app import Recorder, Script, open_scripted


class Client(Sutradhar):
    """The bot without its views; `show` posts an answer as a view would."""

    async def setup_hook(self) -> None:
        self.intake = Intake(self.app, self, self.config)
        await self.tree.set_translator(Translator())
        await self.add_cog(Setup(self))
        await self.add_cog(FreeChat(self))
        Listener(self).listen()
        self.add_dynamic_items(*presses.ITEMS)
        guard(self, self.acknowledgements)
        self.tree.add_command(show)
        await sync(self.tree, self.app.resources.records.marks)


@app_commands.command()
async def show(interaction: discord.Interaction, text: str, ids: str, private: bool = False) -> None:
    """Post an answer with buttons of these custom_ids, which are separated by blanks."""
    await interaction.response.send_message(
        view=answer(text, *ids.split()), ephemeral=private, allowed_mentions=discord.AllowedMentions.none()
    )


def answer(text: str, *ids: str) -> LayoutView:
    """An answer as the renderer posts it; its buttons are labelled with their custom_ids."""
    view = LayoutView(timeout=None)
    view.add_item(TextDisplay(text))
    row: ActionRow[LayoutView] = ActionRow()
    for id in ids:
        row.add_item(Button(label=id.split(":")[0], custom_id=id))
    if ids:
        view.add_item(row)
    view.stop()
    return view


@dataclass
class Table:
    """`app` outlives `client`, of which `restart` makes a new one."""

    env: simcord.Env
    app: App
    config: Config
    recorder: Recorder

    def __post_init__(self) -> None:
        self.guild = self.env.create_guild()
        self.space = str(self.guild.id)
        self.channel = self.guild.create_text_channel("general")
        self.ana = self.guild.add_member(self.env.create_user("Ana"))

    async def shown(
        self, *ids: str, text: str = "An answer", private: bool = False, where: ChannelHandle | None = None
    ) -> ResponseMessage:
        """Post an answer to Ana with buttons of these custom_ids."""
        options = {"text": text, "ids": " ".join(ids), "private": private}
        response = (await self.ana.slash(where or self.channel, "show", **options)).response
        assert response is not None
        return response

    async def thread(self, *, free_chat: bool | None = False) -> ChannelHandle:
        """A thread that the bot opened, with the conversation "talk"; `free_chat` None: nobody has chosen."""
        channel = self.client.get_channel(self.channel.id)
        assert isinstance(channel, discord.TextChannel)
        real = await channel.create_thread(name="A question", type=discord.ChannelType.public_thread)
        threads = self.app.resources.records.threads
        await threads.bind(self.space, str(channel.id), "talk", str(real.id))
        if free_chat is not None:
            await threads.set_free_chat(self.space, str(real.id), free_chat)
        (handle,) = (thread for thread in self.channel.threads if thread.id == real.id)
        return handle

    async def asked(self) -> list[str]:
        """The texts of all requests, in order."""
        past = [await self.app.request_of(self.space, run) for run in self.recorder.events]
        return [f"/{request.work} {request.verb} {request.text}" for request in past if request is not None]

    def said(self, where: ChannelHandle | None = None) -> list[str]:
        """The texts of the channel's messages."""
        return [message_text(message) for message in (where or self.channel).history()]

    @property
    def client(self) -> Client:
        client = self.env.bot
        assert isinstance(client, Client)
        return client

    async def restart(self) -> None:
        await self.env.restart_bot(Client(self.app, self.config))


@asynccontextmanager
async def table(
    data: Path, scripts: Mapping[str, Script], settings: DiscordConfig | None = None
) -> AsyncIterator[Table]:
    recorder = Recorder()
    config = replace(scripted_app.config(data), discord=settings or DiscordConfig())
    app = await open_scripted(data, scripts, recorder, config)
    app.attach(Platform("discord", recorder.view))
    await app.start()
    env = simcord.Env(Client(app, config), shard_count=1, settle_timeout=60)
    try:
        await env.start()
        yield Table(env, app, config, recorder)
        env.raise_errors()
    finally:
        await env.shutdown()
        await app.close()


def told(result: InteractionResult) -> str:
    """What a press or a command showed in addition to the pressed message."""
    own = [result.response] if result.response is not None and not result.followups else []
    return "\n".join(message_text(message.message) for message in [*result.followups, *own])


def labels(message: discord.Message) -> list[str | None]:
    """The labels of a message's buttons."""
    items = LayoutView.from_message(message).walk_children()
    return [item.label for item in items if isinstance(item, Button)]
