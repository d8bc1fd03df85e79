"""User installs in places without the bot, on the fake Discord."""

from __future__ import annotations

import discord
import pytest

from tests.wire.small_bot import table


async def test_a_guest_gets_five_follow_ups() -> None:
    async def talk(interaction: discord.Interaction) -> None:
        assert interaction.is_user_integration()
        assert not interaction.is_guild_integration()
        await interaction.response.send_message("answer")
        for number in range(6):
            await interaction.followup.send(f"more {number}")

    async with table() as t:
        elsewhere = t.fake.guild("Elsewhere", bot=False)
        elsewhere.join(t.ana)
        t.bot.doing = talk
        asked = await t.fake.slash(t.ana, elsewhere.text("lobby"), "hello")
        await t.fake.until(lambda: t.bot.trouble)
        [trouble] = t.bot.trouble
        assert isinstance(trouble, discord.HTTPException)
        assert trouble.code == 40094
        assert len(asked.followups) == 5


async def test_the_bots_own_token_reaches_nothing_in_a_guild_without_the_bot() -> None:
    async with table() as t:
        elsewhere = t.fake.guild("Elsewhere", bot=False)
        elsewhere.join(t.ana)
        channel = elsewhere.text("lobby")
        asked = await t.fake.slash(t.ana, channel, "hello")
        assert asked.original is not None
        path = f"/channels/{channel.id}"
        await t.refused(50001, "GET", path, status=403)
        await t.refused(50001, "POST", f"{path}/messages", {"content": "hi"})
        await t.refused(50001, "PATCH", f"{path}/messages/{asked.original.id}", {"content": "hi"})
        with pytest.raises(LookupError, match="installs"):
            await t.fake.slash(t.ana, channel, "rules ask", question="q")


async def test_a_guests_answer_is_ephemeral_where_the_guild_hides_external_apps() -> None:
    async with table() as t:
        elsewhere = t.fake.guild("Elsewhere", bot=False)
        elsewhere.external_apps = False
        elsewhere.join(t.ana)
        asked = await t.fake.slash(t.ana, elsewhere.text("lobby"), "hello")
        assert (asked.kind, asked.ephemeral) == (5, True)


async def test_a_group_without_the_bot_is_another_context() -> None:
    contexts: list[discord.app_commands.AppCommandContext] = []

    async def look(interaction: discord.Interaction) -> None:
        contexts.append(interaction.context)
        await interaction.response.defer()

    async with table() as t:
        t.bot.doing = look
        await t.fake.slash(t.ana, t.fake.private(t.ana, t.fake.user("Bia")), "hello")
        assert contexts[0].private_channel
