"""auth.test, team.info, users.*, usergroups.list and reactions.*."""

from __future__ import annotations

import re
from typing import Any

from tests.fakes.slack.ask import Ask
from tests.fakes.slack.messages import Message
from tests.fakes.slack.people import User
from tests.fakes.slack.refusal import Refusal
from tests.fakes.slack.web import Method
from tests.fakes.slack.web_conversations import page


async def auth_test(ask: Ask) -> dict[str, Any]:
    """Answer auth.test; for an organisation's token with the organisation, as the service does."""
    grant = ask.grant
    assert grant is not None
    if grant.team is None:
        assert grant.enterprise is not None
        team = next(team for team in ask.slack.world.teams.values() if team.enterprise is grant.enterprise)
        where = {"team": grant.enterprise.name, "team_id": grant.enterprise.id}
    else:
        team = grant.team
        where = {"team": team.name, "team_id": team.id}
    answer: dict[str, Any] = {
        "url": f"https://{team.domain}.slack.com/",
        **where,
        "user": team.bot.handle,
        "user_id": team.bot.id,
        "bot_id": team.bot_id,
        "is_enterprise_install": grant.team is None,
    }
    return answer | ({"enterprise_id": grant.enterprise.id} if grant.enterprise else {})


async def team_info(ask: Ask) -> dict[str, Any]:
    team = ask.team
    asked = ask.text("team")
    if asked and asked != team.id:
        raise Refusal("team_not_found")
    payload: dict[str, Any] = {
        "id": team.id,
        "name": team.name,
        "domain": team.domain,
        "email_domain": "",
        "icon": {"image_default": True},
        "url": f"https://{team.domain}.slack.com/",
    }
    if team.enterprise is not None:
        payload |= {"enterprise_id": team.enterprise.id, "enterprise_name": team.enterprise.name}
    return {"team": payload}


async def users_info(ask: Ask) -> dict[str, Any]:
    user = ask.user()
    stranger = {"is_stranger": True} if user.team is not ask.team else {}
    return {"user": user.payload(ask.flag("include_locale")) | stranger}


async def users_list(ask: Ask) -> dict[str, Any]:
    rows: list[User]
    rows, cursor = page(ask, list(ask.team.users.values()))
    users = [row.payload(ask.flag("include_locale")) for row in rows]
    return {"members": users, "response_metadata": {"next_cursor": cursor}}


async def usergroups_list(ask: Ask) -> dict[str, Any]:
    return {"usergroups": [group.payload(ask.flag("include_users")) for group in ask.team.groups]}


def _reacted(ask: Ask) -> tuple[str, Message]:
    if not ask.args.get("channel") or not ask.args.get("timestamp"):
        raise Refusal("no_item_specified")
    name = ask.text("name", required=True).strip(":")
    if not re.fullmatch(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?", name):
        raise Refusal("invalid_name")
    return name, ask.message(ask.channel(), "timestamp")


async def reactions_add(ask: Ask) -> dict[str, Any]:
    name, message = _reacted(ask)
    ask.joined(message.channel)
    reaction = (name, message.channel.team.bot)
    if reaction in message.reactions:
        raise Refusal("already_reacted")
    message.reactions.append(reaction)
    return {}


async def reactions_remove(ask: Ask) -> dict[str, Any]:
    name, message = _reacted(ask)
    reaction = (name, message.channel.team.bot)
    if reaction not in message.reactions:
        raise Refusal("no_reaction")
    message.reactions.remove(reaction)
    return {}


METHODS = (
    Method("auth.test", auth_test, 5),
    Method("team.info", team_info, 3, ("team:read",)),
    Method("users.info", users_info, 4, ("users:read",)),
    Method("users.list", users_list, 2, ("users:read",)),
    Method("usergroups.list", usergroups_list, 2, ("usergroups:read",)),
    Method("reactions.add", reactions_add, 3, ("reactions:write",)),
    Method("reactions.remove", reactions_remove, 2, ("reactions:write",)),
)
