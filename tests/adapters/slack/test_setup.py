"""The welcome in a channel and to the person who installed the app, and the answer of /sutradhar setup."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.adapters.slack.manifest import BOT_SCOPES
from bot.adapters.slack.placing import Location
from bot.adapters.slack.received import setup
from bot.config import ProviderConfig, RolesConfig
from bot.settings import Settings
from bot.words import LOCALES, words
from tests.adapters.slack.table import Table
from tests.fakes.slack import Channel, Message
from tests.fakes.slack.block_rules import MESSAGE, wrong

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def invited(at: Table, name: str = "new") -> Channel:
    channel = at.team.channel(name, bot=False)
    await at.slack.invite(at.ana, channel)
    return channel


async def greeting(at: Table, channel: Channel) -> Message:
    return (await at.slack.until(lambda: channel.messages))[0]


async def test_the_welcome_in_a_channel_suggests_three_things(at: Table) -> None:
    channel = await invited(at)
    shown = (await greeting(at, channel)).shown
    assert shown.count("\n• ") == 3
    assert "`/sutradhar help`" in shown
    assert (await greeting(at, channel)).mentions == []


async def test_a_channel_is_welcomed_once(at: Table) -> None:
    channel = await invited(at)
    await greeting(at, channel)
    join = next(
        delivery for delivery in reversed(at.slack.sent) if "member_joined_channel" in str(delivery.payload)
    )
    at.slack.redeliver(join)
    channel.members.remove(at.team.bot)
    await at.slack.invite(at.bia, channel)
    other = await invited(at, "another")
    await greeting(at, other)
    assert len(channel.messages) == 1


async def test_the_welcome_is_in_the_inviters_language(at: Table) -> None:
    channel = at.team.channel("novo", bot=False)
    rui = at.team.user("Rui", locale="pt-BR")
    await at.slack.invite(rui, channel)
    assert (await greeting(at, channel)).shown.startswith("Olá!")


async def test_only_the_bots_own_arrival_causes_a_welcome(at: Table) -> None:
    channel = at.team.channel("quiet")
    joined = {"type": "member_joined_channel", "user": at.ana.id, "channel": channel.id, "team": at.space}
    sent = await at.slack.send_raw(at.team, joined)
    assert sent.acked is not None
    await greeting(at, await invited(at))
    assert channel.messages == []


async def test_a_channel_where_the_bot_may_not_write_gets_no_welcome(at: Table) -> None:
    at.slack.fail("chat.postMessage", error="restricted_action")
    channel = await invited(at)
    await greeting(at, await invited(at, "another"))
    assert channel.messages == []


async def test_the_installer_is_welcomed_in_a_direct_message(at: Table) -> None:
    client = await at.bot.workspaces.client(at.space)
    rui = at.team.user("Rui", locale="pt-BR")
    await setup.install(client, rui.id)
    (message,) = at.team.dm(rui).messages
    assert message.shown.startswith("Obrigado por me instalar!")
    await setup.install(client, "U0NOBODY")  # is no reason to fail


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("whom", ["channel", "installer"])
async def test_slack_accepts_the_welcome_in_every_language(locale: str, whom: str) -> None:
    assert wrong(setup.greeting(whom, "sutradhar", words(locale))["blocks"], MESSAGE) == []


def here(at: Table, who: str) -> Location:
    return Location(who, at.space, at.channel.id)


async def listed(at: Table) -> str:
    await setup.tell_checklist(at.bot.intake, here(at, at.bia.id))
    return (await at.whispered(at.bia)).shown


async def test_setup_tells_an_admin_what_is_ready_and_what_is_missing(at: Table) -> None:
    shown = await listed(at)
    assert "✓ I have every scope" in shown
    assert "✓ I am in this channel." in shown
    assert "✗ The library is empty" in shown
    assert "– No language model is set up" in shown
    assert f"✓ Slack reaches me over {at.bot.config.slack.connections} socket" in shown
    assert "1 thing needs fixing" in shown
    assert at.whispers(at.ana) == []


async def test_setup_names_a_model_without_a_key(at: Table) -> None:
    usual = at.bot.intake.config
    providers = {**usual.providers, "far": ProviderConfig("far", "openai-compatible", api_key_env="FAR_KEY")}
    at.bot.intake.config = replace(usual, providers=providers, roles=RolesConfig(answerer=("far:model",)))
    settings = at.app.settings
    at.app.settings = Settings(settings.store, at.bot.intake.config)
    try:
        shown = await listed(at)
    finally:
        at.bot.intake.config, at.app.settings = usual, settings
    assert "✗ far:model should write the answers, but its API key is missing" in shown
    assert "can set FAR_KEY" in shown


async def test_setup_names_missing_scopes_and_how_to_add_them(at: Table) -> None:
    at.team.scopes -= {"files:read", "im:write"}
    try:
        shown = await listed(at)
    finally:
        at.team.scopes |= {"files:read", "im:write"}
    assert "✗ The scopes `files:read`, `im:write` are missing" in shown
    assert "OAuth &amp; Permissions" in shown


async def test_setup_says_that_the_bot_is_not_in_the_channel(at: Table) -> None:
    at.channel.members.remove(at.team.bot)
    try:
        await setup.tell_checklist(at.bot.intake, here(at, at.bia.id))
        shown = (await at.slack.until(lambda: at.team.dm(at.bia).messages))[0].shown
    finally:
        at.channel.members.append(at.team.bot)
    assert "✗ I am not in this channel" in shown
    assert f"`/invite @{at.team.bot.handle}`" in shown


async def test_setup_is_for_admins_alone(at: Table) -> None:
    await setup.tell_checklist(at.bot.intake, here(at, at.ana.id))
    shown = (await at.whispered(at.ana)).shown
    assert shown.startswith("Only admins of this workspace may use `/sutradhar setup`")


async def test_the_fake_grants_what_the_bot_needs(at: Table) -> None:
    assert set(BOT_SCOPES) <= at.team.scopes
