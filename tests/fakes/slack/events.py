"""The events that an app gets, in the form of https://docs.slack.dev/reference/events."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fakes.slack.channels import Channel
    from tests.fakes.slack.messages import Message
    from tests.fakes.slack.people import User
    from tests.fakes.slack.world import Team

TYPES = {"channel": "channel", "group": "group", "im": "im", "mpim": "mpim"}
Event = dict[str, Any]


def message(message: Message) -> Event:
    event = message.payload(metadata=True) | _where(message.channel, message.ts)
    if not message.user.bot:
        event["client_msg_id"] = str(uuid.uuid4())
    return event


def mention(post: Message) -> Event:
    event = message(post) | {"type": "app_mention"}
    del event["channel_type"]
    if post.user.team is not post.channel.team:
        theirs = post.user.team.id
        event |= {"team": post.channel.team.id, "user_team": theirs, "source_team": theirs}
    return event


def changed(message: Message, before: dict[str, Any], ts: str) -> Event:
    now = {"message": message.payload(metadata=True), "previous_message": before}
    return {"type": "message", "subtype": "message_changed", "hidden": True, "ts": ts, **now} | _where(
        message.channel, ts
    )


def deleted(message: Message, ts: str) -> Event:
    deletion = {"deleted_ts": message.ts, "previous_message": message.payload(metadata=True)}
    return {"type": "message", "subtype": "message_deleted", "hidden": True, "ts": ts, **deletion} | _where(
        message.channel, ts
    )


def _where(channel: Channel, ts: str) -> Event:
    return {"channel": channel.id, "event_ts": ts, "channel_type": TYPES[channel.kind]}


def home_opened(user: User, channel: Channel, tab: str, view: dict[str, Any] | None, ts: str) -> Event:
    event: Event = {
        "type": "app_home_opened",
        "user": user.id,
        "channel": channel.id,
        "tab": tab,
        "event_ts": ts,
    }
    return event | ({"view": view} if view else {})


def session_stopped(user: User, channel: Channel, thread: str, streams: list[str], ts: str) -> Event:
    return {
        "type": "agent_session_stopped",
        "user": user.id,
        "channel": channel.id,
        "thread_ts": thread,
        "streaming_message_ts": streams,
        "event_ts": ts,
    }


def joined(user: User, channel: Channel, inviter: User | None, ts: str) -> Event:
    event: Event = {
        "type": "member_joined_channel",
        "user": user.id,
        "channel": channel.id,
        "channel_type": "C" if channel.kind == "channel" else "G",
        "team": channel.team.id,
        "event_ts": ts,
    }
    return event | ({"inviter": inviter.id} if inviter else {})


def reaction(user: User, name: str, message: Message, ts: str) -> Event:
    return {
        "type": "reaction_added",
        "user": user.id,
        "reaction": name,
        "item": {"type": "message", "channel": message.channel.id, "ts": message.ts},
        "item_user": message.user.id,
        "event_ts": ts,
    }


def envelope(
    team: Team, event: Event, event_id: str, token: str, channel: Channel | None = None
) -> dict[str, Any]:
    """The outer form, the same in Socket Mode and over HTTP. In a shared channel a message's team is the author's."""
    enterprise = team.enterprise.id if team.enterprise else None
    shared = channel is not None and channel.external
    return {
        "token": token,
        "team_id": event.get("team", team.id) if shared and event["type"] == "message" else team.id,
        "context_team_id": team.id,
        "context_enterprise_id": enterprise,
        "api_app_id": team.app_id,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": int(time.time()),
        "authorizations": [
            {
                "enterprise_id": enterprise,
                "team_id": team.id,
                "user_id": team.bot.id,
                "is_bot": True,
                "is_enterprise_install": team.org_install,
            }
        ],
        "is_ext_shared_channel": shared,
        "event_context": f"4-{event_id}",
    } | ({"enterprise_id": enterprise} if enterprise else {})
