"""The slash commands: the table of verbs, and two that are not in the table.

/free-chat switches whether plain messages in one of the bot's threads are for the bot; /setup shows the checklist of a
server to people who manage it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import discord
from discord import app_commands
from discord.app_commands import locale_str
from discord.ext import commands

from bot.adapters.discord.installed.setup import examine, listed
from bot.adapters.discord.installed.traffic import guard
from bot.adapters.discord.received.commands import command, groups, localized_name, localized_sentence, menu
from bot.adapters.discord.received.placing import PLATFORM, Location, location_of
from bot.adapters.discord.shown import replies
from bot.commands import BARE, TABLE, WORKS

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from storage.sessions import ThreadRow


async def load(client: Client) -> None:
    """Add all commands to the client's tree, with the listener for windows and the handler of faults."""
    intake, tree = client.intake, client.tree
    offer = intake.autocomplete.choices
    for work in WORKS:
        for group in groups(work, intake.slash, offer):
            tree.add_command(group)
    for row in BARE.values():
        tree.add_command(command(row, intake.slash, offer))
    await client.add_cog(Setup(client))
    await client.add_cog(FreeChat(client))
    tree.add_command(app_commands.ContextMenu(name=localized_sentence("edge.about"), callback=intake.about))
    for row in TABLE:
        if row.menu:
            tree.add_command(menu(row, intake.on_message))
    guard(client, client.acknowledgements)
    tree.error(intake.failed)
    client.add_listener(intake.finish, "on_interaction")


class FreeChat(commands.Cog):
    def __init__(self, client: Client) -> None:
        self._client = client

    @app_commands.command(
        name=locale_str("free-chat", key="names.free_chat"),
        description=localized_sentence("welcome.free_chat"),
    )
    @app_commands.describe(on=localized_sentence("welcome.free_chat_option"))
    @app_commands.rename(on=localized_name("on", "option"))
    @app_commands.allowed_installs(guilds=True, users=False)
    @app_commands.allowed_contexts(guilds=True, dms=False, private_channels=False)
    async def free_chat(self, interaction: discord.Interaction[Client], on: bool) -> None:
        say, location = self._client.intake.words(interaction), location_of(interaction)
        threads = self._client.app.records.threads
        thread_row = await threads.get(location.space, location.real)
        if thread_row is None:
            await replies.tell(interaction, say("welcome.free_chat_where"))
        elif not await self._may(interaction, location, thread_row):
            await replies.tell(interaction, say("welcome.free_chat_who"))
        elif on and not self._client.intents.message_content:
            await replies.tell(interaction, say("welcome.free_chat_intent"))
        else:
            await threads.set_free_chat(location.space, thread_row.real, on)
            name = discord.utils.escape_markdown(interaction.user.display_name)
            # Shown to everybody in the thread, because it concerns what the bot reads.
            await interaction.response.send_message(
                say("welcome.free_chat_on" if on else "welcome.free_chat_off", who=name),
                allowed_mentions=discord.AllowedMentions.none(),
            )

    async def _may(
        self, interaction: discord.Interaction[Client], location: Location, thread_row: ThreadRow
    ) -> bool:
        """Whether the person may manage threads, or began the conversation."""
        if interaction.permissions.manage_threads:
            return True
        sessions = self._client.app.records.sessions
        session = await sessions.active(location.space, PLATFORM, thread_row.channel, thread_row.thread)
        return session is not None and session.author_id == str(interaction.user.id)


class Setup(commands.Cog):
    def __init__(self, client: Client) -> None:
        self._client = client

    @app_commands.command(
        name=locale_str("setup", key="names.setup"), description=localized_sentence("welcome.setup")
    )
    @app_commands.default_permissions(manage_guild=True)
    @app_commands.allowed_installs(guilds=True, users=False)
    @app_commands.allowed_contexts(guilds=True, dms=False, private_channels=False)
    async def setup(self, interaction: discord.Interaction[Client]) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        say = self._client.intake.words(interaction)
        space, may = location_of(interaction).space, interaction.app_permissions
        text = listed(await examine(self._client, interaction.guild, space, may, say), say)
        await replies.at_length(interaction, text)
