"""Rules by role on Discord: events bring the person's roles, and a command offers the roles for a rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.access import setting_of, value_of
from bot.admin_budgets import setting_of as budget_setting
from bot.events import Place
from storage.settings import SettingRow
from tests.adapters.discord.line import Line, line
from tests.adapters.discord.test_listen_on_the_line import answers, hello, seen
from tests.fakes.discord import Message


@pytest.fixture
async def on(tmp_path: Path) -> AsyncIterator[Line]:
    async with line(tmp_path, defaultdict(lambda: hello)) as made:
        yield made


def managers(on: Line) -> int:
    return on.guild.id + 2


async def put(on: Line, whose: str, of: str, *, allows: bool, space: str = "") -> None:
    place = Place("discord", space or str(on.guild.id), str(on.channel.id), "")
    setting = setting_of("rules", whose, of)  # type: ignore[arg-type]
    await on.app.settings.set(place, str(on.bia.id), setting, value_of(allows, "Managers"), "space")


async def test_a_role_is_read_from_a_mention_and_from_a_command(on: Line) -> None:
    on.guild.members[on.ana.id].roles.append(managers(on))
    cem = on.discord.user("Cem")
    on.guild.join(cem, manage=False)
    await put(on, "everyone", "", allows=False)
    await put(on, "group", str(managers(on)), allows=True)
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    await seen(on, "Its speed is zero.")
    await on.discord.slash(on.ana, on.channel, "rules ask", question="what is prone?")
    await on.discord.until(lambda: len(answers(on.channel)) == 2)
    await on.discord.say(cem, on.channel, "/rules ask what is grappled?", mention=True)
    refused = await seen(on, "A rule of this space denies you")
    assert "Groups that may use it: Managers" in refused.text
    assert len(answers(on.channel)) == 2


async def test_another_servers_rules_do_not_apply(on: Line) -> None:
    await put(on, "everyone", "", allows=False, space="1")
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    await seen(on, "Its speed is zero.")


async def test_roles_are_fetched_where_no_event_brings_them(on: Line) -> None:
    platform = on.app.platforms["discord"]
    assert platform.standing is not None
    assert platform.find is not None
    place = Place("discord", str(on.guild.id), str(on.channel.id), "")
    on.guild.members[on.ana.id].roles.append(managers(on))
    ana = await platform.standing(place, str(on.ana.id), ())
    assert str(managers(on)) in ana.groups
    assert (await platform.standing(place, "12345", ())).groups == (), "a person who has left"
    assert await platform.find(place, "group", "@managers") == (str(managers(on)), "Managers")
    assert await platform.find(place, "group", "strangers") is None


async def test_people_are_named_as_discord_names_them_only_in_their_own_server(on: Line) -> None:
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    await seen(on, "Its speed is zero.")
    platform = on.app.platforms["discord"]
    assert platform.person_name is not None
    place = Place("discord", str(on.guild.id), "", "")
    guild = on.client.get_guild(on.guild.id)
    assert guild is not None
    known = guild.me
    assert await platform.person_name(place, str(known.id)) == known.display_name
    assert await platform.person_name(place, "12345") == ""
    assert await platform.person_name(Place("discord", "1", "", ""), str(known.id)) == ""


async def test_admins_are_told_of_the_spaces_budget_in_private_and_in_a_channel(on: Line) -> None:
    place = Place("discord", str(on.guild.id), str(on.channel.id), "")
    notes = on.guild.text("admins")
    ledger = on.app.resources.ledger
    for per in ("day", "month"):
        setting = budget_setting("space", "", per, "tokens")
        await on.app.settings.set(place, str(on.bia.id), setting, "100", "space")
        await ledger.reserve(place.space, "run", "step", "x", "p:m", 90 if per == "day" else 0, None)
        await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
        if per == "day":
            await on.discord.until(lambda: on.discord.dm(on.bia).messages)
            there = replace(place, channel=str(notes.id))
            await on.app.settings.set(there, str(on.bia.id), "admin_notes", "on", "channel")
        else:
            await on.discord.until(lambda: notes.messages)
    (private,), (posted,) = on.discord.dm(on.bia).messages, notes.messages
    assert "90 tokens of 100 tokens a day" in private.text
    assert "90 tokens of 100 tokens a month" in posted.text
    assert not on.discord.dm(on.ana).messages


async def test_the_log_warns_when_most_of_the_configs_budget_is_used(
    on: Line, caplog: pytest.LogCaptureFixture
) -> None:
    space, setting = str(on.guild.id), budget_setting("space", "", "day", "tokens")
    row = SettingRow(space, "space", "", setting, "100", "", datetime.now(UTC))
    on.app.settings.configured = {space: [row]}
    await on.app.resources.ledger.reserve(space, "run", "step", "x", "p:m", 90, None)
    await on.discord.say(on.ana, on.channel, "what is grappled?", mention=True)
    await on.discord.until(lambda: f"80 % of a budget of the space {space} is used" in caplog.text)
    assert "90 tokens of 100 tokens" in caplog.text


async def test_an_admin_applies_a_settings_file_with_a_press(on: Line) -> None:
    text = (
        f'[channels.{on.channel.id}]\nworks = "rules"\n[channels.99]\nworks = "rules"\n'
        f'[categories.{on.channel.id}]\nworks = "all"\n'
        f'[[access]]\nwhat = "story"\ngroup = "{managers(on)}"\nallow = true\n'
        f'[[access]]\nwhat = "story"\nperson = "{on.ana.id}"\nallow = false\n'
        '[[access]]\nwhat = "voice"\nperson = "12345"\nallow = false\n'
    )
    file = ("sutradhar-settings.toml", text.encode())
    asked = await on.discord.slash(on.bia, on.channel, "settings import", file=file)

    def offered() -> Message | None:
        shown = asked.response
        return shown if shown and "Apply" in [button.label for button in shown.buttons] else None

    message = await on.discord.until(offered)
    assert message is not None
    for sentence in (
        "There is no channel `99` here",
        f"There is no category `{on.channel.id}` here",
        "There is no person `12345` here",
    ):
        assert sentence in message.text
    assert await on.app.access.rules(str(on.guild.id)) == []
    pressed = await on.discord.press(on.bia, message, "Apply")

    await on.discord.until(lambda: "Applied 3 changes." in f"{pressed.text}{pressed.followups}")
    rules = await on.app.access.rules(str(on.guild.id))
    assert {rule.of for rule in rules} == {str(on.ana.id), str(managers(on))}
    place = Place("discord", str(on.guild.id), str(on.channel.id), "")
    assert [row.value for row in await on.app.settings.nearest(place, "", "works")] == ["rules"]
