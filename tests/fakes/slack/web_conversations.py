"""conversations.*: channels, members and messages. Each kind of conversation needs its scope."""

from __future__ import annotations

import base64
from typing import Any

from tests.fakes.slack import events
from tests.fakes.slack.ask import Ask
from tests.fakes.slack.channels import Channel
from tests.fakes.slack.messages import Message
from tests.fakes.slack.refusal import Refusal, bad
from tests.fakes.slack.web import Method

MOST = 999


async def info(ask: Ask) -> dict[str, Any]:
    channel = ask.channel()
    ask.reads(channel, "read")
    payload = channel.payload()
    if not ask.flag("include_num_members"):
        payload.pop("num_members", None)
    if ask.flag("include_locale") and channel.user is not None:
        payload["locale"] = channel.user.locale
    return {"channel": payload}


async def members(ask: Ask) -> dict[str, Any]:
    channel = ask.channel()
    ask.reads(channel, "read")
    rows, cursor = page(ask, [member.id for member in channel.members])
    return {"members": rows, "response_metadata": {"next_cursor": cursor}}


async def history(ask: Ask) -> dict[str, Any]:
    """Newest first; replies only where they were sent to the channel too."""
    channel = ask.channel()
    ask.reads(channel, "history")
    if not channel.has_bot:
        raise Refusal("not_in_channel")
    messages = [
        message
        for message in channel.everything
        if message.thread_ts in (None, message.ts) or message.broadcast
    ]
    return _said(ask, list(reversed(_window(ask, messages))))


async def replies(ask: Ask) -> dict[str, Any]:
    """The root, then its replies; oldest first."""
    channel = ask.channel()
    ask.reads(channel, "history")
    root = channel.posts.get(ask.text("ts", required=True))
    if root is None or root.ephemeral_to is not None or root.gone or not channel.has_bot:
        raise Refusal("thread_not_found")
    root = root.root
    return _said(ask, [root, *_window(ask, root.thread)])


def _window(ask: Ask, messages: list[Message]) -> list[Message]:
    oldest, latest = _ts(ask, "oldest", 0.0), _ts(ask, "latest", float("inf"))
    inclusive = ask.flag("inclusive")
    visible = [message for message in messages if message.ephemeral_to is None]
    return [
        message
        for message in visible
        if oldest < float(message.ts) < latest or (inclusive and float(message.ts) in (oldest, latest))
    ]


def _ts(ask: Ask, name: str, default: float) -> float:
    try:
        return float(ask.args.get(name, default))
    except ValueError:
        raise Refusal(f"invalid_ts_{name}") from None


def _said(ask: Ask, messages: list[Message]) -> dict[str, Any]:
    rows, cursor = page(ask, messages)
    payloads = [row.payload(ask.flag("include_all_metadata")) for row in rows]
    answer: dict[str, Any] = {"messages": payloads, "has_more": bool(cursor)}
    return answer | ({"response_metadata": {"next_cursor": cursor}} if cursor else {})


def page(ask: Ask, rows: list[Any], default: int = 100) -> tuple[list[Any], str]:
    """A page of rows from the cursor on, and the next cursor."""
    limit = ask.number("limit", default) or default
    if not 1 <= limit <= MOST + 1:
        raise bad("must be between 1 and 1000 [json-pointer:/limit]")
    try:
        start = int(base64.b64decode(ask.text("cursor")).decode().removeprefix("next:") or 0)
    except ValueError:
        raise Refusal("invalid_cursor") from None
    end = start + limit
    more = base64.b64encode(f"next:{end}".encode()).decode() if end < len(rows) else ""
    return rows[start:end], more


async def open_(ask: Ask) -> dict[str, Any]:
    """Direct messages with one person; the bot here is in no groups of several."""
    ask.need("im:write")
    if ask.args.get("channel"):
        channel = ask.channel()
    else:
        ids = ask.text("users").split(",") if ask.text("users") else []
        if not ids:
            raise Refusal("users_list_not_supplied")
        if len(ids) > 1:
            raise bad("this fake has no direct messages of several people")
        user = ask.team.users.get(ids[0])
        if user is None or user is ask.team.bot:
            raise Refusal("user_not_found")
        channel = ask.team.dm(user)
    return {"channel": channel.payload() if ask.flag("return_im") else {"id": channel.id}}


async def join(ask: Ask) -> dict[str, Any]:
    ask.need("channels:join")
    channel = ask.channel()
    if channel.kind != "channel":
        raise Refusal("method_not_supported_for_channel_type")
    if channel.archived:
        raise Refusal("is_archived")
    if not channel.has_bot:
        enter(ask, channel)
    return {"channel": channel.payload()}


def enter(ask: Ask, channel: Channel) -> None:
    bot = channel.team.bot
    channel.members.append(bot)
    event = events.joined(bot, channel, None, ask.slack.world.ids.ts())
    ask.slack.delivery.event(channel.team, event, "member_joined_channel", channel)


async def pins(ask: Ask) -> dict[str, Any]:
    """The newest first."""
    channel = ask.channel()
    if not channel.has_bot:
        raise Refusal("not_in_channel")
    pinned = [post for post in channel.everything if post.pinned and not post.deleted]
    items = [{"type": "message", "channel": channel.id, "message": post.payload()} for post in pinned]
    return {"items": items[::-1]}


METHODS = (
    Method("pins.list", pins, 2, ("pins:read",)),
    Method("conversations.info", info, 3),
    Method("conversations.members", members, 4),
    Method("conversations.history", history, 3),
    Method("conversations.replies", replies, 3),
    Method("conversations.open", open_, 3),
    Method("conversations.join", join, 3),
)
