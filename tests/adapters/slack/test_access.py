"""Rules by user group on Slack: the bot lists the groups now and then, and finds them by handle, name or id."""

from __future__ import annotations

import pytest

from bot.access import setting_of, value_of
from bot.adapters.slack.placing import PLATFORM
from bot.events import Place
from tests.adapters.slack.table import Table

pytestmark = pytest.mark.asyncio(loop_scope="module")


def place(at: Table) -> Place:
    return Place(PLATFORM, at.space, at.channel.id, "")


async def put(at: Table, whose: str, of: str, *, allows: bool) -> None:
    setting = setting_of("rules", whose, of)  # type: ignore[arg-type]
    await at.app.settings.set(place(at), at.bia.id, setting, value_of(allows, "Muted"), "space")


async def test_a_member_of_a_denied_group_is_refused_and_slack_is_asked_once(at: Table) -> None:
    muted = at.team.group("muted", [at.ana])
    await put(at, "group", muted.id, allows=False)
    await at.slack.command(at.ana, at.channel, "/rules", "ask Who?")
    told = await at.whispered(at.ana)
    assert "to the group “Muted”, which you belong to" in told.text
    await at.slack.command(at.bia, at.channel, "/rules", "ask Who?")
    await at.ended()
    await at.slack.say(at.ana, at.channel, "And why?", mention=True)
    await at.slack.until(lambda: len(at.whispers(at.ana)) == 2)
    assert [request.author.id for request in at.requests] == [at.bia.id]


async def test_a_group_is_found_by_what_people_type(at: Table) -> None:
    players = at.team.group("players", [at.ana])
    platform = at.app.platforms[PLATFORM]
    assert platform.find is not None
    assert platform.standing is not None
    at.bot.groups._cached.clear()
    for typed in ("@players", "Players", players.id):
        assert await platform.find(place(at), "group", typed) == (players.id, "players")
    assert await platform.find(place(at), "group", "strangers") is None
    assert (await platform.standing(place(at), at.ana.id, [players.id, "S0"])).groups == (players.id,)
    assert (await platform.standing(place(at), at.bia.id, [players.id])).groups == ()
    assert await platform.find(place(at), "person", at.ana.id) == (at.ana.id, at.ana.name)


async def test_rules_by_group_refuse_everybody_if_slack_does_not_list_groups(at: Table) -> None:
    await put(at, "group", at.team.group("quiet", [at.ana]).id, allows=False)
    at.bot.groups._cached.clear()
    at.slack.fail("usergroups.list", error="missing_scope", times=1)
    await at.slack.command(at.ana, at.channel, "/rules", "ask Who?")
    assert "usergroups:read" in (await at.whispered(at.ana)).text
    assert at.requests == []
