"""The first thing that the bot says in a channel, and to whoever installed it: what to try, once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bot.adapters.slack.installed.faults import as_surface_faults
from bot.adapters.slack.placing import Spot, spot_of_event, text_of
from bot.adapters.slack.received.intake import unattended
from bot.adapters.slack.text.mrkdwn import mrkdwn
from bot.words import Words, words

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncApp, AsyncBoltContext
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.received.intake import Intake

WELCOME = "welcome"
"""What the outbox calls the run that a welcome is no part of."""


async def join(intake: Intake, here: Spot, inviter: str) -> None:
    """Greet the channel, if it is the bot that has just joined, in the language of whoever invited it. Only once."""
    me, outbox = await intake.workspaces.me(here.team, here.enterprise), intake.app.house.outbox
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


def listen(bolt: AsyncApp, intake: Intake) -> None:
    async def joined(event: dict[str, Any], body: dict[str, Any], context: AsyncBoltContext) -> None:
        here = spot_of_event(body, context.team_id, context.enterprise_id)
        doing = join(intake, here, text_of(event, "inviter"))
        intake.later(unattended("a channel could not be welcomed", doing))

    bolt.event("member_joined_channel")(joined)
