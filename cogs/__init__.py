"""The slash commands: the table of verbs, and two commands about a server and its threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discord import app_commands

from bot.adapters.discord.installed.traffic import guard
from bot.adapters.discord.received.commands import command, groups, localized_sentence, menu
from bot.commands import BARE, TABLE, WORKS
from cogs.discord_only import FreeChat, Setup

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client


async def load(client: Client) -> None:
    """Add all commands to the client's tree, the listener for windows, and the handler of faults."""
    intake, tree = client.intake, client.tree
    offer = intake.autocomplete.choices
    for work in WORKS:
        for group in groups(work, intake.slash, offer):
            tree.add_command(group)
    for row in BARE:
        tree.add_command(command(row, intake.slash, offer))
    await client.add_cog(Setup(client))
    await client.add_cog(FreeChat(client))
    tree.add_command(app_commands.ContextMenu(name=localized_sentence("edge.about"), callback=intake.about))
    for row in TABLE:
        if row.menu:
            tree.add_command(menu(row, intake.on_message))
    guard(client)
    tree.error(intake.failed)
    client.add_listener(intake.finish, "on_interaction")
