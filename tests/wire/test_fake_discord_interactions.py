"""Interactions of the fake Discord, driven by the real client: what it allows and what it refuses."""

from __future__ import annotations

import asyncio
import io
from typing import Any

import discord
import pytest

from tests.fakes.discord.asked import SECONDS_TO_ANSWER
from tests.wire.small_bot import Table, table


class Panel(discord.ui.View):
    def __init__(self) -> None:
        super().__init__(timeout=None)
        self.add_item(discord.ui.Button(label="Stop", custom_id="stop"))
        self.add_item(discord.ui.Button(label="Old", custom_id="old", disabled=True))


class Form(discord.ui.Modal, title="Rename"):
    name: discord.ui.Label[Any] = discord.ui.Label(
        text="Name", component=discord.ui.TextInput(custom_id="name", max_length=10, default="old")
    )


async def test_a_question_is_deferred_answered_and_continued_in_a_thread() -> None:
    async with table() as t:
        asked = await t.fake.slash(t.ana, t.channel, "rules ask", question="What is a bonus?", shelf="srd")
        assert (asked.kind, asked.ephemeral) == (5, False)
        assert asked.acked is not None
        assert asked.acked < 3
        await t.fake.until(lambda: asked.response)
        assert asked.text == "What is a bonus?"
        channel = t.bot.get_channel(t.channel.id)
        assert isinstance(channel, discord.TextChannel)
        assert asked.response is not None
        root = await channel.fetch_message(asked.response.id)
        thread = await root.create_thread(name="Bonus")
        sent = await thread.send("Working…", view=Panel())
        await sent.edit(content="Done")
        [post] = t.channel.threads[0].messages
        assert (post.text, [text for _, text in post.edits]) == ("Done", ["Done"])
        assert asked.response.thread is t.channel.threads[0]
        assert not t.fake.refused
        assert not t.fake.limited


async def test_the_client_receives_the_asker_the_place_and_the_install() -> None:
    interactions: list[discord.Interaction] = []

    async def look(interaction: discord.Interaction) -> None:
        interactions.append(interaction)
        await interaction.response.defer(ephemeral=True)

    async with table() as t:
        t.bot.doing = look
        t.guild.locale = "pt-BR"
        asked = await t.fake.slash(t.ana, t.channel, "hello")
        assert asked.ephemeral
        await t.fake.slash(t.ana, t.fake.dm(t.ana), "hello")
        in_guild, alone = interactions
        assert (in_guild.guild_id, in_guild.channel_id, in_guild.user.id) == (
            t.guild.id,
            t.channel.id,
            t.ana.id,
        )
        assert (str(in_guild.locale), str(in_guild.guild_locale)) == ("pt-BR", "pt-BR")
        assert in_guild.is_guild_integration()
        assert not in_guild.is_user_integration()
        assert in_guild.context.guild
        assert in_guild.app_permissions.send_messages
        assert not in_guild.app_permissions.manage_threads
        assert alone.guild_id is None
        assert alone.context.dm_channel
        assert alone.app_permissions.attach_files
        assert not alone.app_permissions.manage_threads


async def test_an_attached_file_can_be_read() -> None:
    async with table() as t:
        asked = await t.fake.slash(t.ana, t.channel, "rules ask", question="q", file=("a.md", b"# A"))
        await t.fake.until(lambda: asked.response)
        assert t.bot.file == b"# A"
        [file] = t.fake.files.kept.values()
        assert (file.size, file.content_type) == (3, "text/markdown; charset=utf-8")


async def test_choices_are_offered_while_somebody_types() -> None:
    async with table() as t:
        choices = await t.fake.autocomplete(t.ana, t.channel, "rules ask", focused="shelf", shelf="gra")
        assert [choice["name"] for choice in choices] == ["gra-0", "gra-1", "gra-2"]


async def test_a_press_can_change_the_message_or_only_be_acknowledged() -> None:
    async def update(interaction: discord.Interaction) -> None:
        await interaction.response.edit_message(content="stopped", view=None)

    async def later(interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        await interaction.edit_original_response(content="later")

    async with table() as t:
        channel = t.bot.get_channel(t.channel.id)
        assert isinstance(channel, discord.TextChannel)
        await channel.send("one", view=Panel())
        await channel.send("two", view=Panel())
        first, two = t.channel.messages
        t.bot.pressed = update
        pressed = await t.fake.press(t.ana, first, "Stop")
        assert (pressed.kind, first.text, first.buttons) == (7, "stopped", [])
        t.bot.pressed = later
        pressed = await t.fake.press(t.ana, two, "stop")
        assert pressed.kind == 6
        await t.fake.until(lambda: pressed.response is two)
        assert two.text == "later"
        with pytest.raises(LookupError, match="greyed out"):
            await t.fake.press(t.ana, two, "Old")
        with pytest.raises(LookupError, match="no 'Never'"):
            await t.fake.press(t.ana, two, "Never")


async def test_a_form_is_opened_filled_in_and_sent() -> None:
    chosen: list[Any] = []

    async def open_(interaction: discord.Interaction) -> None:
        await interaction.response.send_modal(Form(custom_id="rename"))

    async def take(interaction: discord.Interaction) -> None:
        chosen.append(interaction.data)
        await interaction.response.send_message("thanks", ephemeral=True)

    async with table() as t:
        t.bot.doing, t.bot.pressed = open_, take
        asked = await t.fake.slash(t.ana, t.channel, "hello")
        assert asked.kind == 9
        assert asked.modal is not None
        assert asked.modal["title"] == "Rename"
        sent = await t.fake.submit(t.ana, asked, {"name": "new"})
        assert (sent.text, sent.ephemeral) == ("thanks", True)
        assert chosen[0]["components"][0]["component"]["value"] == "new"
        with pytest.raises(ValueError, match="1 to 10 characters"):
            await t.fake.submit(t.ana, asked, {"name": "x" * 11})
        with pytest.raises(LookupError, match="no \\['nam'\\]"):
            await t.fake.submit(t.ana, asked, {"nam": "x"})


async def test_messages_and_people_have_context_menus() -> None:
    async with table() as t:
        message = await t.fake.say(t.ana, t.channel, "remember this")
        asked = await t.fake.menu(t.ana, message, "Quote")
        assert asked.text == "> remember this"


async def test_only_the_addressed_person_sees_an_ephemeral_message() -> None:
    async def whisper(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("psst", ephemeral=True, view=Panel())

    async with table() as t:
        bia = t.fake.user("Bia")
        t.guild.join(bia)
        t.bot.doing = whisper
        asked = await t.fake.slash(t.ana, t.channel, "hello")
        assert asked.response is not None
        assert t.channel.messages == []
        await t.refused(10008, "GET", f"/channels/{t.channel.id}/messages/{asked.response.id}", status=404)
        await t.refused(
            10008, "PATCH", f"/channels/{t.channel.id}/messages/{asked.response.id}", {"content": "x"}
        )
        with pytest.raises(LookupError, match="does not see"):
            await t.fake.press(bia, asked.response, "Stop")


async def test_the_response_can_be_read_edited_deleted_and_followed_up() -> None:
    async def talk(interaction: discord.Interaction) -> None:
        response = await interaction.response.send_message("one")
        assert isinstance(response.resource, discord.InteractionMessage)
        assert (await interaction.original_response()).content == "one"
        await interaction.followup.send("two", wait=True)
        await interaction.followup.send("three", ephemeral=True)
        await interaction.delete_original_response()

    async with table() as t:
        t.bot.doing = talk
        asked = await t.fake.slash(t.ana, t.channel, "hello")
        await t.fake.until(lambda: asked.original and asked.original.deleted)
        assert asked.response is None
        assert [followup.text for followup in asked.followups] == ["two", "three"]
        assert [message.text for message in t.channel.messages] == ["two"]
        assert t.bot.trouble == []


async def test_the_first_follow_up_replaces_is_thinking() -> None:
    async def talk(interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True)
        await interaction.followup.send("first")
        await interaction.followup.send("second")

    async with table() as t:
        t.bot.doing = talk
        asked = await t.fake.slash(t.ana, t.channel, "hello")
        await t.fake.until(lambda: len(asked.followups) == 1)
        assert asked.text == "first"
        assert asked.response is not None
        assert asked.response.ephemeral
        assert [message.text for message in t.channel.messages] == ["second"]


async def _trouble(t: Table, code: int) -> discord.HTTPException:
    await t.fake.until(lambda: t.bot.trouble)
    [trouble] = t.bot.trouble
    assert isinstance(trouble, discord.HTTPException)
    assert trouble.code == code
    return trouble


async def test_a_second_acknowledgement_is_refused() -> None:
    async def twice(interaction: discord.Interaction) -> None:
        await interaction.response.defer()
        interaction.response._response_type = None
        await interaction.response.defer()

    async with table() as t:
        t.bot.doing = twice
        await t.fake.slash(t.ana, t.channel, "hello")
        await _trouble(t, 40060)


async def test_an_interaction_fails_after_three_seconds() -> None:
    async with table() as t:
        t.fake.ack_seconds = SECONDS_TO_ANSWER
        go = asyncio.Event()

        async def late(interaction: discord.Interaction) -> None:
            await go.wait()
            await interaction.response.defer()

        t.bot.doing = late
        asked = await t.fake.slash(t.ana, t.channel, "hello", wait=0.05)
        assert asked.acked is None
        asked.sent -= 3.0
        go.set()
        trouble = await _trouble(t, 10062)
        assert trouble.status == 404
        assert asked.acked is None


@pytest.mark.parametrize("dead", ["told to", "by the clock"])
async def test_a_token_expires_after_fifteen_minutes(dead: str) -> None:
    async with table() as t:
        go = asyncio.Event()

        async def slow(interaction: discord.Interaction) -> None:
            await interaction.response.defer()
            await go.wait()
            await interaction.edit_original_response(content="too late")

        t.bot.doing = slow
        asked = await t.fake.slash(t.ana, t.channel, "hello")
        if dead == "told to":
            await t.fake.expire(asked)
        else:
            asked.sent -= 15 * 60
        go.set()
        trouble = await _trouble(t, 50027)
        assert trouble.status == 401
        # The bot's own token can still edit the message.
        assert asked.original is not None
        await t.bot.raw(
            "PATCH", f"/channels/{t.channel.id}/messages/{asked.original.id}", {"content": "by the channel"}
        )
        assert asked.text == "by the channel"


async def test_follow_ups_need_an_acknowledgement() -> None:
    async def eager(interaction: discord.Interaction) -> None:
        await interaction.followup.send("hi")

    async with table() as t:
        t.bot.doing = eager
        await t.fake.slash(t.ana, t.channel, "hello", wait=0.2)
        await _trouble(t, 10015)


async def test_the_wrong_type_of_response_is_refused() -> None:
    # Only a press can be answered by editing a message, at once or later.
    async def update(interaction: discord.Interaction) -> None:
        params = discord.webhook.async_.interaction_response_params(6)
        await discord.webhook.async_.async_context.get().create_interaction_response(
            interaction.id, interaction.token, session=interaction._session, params=params
        )

    async with table() as t:
        t.bot.doing = update
        await t.fake.slash(t.ana, t.channel, "hello", wait=0.5)
        await _trouble(t, 50035)


async def test_a_response_can_have_files() -> None:
    async def give(interaction: discord.Interaction) -> None:
        await interaction.response.send_message("here", file=discord.File(io.BytesIO(b"bytes"), "notes.txt"))
        await interaction.edit_original_response(
            attachments=[discord.File(io.BytesIO(b"more"), "again.txt", description="again")]
        )

    async with table() as t:
        t.bot.doing = give
        asked = await t.fake.slash(t.ana, t.channel, "hello")
        await t.fake.until(lambda: asked.response and asked.response.edits)
        assert asked.response is not None
        [file] = asked.response.files
        assert (file.name, file.data, file.description) == ("again.txt", b"more", "again")


async def test_a_locked_thread_refuses_responses() -> None:
    async with table() as t:
        thread = t.fake.thread(t.ana, t.channel, "Closed")
        thread.lock()
        await t.fake.slash(t.ana, thread, "hello", wait=0.5)
        trouble = await _trouble(t, 50083)
        assert trouble.status == 403
