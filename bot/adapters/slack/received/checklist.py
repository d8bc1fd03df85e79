"""What is in place for the bot where somebody asks, and what to do where something is not.

Looks only; `python -m bot doctor` looks from the other side, at the machine and the whole application.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from bot.adapters import checklist
from bot.adapters.checklist import Check
from bot.adapters.slack.installed.faults import as_surface_faults
from bot.adapters.slack.installed.manifest import BOT_SCOPES, OPTIONAL_SCOPES
from bot.adapters.slack.placing import Spot
from bot.adapters.surface import Full, Gone, Later, Refused, Shut
from bot.events import Sorry
from bot.words import Words

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.received.intake import Intake
    from bot.config import Config


async def show(intake: Intake, here: Spot, response_url: str = "") -> None:
    """Tell an admin, alone, what is in place in this workspace. Raises Sorry for anybody else."""
    if not (await intake.people.of(here, fresh=True)).admin:
        raise Sorry("slack_welcome.check_admins")
    say = await intake.words(here)
    client = await intake.workspaces.client(here.team, here.enterprise)
    me = await intake.workspaces.me(here.team, here.enterprise)
    checks = [one async for one in examine(intake, client, here, me.name, say)]
    text = checklist.listed(checks, say, well="slack_welcome.check_well", broken="slack_welcome.check_broken")
    await intake.tell(here, text, response_url)


async def told(intake: Intake, here: Spot, response_url: str = "") -> None:
    """The same, and to whoever may not know it, why."""
    async with intake.told(here, response_url=response_url):
        await show(intake, here, response_url)


async def examine(
    intake: Intake, client: AsyncWebClient, here: Spot, bot: str, say: Words
) -> AsyncIterator[Check]:
    """All that matters where the person is."""
    scopes = await _scopes(client)
    for check in _granted(scopes, say):
        yield check
    if not here.direct:
        yield await _channel(client, here, bot, scopes, say)
    yield await checklist.books(intake.app.house, here.space, say, none="slack_home.no_books")
    yield checklist.model(intake.config, say)
    yield _connection(intake.config, say)


async def _scopes(client: AsyncWebClient) -> frozenset[str] | None:
    """What the workspace has granted; None where Slack does not say."""
    try:
        with as_surface_faults():
            answer: Any = await client.auth_test()
    except (Full, Gone, Later, Refused, Shut):
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
    client: AsyncWebClient, here: Spot, bot: str, scopes: frozenset[str] | None, say: Words
) -> Check:
    try:
        with as_surface_faults():
            answer: Any = await client.conversations_info(channel=here.channel)
            inside = bool(answer["channel"].get("is_member"))
    except (Full, Gone, Later, Refused, Shut):
        inside = False
    if inside:
        return Check(True, say("slack_welcome.check_channel"))
    public = scopes is not None and OPTIONAL_SCOPES[0] in scopes
    key = "check_channel_public" if public else "check_channel_not"
    return Check(None if public else False, say(f"slack_welcome.{key}", bot=bot))


def _connection(config: Config, say: Words) -> Check:
    """That somebody could ask shows that it works."""
    if config.slack.mode == "http":
        return Check(True, say("slack_welcome.check_http", port=config.slack.http_port))
    return Check(True, say("slack_welcome.check_socket", n=config.slack.connections))
