"""chat.*, but for streams: posting, changing, deleting. https://docs.slack.dev/reference/methods?family=chat."""

from __future__ import annotations

from typing import Any

from tests.fakes.slack.ask import Ask
from tests.fakes.slack.channels import Channel
from tests.fakes.slack.content import UPDATE_TEXT, content, custom
from tests.fakes.slack.messages import Message
from tests.fakes.slack.refusal import Refusal, TooMany
from tests.fakes.slack.web import Method


def slowly(ask: Ask, channel: Channel) -> None:
    """Limit posts to one a second in a channel."""
    if wait := ask.slack.limits.post(channel.id):
        raise TooMany(wait)


def _place(ask: Ask) -> Channel:
    channel = ask.channel(people=True)
    if channel.kind == "channel" and "chat:write.public" in ask.scopes and not channel.archived:
        return channel
    return ask.joined(channel)


async def post_message(ask: Ask) -> dict[str, Any]:
    channel = _place(ask)
    under = custom(ask)
    fields = content(ask.slack, ask.args)
    thread = ask.root(channel)
    slowly(ask, channel)
    broadcast = ask.flag("reply_broadcast") and thread is not None
    message = ask.slack.post.put(
        channel, channel.team.bot, **_text(fields), **under, thread_ts=thread, broadcast=broadcast
    )
    return {"channel": channel.id, "ts": message.ts, "message": message.payload(metadata=True)}


def _text(fields: dict[str, Any]) -> dict[str, Any]:
    return {"text": ""} | fields


async def post_ephemeral(ask: Ask) -> dict[str, Any]:
    channel = _place(ask)
    under = custom(ask)
    user = ask.user()
    if user not in channel.members:
        raise Refusal("user_not_in_channel")
    fields = content(ask.slack, ask.args)
    thread = ask.root(channel)
    message = ask.slack.post.put(
        channel, channel.team.bot, **_text(fields), **under, thread_ts=thread, ephemeral_to=user
    )
    return {"message_ts": message.ts}


def _own(ask: Ask, channel: Channel, error: str) -> Message:
    message = ask.message(channel)
    if message.user is not channel.team.bot:
        raise Refusal(error)
    return message


async def update(ask: Ask) -> dict[str, Any]:
    channel = ask.channel()
    message = _own(ask, channel, "cant_update_message")
    if message.streaming:
        raise Refusal("streaming_state_conflict")
    contents = {"text", "blocks", "attachments", "markdown_text"} & ask.args.keys()
    fields = content(ask.slack, ask.args, limit=UPDATE_TEXT, partial="metadata" in ask.args and not contents)
    # Reported by many: if there are blocks, a text alone changes nothing; blocks=[] removes them.
    if message.stream is None and not {"blocks", "markdown_text"} & contents:
        fields.pop("blocks", None)
    ask.slack.post.change(message, **fields)
    answer = {"channel": channel.id, "ts": message.ts, "text": message.text}
    return answer | {"message": message.payload(metadata=True)}


async def delete(ask: Ask) -> dict[str, Any]:
    channel = ask.channel()
    message = _own(ask, channel, "cant_delete_message")
    ask.slack.post.delete(message)
    return {"channel": channel.id, "ts": message.ts}


async def get_permalink(ask: Ask) -> dict[str, Any]:
    channel = ask.channel()
    message = ask.message(channel, "message_ts")
    link = f"https://{channel.team.domain}.slack.com/archives/{channel.id}/p{message.ts.replace('.', '')}"
    if message.thread_ts:
        link += f"?thread_ts={message.thread_ts}&cid={channel.id}"
    return {"channel": channel.id, "permalink": link}


WRITE = ("chat:write",)
METHODS = (
    Method("chat.postMessage", post_message, 5, WRITE),
    Method("chat.postEphemeral", post_ephemeral, 4, WRITE),
    Method("chat.update", update, 3, WRITE),
    Method("chat.delete", delete, 3, WRITE),
    Method("chat.getPermalink", get_permalink, 5),
)
