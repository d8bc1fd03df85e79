"""Webhooks on the fake Discord: created and used by the real client, and refused as on Discord."""

from __future__ import annotations

from typing import Any

import discord
import pytest

from tests.wire.small_bot import Table, table

HOOKS = "/channels/{}/webhooks"


async def hooked(t: Table) -> discord.Webhook:
    t.guild.permit("MANAGE_WEBHOOKS")
    seen = t.bot.get_channel(t.channel.id)
    assert isinstance(seen, discord.TextChannel)
    return await seen.create_webhook(name="Sutradhar")


class Press(discord.ui.View):
    @discord.ui.button(label="Go", custom_id="go")
    async def go(self, interaction: discord.Interaction, button: discord.ui.Button[Any]) -> None:
        """Answered by the bot's own listener."""


async def test_a_webhook_posts_edits_and_deletes_under_another_name() -> None:
    async with table() as t:
        hook = await hooked(t)
        sent = await hook.send(
            "Hello", username="Mira", avatar_url="https://example.org/mira.png", wait=True, view=Press()
        )
        (message,) = t.channel.messages
        assert (message.author.name, message.text, message.avatar) == (
            "Mira",
            "Hello",
            "https://example.org/mira.png",
        )
        assert sent.application_id == t.bot.application_id
        await hook.edit_message(sent.id, content="Hello again")
        assert message.text == "Hello again"
        assert message.author.name == "Mira"
        assert (await hook.fetch_message(sent.id)).content == "Hello again"
        await t.fake.press(t.ana, message, "Go")
        await hook.delete_message(sent.id)
        assert not t.channel.messages


async def test_a_webhooks_post_reopens_an_archived_thread_and_an_edit_does_not() -> None:
    async with table() as t:
        hook, thread = await hooked(t), t.fake.thread(t.ana, t.channel, "Tale")
        await t.fake.archive(thread)
        sent = await hook.send("Hello", thread=discord.Object(thread.id), wait=True)
        assert [message.text for message in thread.messages] == ["Hello"]
        assert not thread.archived
        await t.fake.archive(thread)
        with pytest.raises(discord.HTTPException) as refused:
            await hook.edit_message(sent.id, content="Later", thread=discord.Object(thread.id))
        assert refused.value.code == 50083
        with pytest.raises(discord.NotFound) as refused:  # the message is in no other place
            await hook.edit_message(sent.id, content="Later")
        assert refused.value.code == 10008
        elsewhere = t.fake.thread(t.ana, t.guild.text("other"), "Other")
        with pytest.raises(discord.NotFound) as refused:
            await hook.send("x", thread=discord.Object(elsewhere.id))
        assert refused.value.code == 10003


async def test_without_the_permission_webhooks_cannot_be_created_or_listed() -> None:
    async with table() as t:
        path = HOOKS.format(t.channel.id)
        await t.refused(50013, "POST", path, {"name": "Sutradhar"}, status=403)
        await t.refused(50013, "GET", path, status=403)
        t.guild.permit("MANAGE_WEBHOOKS")
        thread = t.fake.thread(t.ana, t.channel, "Tale")
        await t.refused(50024, "POST", HOOKS.format(thread.id), {"name": "Sutradhar"})


async def test_a_channel_has_at_most_fifteen_webhooks_and_hides_other_applications_tokens() -> None:
    async with table() as t:
        await hooked(t)
        for n in range(13):
            t.fake.webhook(t.channel, f"News {n}", t.ana)
        theirs = t.fake.webhook(t.channel, "Another bot", t.ana, application=4)
        listed = await t.bot.raw("GET", HOOKS.format(t.channel.id))
        assert len(listed) == 15
        assert [hook["name"] for hook in listed if "token" not in hook] == ["Another bot"]
        await t.refused(30007, "POST", HOOKS.format(t.channel.id), {"name": "One more"})
        t.fake.delete_webhook(theirs)
        await t.bot.raw("POST", HOOKS.format(t.channel.id), {"name": "One more"})


@pytest.mark.parametrize(
    "name", ["", "   ", "a" * 81, "My Discord", "CLYDE", "everyone", "Here", "bonniandclyde"]
)
async def test_names_that_discord_forbids_are_refused(name: str) -> None:
    async with table() as t:
        hook = await hooked(t)
        await t.refused(50035, "POST", HOOKS.format(t.channel.id), {"name": name})
        body = {"content": "x", "username": name}
        await t.refused(50035, "POST", f"/webhooks/{hook.id}/{hook.token}", body)
        assert not t.channel.messages


@pytest.mark.parametrize(
    "address", ["mira.png", "javascript:alert(1)", "https://", "https://a.org/" + "a" * 2_048]
)
async def test_an_avatar_must_be_an_address(address: str) -> None:
    async with table() as t:
        hook = await hooked(t)
        body = {"content": "x", "avatar_url": address}
        await t.refused(50035, "POST", f"/webhooks/{hook.id}/{hook.token}", body)


async def test_a_deleted_webhook_is_unknown_and_its_messages_stay() -> None:
    async with table() as t:
        hook = await hooked(t)
        sent = await hook.send("Hello", wait=True)
        await t.refused(50027, "POST", f"/webhooks/{hook.id}/another-token", {"content": "x"}, status=401)
        t.fake.delete_webhook(t.fake.hooks[hook.id])
        with pytest.raises(discord.NotFound) as refused:
            await hook.send("More")
        assert refused.value.code == 10015
        with pytest.raises(discord.NotFound) as refused:
            await hook.edit_message(sent.id, content="More")
        assert refused.value.code == 10015
        assert [message.text for message in t.channel.messages] == ["Hello"]
        path = f"/channels/{t.channel.id}/messages/{sent.id}"
        await t.refused(50005, "PATCH", path, {"content": "More"}, status=403)
        await t.refused(50013, "DELETE", path, status=403)


async def test_buttons_of_a_persons_webhook_are_left_out() -> None:
    async with table() as t:
        hook = t.fake.webhook(t.channel, "News", t.ana)
        row = {"type": 1, "components": [{"type": 2, "style": 1, "label": "Go", "custom_id": "go"}]}
        await t.bot.raw("POST", f"/webhooks/{hook.id}/{hook.token}", {"content": "x", "components": [row]})
        (message,) = t.channel.messages
        assert message.buttons == []


async def test_in_a_forum_a_webhook_needs_a_post() -> None:
    async with table() as t:
        forum = t.guild.forum("tales")
        hook = t.fake.webhook(forum, "News", t.ana)
        await t.refused(220001, "POST", f"/webhooks/{hook.id}/{hook.token}", {"content": "x"})
