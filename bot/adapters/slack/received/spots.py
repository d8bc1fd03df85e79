"""Where something was said or asked for: read from Slack's events and slash commands.

Pure: knows the payloads' shapes (Slack's documentation, "Events API" and "Slash commands") and nothing of what is
done about them. `interactions` does the same for what is pressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.adapters.slack.placing import Spot, event_of

Body = Mapping[str, Any]


def spot_of(body: Body, team: str | None, enterprise: str | None) -> Spot:
    """Where a message stands, or whatever else names a channel; `team` and `enterprise` are Bolt's.

    For an app that a whole organisation has installed, Slack's authorizations name no workspace.
    """
    event = body.get("event") or {}
    return Spot(
        user=text_of(event, "user"),
        team=team or _workspace(body, enterprise),
        channel=text_of(event, "channel"),
        enterprise=enterprise or "",
        thread=_thread(event),
        message=text_of(event, "ts"),
    )


def spot_of_command(body: Body, team: str | None, enterprise: str | None) -> Spot:
    """Where a command was typed, which is never in a thread."""
    return Spot(text_of(body, "user_id"), team or "", text_of(body, "channel_id"), enterprise or "")


def event_of_message(channel: str, ts: str) -> str:
    """What a message is called as an event, in whichever events Slack tells of it."""
    return event_of("message", channel, ts)


def text_of(body: Body, name: str) -> str:
    found = body.get(name)
    return found if isinstance(found, str) else ""


def _thread(event: Body) -> str:
    """A root that has replies names itself as its thread."""
    thread = text_of(event, "thread_ts")
    return "" if thread == text_of(event, "ts") else thread


def _workspace(body: Body, enterprise: str | None) -> str:
    if found := text_of(body, "context_team_id"):
        return found
    return text_of(body, "team_id") if enterprise and body.get("enterprise_id") == enterprise else ""
