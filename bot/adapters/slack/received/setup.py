"""The app comes to a workspace or a channel and says what to try, is looked over there, and is removed again.

The checklist of `/sutradhar setup` looks only; `python -m bot doctor` looks from the other side, at the machine and the
whole application.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from bot.adapters import checklist
from bot.adapters.checklist import Check
from bot.adapters.slack.installed.faults import as_surface_faults
from bot.adapters.slack.installed.manifest import BOT_SCOPES, PUBLIC
from bot.adapters.slack.placing import PLATFORM, Location, origin_of, spot_of_event, text_of
from bot.adapters.slack.received.intake import unattended
from bot.adapters.slack.text.mrkdwn import mrkdwn
from bot.adapters.surface import Gone, NotEditable, PlaceClosed, Refused, Unavailable
from bot.events import Sorry
from bot.words import Words, words

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncApp, AsyncBoltContext
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.installed.workspaces import Store
    from bot.adapters.slack.received.intake import Intake
    from bot.events import Request

WELCOME = "welcome"
"""What the outbox calls the run that a welcome is no part of."""

_log = logging.getLogger(__name__)


async def join(intake: Intake, here: Location, inviter: str) -> None:
    """Greet the channel, if it is the bot that has just joined, in the language of whoever invited it. Only once."""
    me, outbox = await intake.workspaces.me(here.team, here.enterprise), intake.app.records.outbox
    if here.user != me.user:  # somebody else has joined
        return
    # Claimed and not looked for again: rather no welcome than two.
    if not (await outbox.claim(here.space, WELCOME, here.channel)).fresh:
        return
    say = await intake.words(replace(here, user=inviter)) if inviter else words("en")
    async with intake.workspaces.calling(here.team, here.enterprise) as client:
        posted = await client.chat_postMessage(
            channel=here.channel, unfurl_links=False, unfurl_media=False, **said("channel", me.name, say)
        )
    await outbox.sent(here.space, WELCOME, here.channel, str(posted["ts"]))


async def install(client: AsyncWebClient, user: str) -> None:
    """Greet whoever installed the app, in their direct conversation with the bot. Never raises."""
    await unattended("whoever installed the app could not be greeted", _greet(client, user))


async def _greet(client: AsyncWebClient, user: str) -> None:
    with as_surface_faults():
        person: Any = await client.users_info(user=user, include_locale=True)
        me: Any = await client.auth_test()
        say = words(str(person["user"].get("locale") or ""))
        await client.chat_postMessage(channel=user, **said("installer", str(me.get("user") or ""), say))


def said(whom: str, bot: str, say: Words) -> dict[str, Any]:
    """`whom` is "channel" or "installer", `bot` what the bot is called."""
    text = mrkdwn(say(f"slack_welcome.{whom}", bot=bot))
    return {"text": text, "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": text}}]}


async def show_checklist(intake: Intake, here: Location, response_url: str = "") -> None:
    """Tell an admin, alone, what is in place in this workspace. Raises Sorry for anybody else."""
    if not (await intake.people.of(here, fresh=True)).admin:
        raise Sorry("slack_welcome.check_admins")
    say = await intake.words(here)
    client = await intake.workspaces.client(here.team, here.enterprise)
    me = await intake.workspaces.me(here.team, here.enterprise)
    checks = [one async for one in _checks(intake, client, here, me.name, say)]
    text = checklist.listed(checks, say, well="slack_welcome.check_well", broken="slack_welcome.check_broken")
    await intake.tell(here, text, response_url)


async def tell_checklist(intake: Intake, here: Location, response_url: str = "") -> None:
    """The same, and to whoever may not know it, why."""
    async with intake.reporting_faults(here, response_url=response_url):
        await show_checklist(intake, here, response_url)


async def _checks(
    intake: Intake, client: AsyncWebClient, here: Location, bot: str, say: Words
) -> AsyncIterator[Check]:
    """All that matters where the person is."""
    scopes = await _scopes(client)
    for check in _granted(scopes, say):
        yield check
    if not here.direct:
        yield await _channel(client, here, bot, scopes, say)
    yield await checklist.books(intake.app.records.documents, here.space, say, none="slack_home.no_books")
    yield checklist.model(intake.config, say)
    # That somebody could ask shows that the way in works.
    settings = intake.config.slack
    if settings.mode == "http":
        yield Check(True, say("slack_welcome.check_http", port=settings.http_port))
    else:
        yield Check(True, say("slack_welcome.check_socket", n=settings.connections))


async def _scopes(client: AsyncWebClient) -> frozenset[str] | None:
    """What the workspace has granted; None where Slack does not say."""
    try:
        with as_surface_faults():
            answer: Any = await client.auth_test()
    except (NotEditable, Gone, Unavailable, Refused, PlaceClosed):
        return None
    names = {name.lower(): value for name, value in answer.headers.items()}
    given = str(names.get("x-oauth-scopes", ""))
    return frozenset(one.strip() for one in given.split(",") if one.strip()) or None


def _granted(scopes: frozenset[str] | None, say: Words) -> Iterator[Check]:
    if scopes is None:
        yield Check(None, say("slack_welcome.check_scopes_unknown"))
        return
    missing = [one for one in BOT_SCOPES if one not in scopes]
    if not missing:
        yield Check(True, say("slack_welcome.check_scopes"))
        return
    names = ", ".join(f"`{one}`" for one in missing)
    yield Check(False, say("slack_welcome.check_scopes_missing", n=len(missing), names=names))


async def _channel(
    client: AsyncWebClient, here: Location, bot: str, scopes: frozenset[str] | None, say: Words
) -> Check:
    try:
        with as_surface_faults():
            answer: Any = await client.conversations_info(channel=here.channel)
            inside = bool(answer["channel"].get("is_member"))
    except (NotEditable, Gone, Unavailable, Refused, PlaceClosed):
        inside = False
    if inside:
        return Check(True, say("slack_welcome.check_channel"))
    public = scopes is not None and PUBLIC in scopes
    key = "check_channel_public" if public else "check_channel_not"
    return Check(None if public else False, say(f"slack_welcome.{key}", bot=bot))


async def gone(
    intake: Intake, store: Store | None, team: str, enterprise: str, event: dict[str, Any]
) -> None:
    """The app is removed, or tokens are: they are forgotten, and what runs for the workspace is stopped.

    Raises StorageFault if it could not be kept: then it is not acknowledged, and comes again.
    """
    users = revoked(event)
    if users is None:
        return
    if store is not None:
        await store.remove(team, enterprise, users=users)
    if users:
        return
    intake.workspaces.forget(team, enterprise)
    intake.people.forget(team or enterprise)
    stopped = await intake.app.stop_where(lambda request: _of(request, team, enterprise))
    _log.warning("removed from %s; %d runs there were stopped", team or enterprise, stopped)


def _where(body: dict[str, Any]) -> tuple[str, str]:
    """The workspace and its enterprise; no workspace where the whole organisation's installation is meant."""
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
    """Whose tokens are no good any more: () for the app's own, None for nobody's."""
    if event.get("type") == "app_uninstalled":
        return ()
    tokens = event.get("tokens")
    if not isinstance(tokens, dict):
        return None
    if tokens.get("bot"):
        return ()
    users = tuple(str(one) for one in cast("list[object]", tokens.get("oauth") or []))
    return users or None


def listen(bolt: AsyncApp, intake: Intake, store: Store | None) -> None:
    async def joined(event: dict[str, Any], body: dict[str, Any], context: AsyncBoltContext) -> None:
        here = spot_of_event(body, context.team_id, context.enterprise_id)
        doing = join(intake, here, text_of(event, "inviter"))
        intake.later(unattended("a channel could not be welcomed", doing))

    async def removed(body: dict[str, Any], event: dict[str, Any]) -> None:
        await gone(intake, store, *_where(body), event)

    bolt.event("member_joined_channel")(joined)
    bolt.event("app_uninstalled")(removed)
    bolt.event("tokens_revoked")(removed)
