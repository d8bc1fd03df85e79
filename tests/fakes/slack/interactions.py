"""The payloads of commands, presses, shortcuts and modals, and the short-lived ids in them.

https://docs.slack.dev/reference/interaction-payloads. It knows the forms of payloads; the actions themselves are in
acts.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.slack.delivery import UNHURRIED_SECONDS
from tests.fakes.slack.refusal import Refusal

if TYPE_CHECKING:
    from tests.fakes.slack.channels import Channel
    from tests.fakes.slack.messages import Message
    from tests.fakes.slack.people import User
    from tests.fakes.slack.service import FakeSlack
    from tests.fakes.slack.views import View
    from tests.fakes.slack.world import Team


@dataclass
class Trigger:
    """Valid for one modal, on Slack for three seconds.

    https://docs.slack.dev/interactivity/handling-user-interaction#modal_responses
    """

    user: User
    view: View | None
    at: float = field(default_factory=time.monotonic)
    used: bool = False


class Triggers:
    def __init__(self) -> None:
        self.all: dict[str, Trigger] = {}
        self.seconds = UNHURRIED_SECONDS

    def new(self, user: User, view: View | None = None) -> str:
        id = f"{secrets.randbelow(10**9)}.{secrets.randbelow(10**9)}.{secrets.token_hex(16)}"
        self.all[id] = Trigger(user, view)
        return id

    def take(self, id: str) -> Trigger:
        trigger = self.all.get(id)
        if trigger is None:
            raise Refusal("invalid_trigger_id")
        if time.monotonic() - trigger.at > self.seconds:
            raise Refusal("expired_trigger_id")
        if trigger.used:
            raise Refusal("exchanged_trigger_id")
        trigger.used = True
        return trigger


def command(
    slack: FakeSlack, user: User, channel: Channel, name: str, text: str, response_url: str
) -> dict[str, Any]:
    """Slack's own form has only texts."""
    team = channel.team
    payload = {
        "token": slack.verification_token,
        "team_id": team.id,
        "team_domain": team.domain,
        "channel_id": channel.id,
        "channel_name": channel.shown_name,
        "user_id": user.id,
        "user_name": user.handle,
        "command": name,
        "text": text,
        "api_app_id": team.app_id,
        "is_enterprise_install": str(team.org_install).lower(),
        "response_url": response_url,
        "trigger_id": slack.triggers.new(user),
    }
    if team.enterprise is not None:
        payload |= {"enterprise_id": team.enterprise.id, "enterprise_name": team.enterprise.name}
    return payload


def _outer(
    slack: FakeSlack, kind: str, user: User, view: View | None = None, *, team: Team | None = None
) -> dict[str, Any]:
    """`team` is the workspace of a shared channel; by default it is the user's."""
    team = team or user.team
    enterprise = team.enterprise
    return {
        "type": kind,
        "token": slack.verification_token,
        "team": team.short(),
        "user": user.short(),
        "api_app_id": team.app_id,
        "trigger_id": slack.triggers.new(user, view),
        "enterprise": {"id": enterprise.id, "name": enterprise.name} if enterprise else None,
        "is_enterprise_install": team.org_install,
    }


def pressed(
    slack: FakeSlack, user: User, where: Message | View, action: dict[str, Any], response_url: str | None
) -> dict[str, Any]:
    from tests.fakes.slack.views import View

    action = action | {"action_ts": slack.world.ids.ts()}
    if isinstance(where, View):
        payload = _outer(slack, "block_actions", user, where)
        place = {"type": "view", "view_id": where.id}
        return payload | {"container": place, "view": where.payload(), "actions": [action]}
    container: dict[str, Any] = {
        "type": "message",
        "message_ts": where.ts,
        "channel_id": where.channel.id,
        "is_ephemeral": where.ephemeral_to is not None,
    }
    if where.thread_ts:
        container["thread_ts"] = where.thread_ts
    payload = _outer(slack, "block_actions", user, team=where.channel.team) | {
        "container": container,
        "channel": {"id": where.channel.id, "name": where.channel.shown_name},
        "state": {"values": {}},
        "response_url": response_url,
        "actions": [action],
    }
    # Slack stores no ephemeral messages, and cannot include them.
    return payload if where.ephemeral_to is not None else payload | {"message": where.payload(metadata=True)}


def message_action(
    slack: FakeSlack, user: User, callback: str, message: Message, response_url: str
) -> dict[str, Any]:
    return _outer(slack, "message_action", user) | {
        "callback_id": callback,
        "action_ts": slack.world.ids.ts(),
        "message_ts": message.ts,
        "channel": {"id": message.channel.id, "name": message.channel.shown_name},
        "message": message.payload(metadata=True),
        "response_url": response_url,
    }


def shortcut(slack: FakeSlack, user: User, callback: str) -> dict[str, Any]:
    outer = _outer(slack, "shortcut", user)
    return outer | {"callback_id": callback, "action_ts": slack.world.ids.ts()}


def submission(slack: FakeSlack, user: User, view: View) -> dict[str, Any]:
    return _outer(slack, "view_submission", user, view) | {"view": view.payload(), "response_urls": []}


def closed(slack: FakeSlack, user: User, view: View, all: bool) -> dict[str, Any]:
    outer = _outer(slack, "view_closed", user)
    del outer["trigger_id"]
    return outer | {"view": view.payload(), "is_cleared": all}
