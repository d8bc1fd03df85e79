"""Who did something on Slack, where, and under which event id: read from what a press, a shortcut or a window sends.

Pure: knows the payloads' shapes (Slack's documentation, "Interaction payloads") and nothing of what is done about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bot.adapters.slack.placing import Spot, event_of

Body = Mapping[str, Any]


def spot_of(body: Body, team: str | None, enterprise: str | None) -> Spot:
    """Where the person is; `team` and `enterprise` are Bolt's, who reads them from each kind of payload.

    Nowhere (no channel) for what was pressed in the Home tab or in a window. Where a whole organisation has installed
    the app, a window's workspace may be called by the organisation's id: then it is the person's own.
    """
    return Spot(
        user=_text(body, "user", "id"),
        team=(team or "") if not (team or "").startswith("E") else _text(body, "user", "team_id"),
        channel=_text(body, "channel", "id") or _text(body, "container", "channel_id"),
        enterprise=enterprise or "",
        thread=_text(body, "container", "thread_ts") or _text(body, "message", "thread_ts"),
    )


def pressed(body: Body, here: Spot) -> str:
    """The event id of a press: that of this action on this message, by this person."""
    action = action_of(body)
    where = here.channel or _text(body, "container", "view_id")
    return event_of("action", where, message_of(body), str(action.get("action_ts", "")), here.user)


def action_of(body: Body) -> Mapping[str, Any]:
    """What was pressed; {} where the payload does not say."""
    actions = body.get("actions")
    first = actions[0] if isinstance(actions, list) and actions else {}
    return first if isinstance(first, dict) else {}


def message_of(body: Body) -> str:
    """The ts of the message with the button, "" in a view."""
    return _text(body, "container", "message_ts") or _text(body, "message", "ts")


def alone(body: Body) -> bool:
    """Whether the message is shown to the presser alone. Slack does not send its text along then."""
    container = body.get("container")
    return isinstance(container, dict) and bool(container.get("is_ephemeral"))


def response_url(body: Body) -> str:
    """A secret, good for five posts within half an hour; "" in a view."""
    return str(body.get("response_url") or "")


def _text(body: Body, *path: str) -> str:
    found: Any = body
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""
