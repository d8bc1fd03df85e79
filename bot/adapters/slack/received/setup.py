"""Welcomes a workspace or a channel, shows the checklist of `/sutradhar setup`, and handles the app's removal.

The checklist changes nothing; `python -m bot doctor` checks the machine and the whole application instead.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from bot.adapters.slack.manifest import BOT_SCOPES, PUBLIC
from bot.adapters.slack.placing import PLATFORM, Location, location_of_event, origin_of, text_of
from bot.adapters.slack.received.intake import unattended
from bot.adapters.slack.text.markdown import mrkdwn
from bot.adapters.surface import PlaceClosed, SurfaceFault
from bot.check import Check, checklist, library_check, model_check
from bot.events import UserError
from bot.words import Words, words

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncApp, AsyncBoltContext

    from bot.adapters.slack.installed.clients import Client
    from bot.adapters.slack.installed.workspaces import Store
    from bot.adapters.slack.received.intake import Intake
    from bot.events import Request

WELCOME = "welcome"
"""The outbox's run id for welcome messages, which belong to no run."""

_log = logging.getLogger(__name__)


async def join(intake: Intake, location: Location, inviter: str) -> None:
    """Greet the channel once if the bot itself has just joined it, in the language of the person who invited it."""
    me = await intake.workspaces.installed(location.team, location.enterprise)
    outbox = intake.app.records.outbox
    if location.user != me.user:  # another person has joined
        return
    # Claimed, and not posted again after a crash, because no welcome is better than two.
    if not (await outbox.claim(location.space, WELCOME, location.channel)).fresh:
        return
    say = await intake.words(replace(location, user=inviter)) if inviter else words("en")
    client = await intake.workspaces.client(location.team, location.enterprise)
    posted = await client.chat_postMessage(
        channel=location.channel,
        unfurl_links=False,
        unfurl_media=False,
        **greeting("channel", me.name, say),
    )
    await outbox.mark_sent(location.space, WELCOME, location.channel, str(posted["ts"]))


async def install(client: Client, user: str) -> None:
    """Greet the person who installed the app, in their direct conversation with the bot. Never raises."""
    await unattended("whoever installed the app could not be greeted", _greet(client, user))


async def _greet(client: Client, user: str) -> None:
    person: Any = await client.users_info(user=user, include_locale=True)
    me: Any = await client.auth_test()
    say = words(str(person["user"].get("locale") or ""))
    await client.chat_postMessage(channel=user, **greeting("installer", str(me.get("user") or ""), say))


def greeting(whom: str, bot: str, say: Words) -> dict[str, Any]:
    """The message for `whom`, "channel" or "installer"; `bot` is the bot's name."""
    text = mrkdwn(say(f"slack_welcome.{whom}", bot=bot))
    return {"text": text, "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]}


async def tell_checklist(intake: Intake, location: Location, response_url: str = "") -> None:
    """Show the checklist of this workspace to an admin alone; tell others that it is for admins."""
    async with intake.reporting_faults(location, response_url=response_url):
        if not (await intake.people.person(location, fresh=True)).admin:
            raise UserError("slack_welcome.check_admins")
        say = await intake.words(location)
        client = await intake.workspaces.client(location.team, location.enterprise)
        me = await intake.workspaces.installed(location.team, location.enterprise)
        checks = [check async for check in _checks(intake, client, location, me.name, say)]
        text = checklist(checks, say, well="slack_welcome.check_well", broken="slack_welcome.check_broken")
        await intake.tell(location, text, response_url)


async def _checks(
    intake: Intake, client: Client, location: Location, bot: str, say: Words
) -> AsyncIterator[Check]:
    """Run all checks for the person's location."""
    scopes = await _scopes(client)
    for check in _granted(scopes, say):
        yield check
    if not location.direct:
        yield await _channel(client, location, bot, scopes, say)
    yield await library_check(intake.app.records.documents, location.space, say, none="slack_home.no_books")
    yield model_check(intake.config, await intake.app.settings.roles_of_space(location.space), say)
    # The request itself shows that events arrive.
    settings = intake.config.slack
    if settings.mode == "http":
        yield Check(True, say("slack_welcome.check_http", port=settings.http_port))
    else:
        yield Check(True, say("slack_welcome.check_socket", n=settings.connections))


async def _scopes(client: Client) -> frozenset[str] | None:
    """The granted scopes; None if Slack does not return them."""
    try:
        answer: Any = await client.auth_test()
    except SurfaceFault:
        return None
    names = {name.lower(): value for name, value in answer.headers.items()}
    granted = str(names.get("x-oauth-scopes", ""))
    return frozenset(scope.strip() for scope in granted.split(",") if scope.strip()) or None


def _granted(scopes: frozenset[str] | None, say: Words) -> Iterator[Check]:
    if scopes is None:
        yield Check(None, say("slack_welcome.check_scopes_unknown"))
        return
    missing = [scope for scope in BOT_SCOPES if scope not in scopes]
    if not missing:
        yield Check(True, say("slack_welcome.check_scopes"))
        return
    names = ", ".join(f"`{scope}`" for scope in missing)
    yield Check(False, say("slack_welcome.check_scopes_missing", n=len(missing), names=names))


async def _channel(
    client: Client, location: Location, bot: str, scopes: frozenset[str] | None, say: Words
) -> Check:
    try:
        answer: Any = await client.conversations_info(channel=location.channel)
        inside = bool(answer["channel"].get("is_member"))
    except SurfaceFault:
        inside = False
    if inside:
        return Check(True, say("slack_welcome.check_channel"))
    public = scopes is not None and PUBLIC in scopes
    key = "check_channel_public" if public else "check_channel_not"
    return Check(None if public else False, say(f"slack_welcome.{key}", bot=bot))


async def removed_from(
    intake: Intake, store: Store | None, team: str, enterprise: str, event: dict[str, Any]
) -> None:
    """After the removal of the app or of tokens: delete the tokens, and stop the workspace's runs.

    Raises StorageFault if that could not be stored; then the event is not acknowledged, and Slack sends it again.
    """
    users = revoked(event)
    if users is None:
        return
    if not users and event.get("type") == "tokens_revoked" and await _still_in(intake, team, enterprise):
        return  # one of several tokens, left over from a renewal
    if store is not None:
        await store.remove(team, enterprise, users=users)
    if users:
        return
    intake.workspaces.forget(team, enterprise)
    intake.people.forget(team or enterprise)
    await intake.app.records.departures.note_departure(team or enterprise)
    stopped = await intake.app.runs.stop_where(lambda request: _of(request, team, enterprise))
    _log.warning("removed from %s; %d runs there were stopped", team or enterprise, stopped)


async def _still_in(intake: Intake, team: str, enterprise: str) -> bool:
    try:
        client = await intake.workspaces.client(team, enterprise)
        await client.auth_test()
    except PlaceClosed:
        return False
    return True


def _where(body: dict[str, Any]) -> tuple[str, str]:
    """The workspace and its enterprise; no workspace for an organisation's installation."""
    team, enterprise = body.get("team_id") or "", body.get("enterprise_id") or ""
    match body:
        case {"authorizations": [{"is_enterprise_install": True, "enterprise_id": str(org)}, *_]}:
            return "", org
    return ("", team) if team.startswith("E") else (team, enterprise)


def _of(request: Request, team: str, enterprise: str) -> bool:
    if request.place.platform != PLATFORM:
        return False
    if team:
        return request.place.space == team
    try:
        origin = origin_of(request.origin)
    except (KeyError, TypeError, ValueError):
        return request.place.space == enterprise
    return bool(enterprise) and origin.enterprise == enterprise


def revoked(event: dict[str, Any]) -> tuple[str, ...] | None:
    """The users whose tokens are revoked: () for the app's own token, None for no token."""
    if event.get("type") == "app_uninstalled":
        return ()
    tokens = event.get("tokens")
    if not isinstance(tokens, dict):
        return None
    if tokens.get("bot"):
        return ()
    users = tuple(str(user) for user in cast("list[object]", tokens.get("oauth") or []))
    return users or None


def listen(bolt: AsyncApp, intake: Intake, store: Store | None) -> None:
    async def joined(event: dict[str, Any], body: dict[str, Any], context: AsyncBoltContext) -> None:
        location = location_of_event(body, context.team_id, context.enterprise_id)
        doing = join(intake, location, text_of(event, "inviter"))
        intake.later(unattended("a channel could not be welcomed", doing))

    async def removed(body: dict[str, Any], event: dict[str, Any]) -> None:
        await removed_from(intake, store, *_where(body), event)

    bolt.event("member_joined_channel")(joined)
    bolt.event("app_uninstalled")(removed)
    bolt.event("tokens_revoked")(removed)
