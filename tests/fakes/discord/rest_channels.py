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
    there = access.channel(ask)
    body = ask.body
    if "name" in body:
        text(body["name"], "name", 1, 100)
    if isinstance(there, Thread):
        _patch_thread(ask, there)
    else:
        access.need(there, "MANAGE_CHANNELS")
        _renames(ask, there, there.name)
        there.name = body.get("name", there.name)
        there.topic = body.get("topic", there.topic)
        ask.discord.gateway.emit("CHANNEL_UPDATE", there.payload(), channel=there)
    return there.payload()


def _patch_thread(ask: Ask, there: Thread) -> None:
    body = ask.body
    manages = there.allows("MANAGE_THREADS")
    if there.archived and body.get("archived") is not False:
        raise no(50083)
    wakes = set(body) == {"archived"} and body["archived"] is False
    if "locked" in body and not manages:
        raise no(50013)
    if wakes and there.locked and not manages:
        raise no(50013)
    if wakes:
        access.need(there, "SEND_MESSAGES_IN_THREADS")
    elif not manages and there.owner != ask.discord.world.bot.id:
        raise no(50013)
    if "auto_archive_duration" in body and body["auto_archive_duration"] not in DURATIONS:
        raise bad("auto_archive_duration", "BASE_TYPE_CHOICES", f"Value must be one of {DURATIONS}.")
    if "rate_limit_per_user" in body:
        number(body["rate_limit_per_user"] or 0, "rate_limit_per_user", 0, 21600)
    _renames(ask, there, there.name)
    if body.get("name", there.name) != there.name:
        there.renames.append(there.name)
    there.name = body.get("name", there.name)
    there.auto_archive = body.get("auto_archive_duration", there.auto_archive)
    there.locked = bool(body.get("locked", there.locked))
    if "archived" in body and bool(body["archived"]) != there.archived:
        there.archived = bool(body["archived"])
        there.archived_at = time.time()
    there.changed()


def _renames(ask: Ask, there: Channel, name: str) -> None:
    if ask.body.get("name", name) == name:
        return
    verdict = ask.discord.limits.take(limits.RENAME, str(there.id))
    if verdict.wait:
        raise TooMany(limits.RENAME, verdict.wait)


async def delete_channel(ask: Ask) -> Answer:
    there = access.channel(ask)
    access.need(there, "MANAGE_THREADS" if isinstance(there, Thread) else "MANAGE_CHANNELS")
    payload = there.payload()
    ask.discord.remove_channel(there)
    return payload


async def list_messages(ask: Ask) -> Answer:
    there = access.channel(ask)
    count = ask.query.get("limit", "50")
    if not count.isdecimal() or not 1 <= int(count) <= 100:
        raise bad("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")
    if not there.allows("READ_MESSAGE_HISTORY"):
        return []
    found = [one for one in there.posts.values() if not one.deleted and not one.ephemeral]
    if "before" in ask.query:
        found = [one for one in found if one.id < int(ask.query["before"])]
    if "after" in ask.query:
        found = [one for one in found if one.id > int(ask.query["after"])][: int(count)]
    if "around" in ask.query:
        middle, half = int(ask.query["around"]), int(count) // 2
        before = [one for one in found if one.id < middle][-half:]
        found = before + [one for one in found if one.id >= middle][: int(count) - len(before)]
    return [ask.discord.readable(one) for one in reversed(found[-int(count) :])]


async def get_message(ask: Ask) -> Answer:
    there = access.channel(ask)
    access.need(there, "READ_MESSAGE_HISTORY")
    return ask.discord.readable(access.message(ask, there))


async def create_message(ask: Ask) -> Answer:
    there = access.channel(ask)
    repeated = ask.discord.post.repeated(there, ask.body)
    if repeated is not None:
        return repeated.payload()
    form = rules.form(ask.body, ask.uploads)
    _allowed(there, ask)
    reply_to = _reference(ask, there)
    access.may_write(there)
    kind = messages.REPLY if reply_to is not None else 0
    message = ask.discord.post.write(
        there,
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
    there = access.channel(ask)
    message = access.message(ask, there)
    access.may_edit(ask, message)
    access.may_change(there)
    form = rules.form(ask.body, ask.uploads, message)
    _allowed(there, ask)
    return ask.discord.post.rewrite(message, form, ask.body).payload()


async def delete_message(ask: Ask) -> Answer:
    there = access.channel(ask)
    message = access.message(ask, there)
    access.may_change(there)
    if message.author is not ask.discord.world.bot:
        access.need(there, "MANAGE_MESSAGES")
    ask.discord.post.remove(message)
    return None


async def typing(ask: Ask) -> Answer:
    there = access.channel(ask)
    access.need(there, "SEND_MESSAGES_IN_THREADS" if isinstance(there, Thread) else "SEND_MESSAGES")
    there.typing.append(time.monotonic())
    return None


async def react(ask: Ask) -> Answer:
    there = access.channel(ask)
    message = access.message(ask, there)
    access.may_change(there)
    access.need(there, "READ_MESSAGE_HISTORY", "ADD_REACTIONS")
    message.reactions.append(ask.args["emoji"])
    return None


async def unreact(ask: Ask) -> Answer:
    message = access.message(ask, access.channel(ask))
    if ask.args["emoji"] in message.reactions:
        message.reactions.remove(ask.args["emoji"])
    return None


def _allowed(there: Channel, ask: Ask) -> None:
    """Embeds and files want permissions of their own."""
    if ask.body.get("embeds"):
        access.need(there, "EMBED_LINKS")
    if ask.uploads:
        access.need(there, "ATTACH_FILES")


def _reference(ask: Ask, there: Channel) -> Message | None:
    given: Any = ask.body.get("message_reference")
    if given is None:
        return None
    id = str(table(given, "message_reference").get("message_id"))
    if str(given.get("channel_id", there.id)) != str(there.id):
        raise bad(
            "message_reference",
            "REPLIES_CANNOT_REPLY_TO_OTHER_CHANNEL",
            "Cannot reply to a message in a different channel",
        )
    found = there.posts.get(int(id)) if id.isdecimal() else None
    if found is None or found.deleted or found.ephemeral:
        if given.get("fail_if_not_exists") is False:
            return None
        raise bad("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message")
    if found.type in messages.SYSTEM:
        raise bad(
            "message_reference", "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", "Cannot reply to a system message"
        )
    if not there.allows("READ_MESSAGE_HISTORY"):
        raise no(160002)
    return found


_ONE = "/channels/{channel}/messages/{message}"
ROUTES = (
    Route("GET", "/channels/{channel}", get_channel),
    Route("PATCH", "/channels/{channel}", patch_channel, limits.CHANNEL),
    Route("DELETE", "/channels/{channel}", delete_channel, limits.CHANNEL),
    Route("GET", "/channels/{channel}/messages", list_messages, limits.READ),
    Route("POST", "/channels/{channel}/messages", create_message, limits.POST),
    Route("GET", _ONE, get_message, limits.READ),
    Route("PATCH", _ONE, patch_message, limits.EDIT),
    Route("DELETE", _ONE, delete_message, limits.DELETE),
    Route("POST", "/channels/{channel}/typing", typing, limits.TYPING),
    Route("PUT", _ONE + "/reactions/{emoji}/@me", react, limits.REACTION),
    Route("DELETE", _ONE + "/reactions/{emoji}/@me", unreact, limits.REACTION),
)
