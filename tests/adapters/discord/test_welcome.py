"""The welcome on a server: once, in its language, where the bot may write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import discord
import pytest
from simcord.builders import GuildHandle

from bot.adapters.discord.installed.setup import welcome, where
from tests.adapters.discord.table import Table, table


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with table(tmp_path, {}) as made:
        yield made


async def joined(at: Table, guild: GuildHandle) -> None:
    """Send the client the event that it joined the server, with the server's current settings."""
    known = at.client.get_guild(guild.id)
    assert known is not None
    await welcome(at.app.resources.records.marks, known)


async def test_a_server_is_welcomed_with_three_examples(at: Table) -> None:
    await joined(at, at.guild)
    (text,) = at.said()
    assert text.count("\n- ") == 3
    assert "/rules ask" in text
    assert "/story start" in text
    assert "/setup" in text


async def test_a_server_is_welcomed_in_its_language(at: Table) -> None:
    guild = at.env.create_guild(preferred_locale="pt-BR")
    channel = guild.create_text_channel("geral")
    await joined(at, guild)
    (text,) = at.said(channel)
    assert text.startswith("Olá!")
    assert "/regras perguntar" in text
    assert "/história começar" in text


async def test_a_server_is_welcomed_once_even_if_it_invites_the_bot_again_after_a_restart(at: Table) -> None:
    await joined(at, at.guild)
    await at.restart()
    await joined(at, at.guild)
    assert len(at.said()) == 1


async def test_a_server_where_the_bot_may_not_write_is_welcomed_once_it_may(at: Table) -> None:
    guild = at.env.create_guild()
    muted = discord.PermissionOverwrite(send_messages=False)
    channel = guild.create_text_channel("rules", overwrites={guild.default_role: muted})
    await joined(at, guild)
    assert at.said(channel) == []
    later = guild.create_text_channel("general")
    await joined(at, guild)
    assert len(at.said(later)) == 1


async def test_the_welcome_is_in_the_topmost_channel_where_the_bot_may_write(at: Table) -> None:
    guild = at.env.create_guild()
    hidden = discord.PermissionOverwrite(view_channel=False)
    guild.create_text_channel("hidden", overwrites={guild.default_role: hidden})
    first = guild.create_text_channel("first")
    guild.create_text_channel("second")
    known = at.client.get_guild(guild.id)
    assert known is not None
    channel = where(known)
    assert channel is not None
    assert channel.id == first.id
