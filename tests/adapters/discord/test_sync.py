"""The commands are registered with Discord only when they change."""

from __future__ import annotations

from collections.abc import AsyncIterator

import discord
import pytest
from discord import app_commands

from bot.adapters.discord.installed.client import redirect
from bot.adapters.discord.installed.setup import digest, payload, sync
from bot.adapters.discord.received.commands import Translator, localized_sentence
from bot.config import DiscordConfig
from tests.fakes.discord import FakeDiscord


class Notes:
    """storage.marks in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    async def get(self, name: str) -> str | None:
        return self.kept.get(name)

    async def set(self, name: str, value: str) -> None:
        self.kept[name] = value


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord() as fake:
        redirect(DiscordConfig(api_base=fake.api))
        yield fake


@pytest.fixture
def notes() -> Notes:
    return Notes()


def tree_of(client: discord.Client, *names: str) -> app_commands.CommandTree[discord.Client]:
    """A tree with these commands."""
    tree = app_commands.CommandTree(client)
    for name in names:

        async def callback(interaction: discord.Interaction) -> None: ...

        tree.add_command(app_commands.Command(name=name, description="Rolls.", callback=callback))
    return tree


async def synced(
    fake: FakeDiscord, notes: Notes, *names: str, guilds: tuple[int, ...] = ()
) -> list[int | None]:
    """Start a bot with these commands; returns the targets that were written."""
    async with discord.Client(intents=discord.Intents.none()) as client:
        await client.login(fake.token)
        return await sync(tree_of(client, *names), notes, guilds)


def puts(fake: FakeDiscord) -> int:
    return sum(call.method == "PUT" for call in fake.calls)


def names(commands: list[dict[str, object]]) -> list[object]:
    return [command["name"] for command in commands]


async def test_the_second_start_writes_nothing(fake: FakeDiscord, notes: Notes) -> None:
    assert await synced(fake, notes, "roll", "ask") == [None]
    assert await synced(fake, notes, "ask", "roll") == []
    assert puts(fake) == 1
    assert names(fake.commands.everywhere) == ["ask", "roll"]


async def test_a_changed_command_is_registered(fake: FakeDiscord, notes: Notes) -> None:
    await synced(fake, notes, "roll")
    assert await synced(fake, notes, "roll", "ask") == [None]
    assert names(fake.commands.everywhere) == ["ask", "roll"]


async def test_only_test_servers_get_the_commands_until_they_are_removed_from_the_list(
    fake: FakeDiscord, notes: Notes
) -> None:
    guild = fake.guild("Table")
    await synced(fake, notes, "roll")
    assert await synced(fake, notes, "roll", guilds=(guild.id,)) == [guild.id, None]
    assert (fake.commands.everywhere, names(fake.commands.by_guild[guild.id])) == ([], ["roll"])
    assert await synced(fake, notes, "roll", guilds=(guild.id,)) == []
    assert await synced(fake, notes, "roll") == [guild.id, None]
    assert (names(fake.commands.everywhere), fake.commands.by_guild[guild.id]) == (["roll"], [])
    assert await synced(fake, notes, "roll") == []


async def test_a_refused_registration_is_retried_at_the_next_start(
    fake: FakeDiscord, notes: Notes, caplog: pytest.LogCaptureFixture
) -> None:
    guild = fake.guild("Table", bot=False)
    assert await synced(fake, notes, "roll", guilds=(guild.id,)) == [None]
    assert str(guild.id) in caplog.text
    assert await synced(fake, notes, "roll", guilds=(guild.id,)) == []
    assert puts(fake) == 3


async def test_a_new_translation_is_a_change() -> None:
    async def callback(interaction: discord.Interaction) -> None: ...

    async with discord.Client(intents=discord.Intents.none()) as client:
        tree = app_commands.CommandTree(client)
        tree.add_command(
            app_commands.Command(
                name="roll", description=localized_sentence("verbs.rules_roll"), callback=callback
            )
        )
        plain = digest(await payload(tree))
        await tree.set_translator(Translator())
        translated = await payload(tree)
    assert digest(translated) != plain
    assert "pt-BR" in translated[0]["description_localizations"]
