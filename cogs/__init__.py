"""The slash commands: the table of verbs, and two that are about a server and its threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Sutradhar


async def load(bot: Sutradhar) -> None:
    """Every command into the bot's tree, with the listener for windows and the answer to faults."""
    from bot.adapters.discord.installed import malformed, repeated
    from bot.adapters.discord.received.menus import about_message
    from bot.adapters.discord.received.verbs import command, group
    from bot.commands import BARE, WORKS
    from cogs import free_chat, setup

    reception = bot.reception
    offer = reception.autocomplete.choices
    for work in WORKS:
        bot.tree.add_command(group(work, reception.slash, offer))
    for row in BARE:
        bot.tree.add_command(command(row, reception.slash, offer))
    await setup.load(bot)
    await free_chat.load(bot)
    bot.tree.add_command(about_message(reception))
    repeated.guard(bot)
    malformed.guard(bot)
    bot.tree.error(reception.failed)
    bot.add_listener(reception.finish, "on_interaction")
