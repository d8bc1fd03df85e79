"""/setup lists what is ready and what to click; /free-chat turns messages without mentions on and off."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import discord
import pytest
from simcord.actors import MemberActor

from bot.adapters.discord.installed.setup import PERMISSIONS, examine, listed, note_of
from bot.check import library_check
from bot.config import DiscordConfig, ProviderConfig, RolesConfig
from bot.settings import Settings
from bot.words import words
from storage.documents import Documents
from tests.adapters.discord.table import Table, table, told


def opened(data: Path, settings: DiscordConfig | None = None) -> AbstractAsyncContextManager[Table]:
    return table(data, {}, settings)


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Table]:
    async with opened(tmp_path) as made:
        yield made


def keeper(at: Table) -> MemberActor:
    """A person who manages the server."""
    role = at.guild.create_role("Keepers", permissions=discord.Permissions(manage_guild=True))
    return at.guild.add_member(at.env.create_user("Bia"), roles=[role])


async def test_setup_lists_what_is_ready_and_what_is_missing(at: Table) -> None:
    result = await keeper(at).slash(at.channel, "setup")
    assert result.ephemeral
    text = told(result)
    assert "✓ I have every permission" in text
    assert "✓ Each question gets its own thread" in text
    assert "– Free chat is off" in text
    assert "Message Content Intent" in text
    assert "✗ The library is empty. `/library add`" in text
    assert "– No language model is set up" in text
    assert "✓ Discord shows the commands of this release." in text
    assert "1 thing needs fixing" in text


class Shelved:
    """Documents that know only their shelves."""

    def __init__(self, *shelves: str) -> None:
        self._books = [SimpleNamespace(shelf=shelf) for shelf in shelves]

    async def list(self, space: str) -> list[Any]:
        return self._books


async def test_the_word_for_shelves_agrees_with_the_number_of_shelves() -> None:
    for shelves, line in (
        (("rules", "rules"), "2 books in the library, on the shelf rules."),
        (("rules", "lore"), "2 books in the library, on the shelves rules, lore."),
    ):
        check = await library_check(cast(Documents, Shelved(*shelves)), "s", words("en"), none="")
        assert check.line.endswith(line)


async def test_setup_names_a_model_without_a_key(at: Table) -> None:
    usual = at.client.config
    providers = {**usual.providers, "far": ProviderConfig("far", "openai-compatible", api_key_env="FAR_KEY")}
    at.client.config = replace(usual, providers=providers, roles=RolesConfig(answerer=("far:model",)))
    at.app.settings = Settings(at.app.settings.store, at.client.config)
    text = told(await keeper(at).slash(at.channel, "setup"))
    assert "✗ far:model should write the answers, but its API key is missing" in text
    assert "can set FAR_KEY" in text


async def test_a_missing_permission_is_named_with_its_use_and_where_to_grant_it(at: Table) -> None:
    denied = discord.PermissionOverwrite(attach_files=False, create_public_threads=False)
    channel = at.guild.create_text_channel("quiet", overwrites={at.guild.default_role: denied})
    text = told(await keeper(at).slash(channel, "setup"))
    assert "✗ **Attach Files** is missing in this channel (for tables, pictures and exports)." in text
    assert "✗ **Create Public Threads** is missing" in text
    assert "Edit Channel, Permissions" in text
    assert "✗ Questions get no thread of their own in this channel" in text
    assert "Send Messages** is missing" not in text


async def test_setup_is_for_people_who_manage_the_server(at: Table) -> None:
    assert "setup" not in at.ana.available_commands(at.channel)
    assert "setup" in keeper(at).available_commands(at.channel)


async def test_the_longest_list_fits_a_message_in_both_languages(at: Table) -> None:
    guild, nothing = at.client.get_guild(at.guild.id), discord.Permissions.none()
    await at.app.resources.records.marks.set(
        note_of(at.client.application_id or 0, None), "of another release"
    )
    for locale in ("en", "pt-BR"):
        say = words(locale)
        checks = await examine(at.client, guild, at.space, nothing, say)
        assert [check.well for check in checks].count(False) == len(PERMISSIONS) + 3
        assert len(listed(checks, say)) <= 4_000


async def test_free_chat_without_the_intent_says_what_is_missing(at: Table) -> None:
    thread = await at.thread()
    await at.app.resources.records.sessions.open(
        at.space, "discord", str(at.channel.id), "talk", "rules", author_id=str(at.ana.id)
    )
    result = await at.ana.slash(thread, "free-chat", on=True)
    assert result.ephemeral
    assert "Message Content Intent" in told(result)
    held = await at.app.resources.records.threads.get(at.space, str(thread.id))
    assert held is not None
    assert not held.free_chat


async def test_the_sessions_opener_and_thread_managers_can_switch_free_chat(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, DiscordConfig(free_chat=True)) as at:
        thread = await at.thread()
        await at.app.resources.records.sessions.open(
            at.space, "discord", str(at.channel.id), "talk", "rules", author_id=str(at.ana.id)
        )
        role = at.guild.create_role("Keepers", permissions=discord.Permissions(manage_threads=True))
        bia = at.guild.add_member(at.env.create_user("Bia"), roles=[role])
        other = at.guild.add_member(at.env.create_user("Caio"))
        refused = await other.slash(thread, "free-chat", on=True)
        assert refused.ephemeral
        assert "Only the person who asked first" in told(refused)
        result = await at.ana.slash(thread, "free-chat", on=True)
        assert not result.ephemeral
        assert told(result).startswith("Ana switched free chat on")
        held = await at.app.resources.records.threads.get(at.space, str(thread.id))
        assert held is not None
        assert held.free_chat
        assert told(await bia.slash(thread, "free-chat", on=False)).startswith("Bia switched free chat off")
        held = await at.app.resources.records.threads.get(at.space, str(thread.id))
        assert held is not None
        assert not held.free_chat


async def test_free_chat_outside_the_bots_threads_says_where_it_works(at: Table) -> None:
    result = await at.ana.slash(at.channel, "free-chat", on=True)
    assert result.ephemeral
    assert "inside one of my threads" in told(result)
