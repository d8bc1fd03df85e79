"""Threads and forum posts: opened, joined, listed."""

from __future__ import annotations

import time

from tests.fakes.discord import access, limits, messages, rules
from tests.fakes.discord.channels import (
    FORUM,
    NEWS,
    NEWS_THREAD,
    PRIVATE_THREAD,
    TEXT,
    THREAD,
    Channel,
    Thread,
)
from tests.fakes.discord.messages import HAS_THREAD, THREAD_CREATED, THREAD_STARTER, Message
from tests.fakes.discord.refusal import bad, items, missing, no, number, table, text
from tests.fakes.discord.rest import Answer, Ask, Route
from tests.fakes.discord.rest_channels import DURATIONS
from tests.fakes.discord.world import Guild


async def from_message(ask: Ask) -> Answer:
    channel = access.channel(ask)
    if channel.type not in (TEXT, NEWS):
        raise no(50024)
    message = access.message(ask, channel)
    if message.type in messages.SYSTEM:
        raise no(50021)
    name, duration = _form(ask)
    access.need(channel, "CREATE_PUBLIC_THREADS", "READ_MESSAGE_HISTORY")
    if message.thread is not None:
        raise no(160004)
    kind = NEWS_THREAD if channel.type == NEWS else THREAD
    thread = _open(ask, channel, message.id, kind, name, duration)
    message.thread = thread
    message.flags |= HAS_THREAD
    ask.discord.post.told(message)
    starter = Message(
        ask.discord.world.ids.next(),
        thread,
        message.author,
        created=time.time(),
        type=THREAD_STARTER,
        reply_to=message,
    )
    ask.discord.post.put(starter)
    return _shown(ask, thread)


async def alone(ask: Ask) -> Answer:
    channel = access.channel(ask)
    if channel.type == FORUM:
        return await _forum_post(ask, channel)
    if channel.type not in (TEXT, NEWS):
        raise no(50024)
    name, duration = _form(ask)
    # Without a type the thread is private, as on the service.
    kind = ask.body.get("type", PRIVATE_THREAD)
    if kind not in (NEWS_THREAD, THREAD, PRIVATE_THREAD) or (channel.type == NEWS) != (kind == NEWS_THREAD):
        raise bad("type", "BASE_TYPE_CHOICES", "Value must be one of (10, 11, 12).")
    access.need(channel, "CREATE_PRIVATE_THREADS" if kind == PRIVATE_THREAD else "CREATE_PUBLIC_THREADS")
    thread = _open(ask, channel, ask.discord.world.ids.next(), kind, name, duration)
    if kind != PRIVATE_THREAD:
        bot = ask.discord.world.bot
        note = Message(
            ask.discord.world.ids.next(), channel, bot, name, created=time.time(), type=THREAD_CREATED
        )
        ask.discord.post.put(note)
    return _shown(ask, thread)


async def _forum_post(ask: Ask, channel: Channel) -> Answer:
    name, duration = _form(ask)
    if "message" not in ask.body:
        raise missing("message")
    first = table(ask.body["message"], "message")
    form = rules.form(first, ask.uploads)
    access.need(channel, "SEND_MESSAGES")
    applied = _tags(ask, channel)
    thread = _open(ask, channel, ask.discord.world.ids.next(), THREAD, name, duration)
    thread.applied = applied
    # The first message of a post has the post's own id.
    message = ask.discord.post.write(thread, ask.discord.world.bot, form, first, id=thread.id)
    return _shown(ask, thread) | {"message": message.payload()}


def _tags(ask: Ask, forum: Channel) -> list[str]:
    applied = [str(tag) for tag in items(ask.body.get("applied_tags", []), "applied_tags", 0, 5)]
    known = {str(id): moderated for id, moderated in enumerate(forum.tags.values(), 1)}
    if unknown := [tag for tag in applied if tag not in known]:
        raise bad("applied_tags", "BASE_TYPE_CHOICES", f"Unknown tags {unknown}.")
    if forum.needs_tag and not applied:
        raise no(40067)
    if any(known[tag] for tag in applied):
        access.need(forum, "MANAGE_THREADS")
    return applied


def _form(ask: Ask) -> tuple[str, int]:
    name = text(ask.body.get("name"), "name", 1, 100)
    duration = ask.body.get("auto_archive_duration")
    if duration is not None and duration not in DURATIONS:
        raise bad("auto_archive_duration", "BASE_TYPE_CHOICES", f"Value must be one of {DURATIONS}.")
    if ask.body.get("rate_limit_per_user") is not None:
        number(ask.body["rate_limit_per_user"], "rate_limit_per_user", 0, 21600)
    return name, duration or 1440


def _open(ask: Ask, channel: Channel, id: int, kind: int, name: str, duration: int) -> Thread:
    guild = channel.guild
    assert guild is not None
    if sum(not thread.archived for thread in guild.threads) >= guild.active_threads_cap:
        raise no(160006)
    bot = ask.discord.world.bot
    return ask.discord.open_thread(channel, id, kind, name, duration, bot)


def _shown(ask: Ask, thread: Thread) -> dict[str, object]:
    return thread.payload() | {"member": thread.member_payload(ask.discord.world.bot.id)}


async def join(ask: Ask) -> Answer:
    thread = access.thread(ask)
    if thread.archived:
        raise no(50083)
    if ask.args["user"] != "@me":
        access.need(thread, "SEND_MESSAGES_IN_THREADS")
    thread.people.setdefault(_who(ask), time.time())
    return None


async def leave(ask: Ask) -> Answer:
    thread = access.thread(ask)
    if thread.archived:
        raise no(50083)
    if ask.args["user"] != "@me":
        access.need(thread, "MANAGE_THREADS")
    thread.people.pop(_who(ask), None)
    return None


async def member(ask: Ask) -> Answer:
    thread = access.thread(ask)
    if _who(ask) not in thread.people:
        raise no(10007)
    return thread.member_payload(_who(ask))


async def members(ask: Ask) -> Answer:
    thread = access.thread(ask)
    return [thread.member_payload(member) for member in thread.people]


def _who(ask: Ask) -> int:
    return ask.discord.world.bot.id if ask.args["user"] == "@me" else ask.id("user")


async def active(ask: Ask) -> Answer:
    guild: Guild | None = ask.discord.world.guilds.get(ask.id("guild"))
    if guild is None or not guild.home:
        raise no(50001)
    return _list(
        ask, [thread for thread in guild.threads if not thread.archived and thread.allows("VIEW_CHANNEL")]
    )


async def archived(ask: Ask) -> Answer:
    channel = access.channel(ask)
    access.need(channel, "READ_MESSAGE_HISTORY")
    threads = [thread for thread in channel.threads if thread.archived and thread.type != PRIVATE_THREAD]
    threads.sort(key=lambda thread: thread.archived_at, reverse=True)
    return _list(ask, threads) | {"has_more": False}


def _list(ask: Ask, threads: list[Thread]) -> dict[str, object]:
    bot = ask.discord.world.bot.id
    return {
        "threads": [thread.payload() for thread in threads],
        "members": [thread.member_payload(bot) for thread in threads if bot in thread.people],
    }


_MEMBER = "/channels/{channel}/thread-members/{user}"
ROUTES = (
    Route("POST", "/channels/{channel}/messages/{message}/threads", from_message, limits.THREADS),
    Route("POST", "/channels/{channel}/threads", alone, limits.THREADS),
    Route("GET", "/channels/{channel}/threads/archived/public", archived),
    Route("GET", "/channels/{channel}/thread-members", members),
    Route("GET", _MEMBER, member),
    Route("PUT", _MEMBER, join),
    Route("DELETE", _MEMBER, leave),
    Route("GET", "/guilds/{guild}/threads/active", active),
)
