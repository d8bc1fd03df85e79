"""The slash commands: thin classes, one per kind of work, that hand everything to the reception."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.adapters.discord.client import Sutradhar


async def load(bot: Sutradhar) -> None:
    """Every command into the bot's tree, with the listener for windows and the answer to faults."""
    from bot.adapters.discord import malformed, repeated
    from bot.adapters.discord.menus import about_message
    from cogs import free_chat, setup
    from cogs.council import Council
    from cogs.house import House
    from cogs.library import Library
    from cogs.prompts import Prompts
    from cogs.rules import Rules
    from cogs.sessions import Sessions

    reception = bot.reception
    for cog in (Rules, Council, Library, Prompts, Sessions, House):
        await bot.add_cog(cog(reception))
    await setup.load(bot)
    await free_chat.load(bot)
    bot.tree.add_command(about_message(reception))
    repeated.guard(bot)
    malformed.guard(bot)
    bot.tree.error(reception.failed)
    bot.add_listener(reception.finish, "on_interaction")
