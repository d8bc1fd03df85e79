"""The fake Discord's threads, driven by the real client."""

from __future__ import annotations

from typing import Any

import discord
import pytest

from tests.fakes.discord import Thread
from tests.wire.small_bot import Table, table


async def opened(t: Table, **more: Any) -> Thread:
    """A thread that the bot opened from a message."""
    root = await t.post(t.channel, content="root")
    body = {"name": "Thread"} | more
    await t.bot.raw("POST", f"/channels/{t.channel.id}/messages/{root.id}/threads", body)
    return t.channel.threads[-1]


async def test_a_message_has_one_thread_with_the_same_id() -> None:
    async with table() as t:
        thread = await opened(t, auto_archive_duration=60)
        [root] = t.channel.messages
        assert thread.id == root.id
        assert root.thread is thread
        assert thread.messages == []
        await t.refused(160004, "POST", f"/channels/{t.channel.id}/messages/{root.id}/threads", {"name": "x"})
        seen = t.bot.get_channel(thread.id)
        assert isinstance(seen, discord.Thread)
        assert (seen.owner_id, seen.auto_archive_duration) == (t.fake.world.bot.id, 60)


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "x" * 101}, {"name": "x", "auto_archive_duration": 61}]
)
async def test_a_thread_needs_a_valid_name_and_duration(body: dict[str, Any]) -> None:
    async with table() as t:
        root = await t.post(t.channel, content="root")
        await t.refused(50035, "POST", f"/channels/{t.channel.id}/messages/{root.id}/threads", body)


async def test_opening_threads_needs_permissions() -> None:
    async with table() as t:
        thread = await opened(t)
        t.channel.deny("CREATE_PUBLIC_THREADS")
        root = await t.post(t.channel, content="root")
        path = f"/channels/{t.channel.id}/messages/{root.id}/threads"
        await t.refused(50013, "POST", path, {"name": "x"}, status=403)
        t.channel.deny("SEND_MESSAGES_IN_THREADS")
        await t.refused(50013, "POST", f"/channels/{thread.id}/messages", {"content": "x"})
        await t.post(t.channel, content="the channel itself is open")
        t.channel.deny("VIEW_CHANNEL")
        await t.refused(50001, "POST", f"/channels/{thread.id}/messages", {"content": "x"})


async def test_a_thread_without_a_type_is_private() -> None:
    async with table() as t:
        path = f"/channels/{t.channel.id}/threads"
        await t.refused(50013, "POST", path, {"name": "x"})
        await t.bot.raw("POST", path, {"name": "x", "type": 11})
        assert t.channel.threads[0].type == 11


async def test_a_guild_has_a_limit_of_active_threads() -> None:
    async with table() as t:
        t.guild.active_threads_cap = 1
        thread = await opened(t)
        root = await t.post(t.channel, content="root")
        path = f"/channels/{t.channel.id}/messages/{root.id}/threads"
        await t.refused(160006, "POST", path, {"name": "x"}, status=400)
        await t.fake.archive(thread)
        await t.bot.raw("POST", path, {"name": "x"})


async def test_channels_without_threads_refuse_them() -> None:
    async with table() as t:
        for place in (t.guild.voice("voice"), t.fake.dm(t.ana)):
            post = await t.post(place, content="x")
            await t.refused(50024, "POST", f"/channels/{place.id}/messages/{post.id}/threads", {"name": "x"})


async def test_announcement_channels_have_their_own_type_of_thread() -> None:
    async with table() as t:
        news = t.guild.news("news")
        post = await t.post(news, content="x")
        await t.bot.raw("POST", f"/channels/{news.id}/messages/{post.id}/threads", {"name": "x"})
        assert news.threads[0].type == 10


async def test_a_forum_accepts_posts_and_no_messages() -> None:
    async with table() as t:
        forum = t.guild.forum("questions")
        await t.refused(50024, "POST", f"/channels/{forum.id}/messages", {"content": "x"})
        await t.refused(50035, "POST", f"/channels/{forum.id}/threads", {"name": "x"})
        seen = t.bot.get_channel(forum.id)
        assert isinstance(seen, discord.ForumChannel)
        made = await seen.create_thread(name="Q", content="first")
        [thread] = forum.threads
        assert thread.id == made.thread.id == made.message.id
        assert [message.text for message in thread.messages] == ["first"]
        post = t.fake.thread(t.ana, forum, "Mine", "What?")
        await t.fake.until(lambda: any(message.channel.id == post.id for message in t.bot.heard))
        first = {"name": "x", "message": {"content": "x"}}
        path = f"/channels/{forum.id}/threads"
        forum.tag(answered=True, question=False)
        await t.refused(40067, "POST", path, first)
        await t.refused(50035, "POST", path, first | {"applied_tags": ["3"]})
        forum.deny("MANAGE_THREADS")
        await t.refused(50013, "POST", path, first | {"applied_tags": ["1"]})
        await t.bot.raw("POST", path, first | {"applied_tags": ["2"]})
        forum.deny("SEND_MESSAGES")
        await t.refused(50013, "POST", path, first)


async def test_a_new_message_reopens_an_archived_thread_and_an_edit_does_not() -> None:
    async with table() as t:
        thread = await opened(t)
        post = await t.post(thread, content="x")
        path = f"/channels/{thread.id}/messages/{post.id}"
        await t.fake.archive(thread)
        await t.refused(50083, "PATCH", path, {"content": "y"}, status=400)
        await t.refused(50083, "DELETE", path)
        await t.refused(50083, "PUT", f"{path}/reactions/👀/@me")
        await t.post(thread, content="awake")
        assert not thread.archived
        await t.bot.raw("PATCH", path, {"content": "y"})
        await t.fake.archive(thread)
        await t.fake.say(t.ana, thread, "me too")
        assert not thread.archived


async def test_only_moderators_can_use_a_locked_thread() -> None:
    async with table() as t:
        thread = await opened(t)
        post = await t.post(thread, content="x")
        thread.lock()
        messages = f"/channels/{thread.id}/messages"
        await t.refused(50083, "POST", messages, {"content": "y"}, status=403)
        await t.refused(50083, "PATCH", f"{messages}/{post.id}", {"content": "y"})
        await t.fake.archive(thread)
        await t.refused(50083, "POST", messages, {"content": "y"})
        await t.refused(50013, "PATCH", f"/channels/{thread.id}", {"archived": False})
        with pytest.raises(PermissionError):
            await t.fake.say(t.ana, thread, "me?")
        t.guild.permit("MANAGE_THREADS")
        await t.post(thread, content="a moderator")
        assert not thread.archived


async def test_a_threads_owner_can_archive_and_rename_it_but_not_lock_it() -> None:
    async with table() as t:
        thread = await opened(t)
        path = f"/channels/{thread.id}"
        await t.bot.raw("PATCH", path, {"name": "Renamed", "auto_archive_duration": 10080})
        assert (thread.name, thread.renames) == ("Renamed", ["Thread"])
        await t.refused(50013, "PATCH", path, {"locked": True})
        await t.bot.raw("PATCH", path, {"archived": True})
        await t.refused(50083, "PATCH", path, {"name": "x"})
        await t.bot.raw("PATCH", path, {"archived": False})
        assert not thread.archived
        anas = t.fake.thread(t.ana, t.channel, "Ana's")
        await t.refused(50013, "PATCH", f"/channels/{anas.id}", {"name": "x"})
        await t.refused(50013, "DELETE", path)


async def test_a_thread_can_be_renamed_twice_in_ten_minutes() -> None:
    async with table() as t:
        thread = await opened(t)
        t.fake.limits.stop_clock()
        for name in ("one", "two"):
            await t.bot.raw("PATCH", f"/channels/{thread.id}", {"name": name})
        t.bot.http.max_ratelimit_timeout = 30.0
        with pytest.raises(discord.RateLimited) as caught:
            await t.bot.raw("PATCH", f"/channels/{thread.id}", {"name": "three"})
        assert caught.value.retry_after == pytest.approx(600, abs=1)
        assert thread.name == "two"
        assert [wait.bucket for wait in t.fake.limited] == ["rename"]


async def test_people_join_and_leave_and_threads_are_listed() -> None:
    async with table() as t:
        thread = await opened(t)
        path = f"/channels/{thread.id}/thread-members"
        await t.bot.raw("PUT", f"{path}/{t.ana.id}")
        assert [int(member["user_id"]) for member in await t.bot.raw("GET", path)] == [
            t.fake.world.bot.id,
            t.ana.id,
        ]
        assert (await t.bot.raw("GET", f"{path}/@me"))["user_id"] == str(t.fake.world.bot.id)
        await t.refused(50013, "DELETE", f"{path}/{t.ana.id}")
        active = await t.bot.raw("GET", f"/guilds/{t.guild.id}/threads/active")
        assert [thread["id"] for thread in active["threads"]] == [str(thread.id)]
        await t.fake.archive(thread)
        archived = await t.bot.raw("GET", f"/channels/{t.channel.id}/threads/archived/public")
        assert [thread["id"] for thread in archived["threads"]] == [str(thread.id)]
        await t.refused(50083, "PUT", f"{path}/{t.ana.id}")
        t.fake.remove_channel(thread)
        await t.refused(10003, "GET", f"/channels/{thread.id}")
