"""Channels and their messages, by the bot's token."""

from __future__ import annotations

import time
from typing import Any

from tests.fakes.discord import access, limits, messages, rules
from tests.fakes.discord.channels import Channel, Thread
from tests.fakes.discord.messages import Message
from tests.fakes.discord.refusal import bad, no, number, table, text
from tests.fakes.discord.rest import Answer, Ask, Route, TooMany

DURATIONS = (60, 1440, 4320, 10080)


async def get_channel(ask: Ask) -> Answer:
    return access.channel(ask).payload()


async def patch_channel(ask: Ask) -> Answer:
    channel = access.channel(ask)
    body = ask.body
    if "name" in body:
        text(body["name"], "name", 1, 100)
    if isinstance(channel, Thread):
        _patch_thread(ask, channel)
    else:
        access.need(channel, "MANAGE_CHANNELS")
        _renames(ask, channel, channel.name)
        channel.name = body.get("name", channel.name)
        channel.topic = body.get("topic", channel.topic)
        ask.discord.gateway.emit("CHANNEL_UPDATE", channel.payload(), channel=channel)
    return channel.payload()


def _patch_thread(ask: Ask, thread: Thread) -> None:
    body = ask.body
    manages = thread.allows("MANAGE_THREADS")
    if thread.archived and body.get("archived") is not False:
        raise no(50083)
    wakes = set(body) == {"archived"} and body["archived"] is False
    if "locked" in body and not manages:
        raise no(50013)
    if wakes and thread.locked and not manages:
        raise no(50013)
    if wakes:
        access.need(thread, "SEND_MESSAGES_IN_THREADS")
    elif not manages and thread.owner != ask.discord.world.bot.id:
        raise no(50013)
    if "auto_archive_duration" in body and body["auto_archive_duration"] not in DURATIONS:
        raise bad("auto_archive_duration", "BASE_TYPE_CHOICES", f"Value must be one of {DURATIONS}.")
    if "rate_limit_per_user" in body:
        number(body["rate_limit_per_user"] or 0, "rate_limit_per_user", 0, 21600)
    _renames(ask, thread, thread.name)
    if body.get("name", thread.name) != thread.name:
        thread.renames.append(thread.name)
    thread.name = body.get("name", thread.name)
    thread.auto_archive = body.get("auto_archive_duration", thread.auto_archive)
    thread.locked = bool(body.get("locked", thread.locked))
    if "archived" in body and bool(body["archived"]) != thread.archived:
        thread.archived = bool(body["archived"])
        thread.archived_at = time.time()
    thread.changed()


def _renames(ask: Ask, channel: Channel, name: str) -> None:
    if ask.body.get("name", name) == name:
        return
    verdict = ask.discord.limits.take(limits.RENAME, str(channel.id))
    if verdict.wait:
        raise TooMany(limits.RENAME, verdict.wait)


async def delete_channel(ask: Ask) -> Answer:
    channel = access.channel(ask)
    access.need(channel, "MANAGE_THREADS" if isinstance(channel, Thread) else "MANAGE_CHANNELS")
    payload = channel.payload()
    ask.discord.remove_channel(channel)
    return payload


async def list_messages(ask: Ask) -> Answer:
    channel = access.channel(ask)
    count = ask.query.get("limit", "50")
    if not count.isdecimal() or not 1 <= int(count) <= 100:
        raise bad("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
    if not channel.allows("READ_MESSAGE_HISTORY"):
        return []
    posts = [post for post in channel.posts.values() if not post.deleted and not post.ephemeral]
    if "before" in ask.query:
        posts = [post for post in posts if post.id < int(ask.query["before"])]
    if "after" in ask.query:
        posts = [post for post in posts if post.id > int(ask.query["after"])][: int(count)]
    if "around" in ask.query:
        middle, half = int(ask.query["around"]), int(count) // 2
        before = [post for post in posts if post.id < middle][-half:]
        posts = before + [post for post in posts if post.id >= middle][: int(count) - len(before)]
    return [ask.discord.readable(post) for post in reversed(posts[-int(count) :])]


async def pins(ask: Ask) -> Answer:
    """The pinned messages, newest first (Discord's documentation, "Get Channel Pins")."""
    channel = access.channel(ask)
    access.need(channel, "READ_MESSAGE_HISTORY")
    pinned = [post for post in channel.posts.values() if post.pinned and not post.deleted]
    items = [
        {"pinned_at": "2026-06-01T14:02:00+00:00", "message": ask.discord.readable(post)} for post in pinned
    ]
    return {"items": items[::-1], "has_more": False}


async def get_message(ask: Ask) -> Answer:
    channel = access.channel(ask)
    access.need(channel, "READ_MESSAGE_HISTORY")
    return ask.discord.readable(access.message(ask, channel))


async def create_message(ask: Ask) -> Answer:
    channel = access.channel(ask)
    repeated = ask.discord.post.repeated(channel, ask.body)
    if repeated is not None:
        return repeated.payload()
    form = rules.form(ask.body, ask.uploads)
    _allowed(channel, ask)
    reply_to = _reference(ask, channel)
    access.may_write(channel)
    kind = messages.REPLY if reply_to is not None else 0
    message = ask.discord.post.write(
        channel,
        ask.discord.world.bot,
        form,
        ask.body,
        type=kind,
        reply_to=reply_to,
        nonce=rules.nonce(ask.body),
    )
    ask.discord.post.remember(message)
    return message.payload()


async def patch_message(ask: Ask) -> Answer:
    channel = access.channel(ask)
    message = access.message(ask, channel)
    access.may_edit(ask, message)
    access.may_change(channel)
    form = rules.form(ask.body, ask.uploads, message)
    _allowed(channel, ask)
    return ask.discord.post.rewrite(message, form, ask.body).payload()


async def delete_message(ask: Ask) -> Answer:
    channel = access.channel(ask)
    message = access.message(ask, channel)
    access.may_change(channel)
    if message.author is not ask.discord.world.bot:
        access.need(channel, "MANAGE_MESSAGES")
    ask.discord.post.remove(message)
    return None


async def typing(ask: Ask) -> Answer:
    channel = access.channel(ask)
    access.need(channel, "SEND_MESSAGES_IN_THREADS" if isinstance(channel, Thread) else "SEND_MESSAGES")
    channel.typing.append(time.monotonic())
    return None


async def react(ask: Ask) -> Answer:
    channel = access.channel(ask)
    message = access.message(ask, channel)
    access.may_change(channel)
    access.need(channel, "READ_MESSAGE_HISTORY", "ADD_REACTIONS")
    message.reactions.append(ask.args["emoji"])
    return None


async def unreact(ask: Ask) -> Answer:
    message = access.message(ask, access.channel(ask))
    if ask.args["emoji"] in message.reactions:
        message.reactions.remove(ask.args["emoji"])
    return None


def _allowed(channel: Channel, ask: Ask) -> None:
    """Check the separate permissions for embeds and files."""
    if ask.body.get("embeds"):
        access.need(channel, "EMBED_LINKS")
    if ask.uploads:
        access.need(channel, "ATTACH_FILES")


def _reference(ask: Ask, channel: Channel) -> Message | None:
    reference: Any = ask.body.get("message_reference")
    if reference is None:
        return None
    id = str(table(reference, "message_reference").get("message_id"))
    if str(reference.get("channel_id", channel.id)) != str(channel.id):
        raise bad(
            "message_reference",
            "REPLIES_CANNOT_REPLY_TO_OTHER_CHANNEL",
            "Cannot reply to a message in a different channel",
        )
    message = channel.posts.get(int(id)) if id.isdecimal() else None
    if message is None or message.deleted or message.ephemeral:
        if reference.get("fail_if_not_exists") is False:
            return None
        raise bad("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
    if message.type in messages.SYSTEM:
        raise bad(
            "message_reference", "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message"
        )
    if not channel.allows("READ_MESSAGE_HISTORY"):
        raise no(160002)
    return message


_ONE = "/channels/{channel}/messages/{message}"
ROUTES = (
    Route("GET", "/channels/{channel}", get_channel),
    Route("PATCH", "/channels/{channel}", patch_channel, limits.CHANNEL),
    Route("DELETE", "/channels/{channel}", delete_channel, limits.CHANNEL),
    Route("GET", "/channels/{channel}/messages", list_messages, limits.READ),
    Route("POST", "/channels/{channel}/messages", create_message, limits.POST),
    Route("GET", "/channels/{channel}/messages/pins", pins, limits.READ),
    Route("GET", _ONE, get_message, limits.READ),
    Route("PATCH", _ONE, patch_message, limits.EDIT),
    Route("DELETE", _ONE, delete_message, limits.DELETE),
    Route("POST", "/channels/{channel}/typing", typing, limits.TYPING),
    Route("PUT", _ONE + "/reactions/{emoji}/@me", react, limits.REACTION),
    Route("DELETE", _ONE + "/reactions/{emoji}/@me", unreact, limits.REACTION),
)
