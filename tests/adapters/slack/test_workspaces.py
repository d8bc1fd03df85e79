"""Each token is valid only in its workspaces, and workspaces are isolated."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from bot.adapters.slack.installed.clients import Clients
from bot.adapters.slack.installed.workspaces import Installed, Workspaces
from bot.adapters.surface import PlaceClosed
from bot.config import SlackConfig
from bot.events import UserError
from tests.fakes.slack import FakeSlack, Team

WITHIN_S = 0.7
"""How long another process may go by the old."""


class Book:
    """Installations, with a count of lookups."""

    def __init__(self, *installed: Installed) -> None:
        self.installed = list(installed)
        self.looked = 0

    async def find(self, team: str, enterprise: str, *, refused: str = "") -> Installed | None:
        self.looked += 1
        for installation in self.installed:
            if enterprise == installation.enterprise if installation.org else team == installation.team:
                return installation
        return None


def granted(team: Team) -> Installed:
    return Installed(team.bot_token, team.bot.id, team.bot_id, team.id)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as slack:
        yield slack


@pytest.fixture
async def clients(slack: FakeSlack) -> AsyncIterator[Clients]:
    clients = Clients(SlackConfig(api_base=slack.api))
    yield clients
    await clients.close()


async def test_the_configured_token_is_used_in_its_workspace_alone(
    slack: FakeSlack, clients: Clients
) -> None:
    team, other = slack.workspace("Table"), slack.workspace("Chair")
    workspaces = Workspaces(clients, slack.bot_token)
    with pytest.raises(PlaceClosed):
        await workspaces.client(team.id)
    await workspaces.learn()
    assert (await workspaces.client(team.id)).token == slack.bot_token
    own = await workspaces.installed(team.id)
    assert (own.user, own.bot, own.team, own.name) == (team.bot.id, team.bot_id, team.id, "sutradhar")
    for ids in ((other.id, ""), ("", ""), ("", "E1")):
        with pytest.raises(PlaceClosed) as shut:
            await workspaces.client(*ids)
        assert shut.value.code == "not_installed"


async def test_installed_workspaces_have_their_own_tokens(slack: FakeSlack, clients: Clients) -> None:
    team, other = slack.workspace("Table"), slack.workspace("Chair")
    book = Book(granted(other))
    workspaces = Workspaces(clients, slack.bot_token, book)
    await workspaces.learn()
    assert (await workspaces.client(team.id)).token == team.bot_token
    assert book.looked == 0, "the configured workspace needs no lookup"
    assert (await workspaces.client(other.id)).token == other.bot_token
    assert (await workspaces.installed(other.id)).user == other.bot.id
    assert book.looked == 1


async def test_a_cached_installation_is_forgotten_when_the_app_is_removed(
    slack: FakeSlack, clients: Clients
) -> None:
    team = slack.workspace("Table")
    book = Book(granted(team))
    workspaces = Workspaces(clients, "", book)
    await workspaces.client(team.id)
    book.installed.clear()
    assert (await workspaces.client(team.id)).token, "kept for a while"
    workspaces.forget("T-another")
    assert (await workspaces.client(team.id)).token
    workspaces.forget(team.id)
    with pytest.raises(PlaceClosed):
        await workspaces.client(team.id)
    book.installed.append(granted(team))
    assert (await workspaces.client(team.id)).token, "a missing installation is not cached"


async def test_removals_and_new_tokens_reach_other_processes_within_a_second(
    slack: FakeSlack, clients: Clients
) -> None:
    team = slack.workspace("Table")
    book = Book(granted(team))
    hears, other = (Workspaces(clients, "", book, shared=True) for _ in range(2))
    for workspaces in (hears, other):
        assert (await workspaces.client(team.id)).token == team.bot_token
    book.installed = [replace(granted(team), token="xoxb-new")]
    hears.forget(team.id)
    await asyncio.sleep(WITHIN_S)
    assert (await other.client(team.id)).token == "xoxb-new"
    book.installed.clear()
    hears.forget(team.id)
    await asyncio.sleep(WITHIN_S)
    with pytest.raises(PlaceClosed):
        await other.client(team.id)


async def test_many_events_at_once_cost_one_lookup(slack: FakeSlack, clients: Clients) -> None:
    team = slack.workspace("Table")
    book = Book(granted(team))
    workspaces = Workspaces(clients, "", book, shared=True)
    for _ in range(50):
        await workspaces.installed(team.id)
    assert book.looked == 1


async def test_an_organisations_token_is_used_in_its_workspaces_alone(
    slack: FakeSlack, clients: Clients
) -> None:
    grid, elsewhere = slack.enterprise("Grid"), slack.enterprise("Elsewhere")
    one, other = slack.workspace("One", grid), slack.workspace("Other", grid)
    grid.token, grid.scopes = "xoxb-org", one.scopes
    workspaces = Workspaces(clients, "xoxb-org")
    found = await workspaces.learn()
    assert (found.org, found.team, found.enterprise) == (True, "", grid.id)
    for team in (one, other):
        client = await workspaces.client(team.id, grid.id)
        assert (client.token, client.default_params) == ("xoxb-org", {"team_id": team.id})
    assert (await workspaces.client("", grid.id)).default_params == {}
    for ids in ((one.id, ""), (one.id, elsewhere.id), ("", "")):
        with pytest.raises(PlaceClosed):
            await workspaces.client(*ids)


async def test_removing_an_organisation_removes_all_its_workspaces(
    slack: FakeSlack, clients: Clients
) -> None:
    org = Installed("xoxb-org", "U1", "B1", "", "E1", org=True)
    book = Book(org)
    workspaces = Workspaces(clients, "", book)
    for team in ("T1", "T2"):
        await workspaces.client(team, "E1")
    book.installed.clear()
    workspaces.forget("", "E1")
    for team in ("T1", "T2"):
        with pytest.raises(PlaceClosed):
            await workspaces.client(team, "E1")


@pytest.mark.parametrize(
    ("error", "key"),
    [
        ("invalid_auth", "slack_run.token_refused"),
        ("account_inactive", "slack_run.removed"),
        ("token_revoked", "slack_run.removed"),
        ("not_allowed_token_type", "slack_run.token_kind"),
        ("missing_scope", "slack_run.missing_scope"),
        ("team_access_not_granted", "slack_run.no_access"),
        ("fatal_error", "slack_run.refused"),
    ],
)
async def test_a_refused_token_gets_one_sentence(
    slack: FakeSlack, clients: Clients, error: str, key: str
) -> None:
    slack.workspace("Table")
    slack.fail("auth.test", error=error)
    with pytest.raises(UserError) as refused:
        await Workspaces(clients, slack.bot_token).learn()
    assert refused.value.key == key
    assert slack.bot_token not in str(refused.value.values)


async def test_a_users_token_is_not_accepted_as_the_bots(slack: FakeSlack, clients: Clients) -> None:
    team = slack.workspace("Table")
    team.bot_id = ""
    with pytest.raises(UserError) as refused:
        await Workspaces(clients, slack.bot_token).learn()
    assert refused.value.key == "slack_run.no_bot"


async def test_a_response_without_json_gets_one_sentence(slack: FakeSlack, clients: Clients) -> None:
    slack.workspace("Table")
    slack.fail("auth.test", status=502, times=9)
    with pytest.raises(UserError) as error:
        await Workspaces(clients, slack.bot_token).learn()
    assert (error.value.key, error.value.values["code"]) == ("slack_run.refused", 502)


async def test_an_organisations_event_names_the_bots_user(clients: Clients) -> None:
    book = Book(Installed("xoxb-org", "U1", "B1", "", "E1", org=True), Installed("xoxb-2", "U2", "B2", "T2"))
    workspaces = Workspaces(clients, "", book)
    workspaces.note("T1", "E1", "U-here")
    assert (await workspaces.installed("T1", "E1")).user == "U-here"
    assert (await workspaces.installed("T3", "E1")).user == "U1"
    workspaces.note("T2", "", "U-forged")
    assert (await workspaces.installed("T2")).user == "U2", "a workspace's own installation takes precedence"
    workspaces.forget("T1", "E1")
    assert (await workspaces.installed("T1", "E1")).user == "U1"


async def test_tokens_appear_in_no_text(slack: FakeSlack, clients: Clients) -> None:
    workspaces = Workspaces(clients, slack.bot_token)
    team = slack.workspace("Table")
    found = await workspaces.learn()
    assert slack.bot_token not in repr(found) + repr(await workspaces.installed(team.id)) + repr(workspaces)
