"""Names, languages and admin rights on Slack: looked up now and then, without long waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from bot.adapters.slack.installed.clients import Client, Limits
from bot.adapters.slack.installed.workspaces import Workspaces
from bot.adapters.slack.placing import Location
from bot.adapters.slack.received import people
from bot.adapters.slack.received.people import CACHED_S, People, Person
from bot.adapters.surface import PlaceClosed
from bot.events import UserError
from storage.faults import StorageFault
from tests.fakes.slack import FakeSlack, Team, User


@dataclass
class Town(Workspaces):
    """One workspace, with a clock that the test advances."""

    slack: FakeSlack
    team: Team
    now: float = 0.0

    async def client(self, team: str, enterprise: str = "") -> Client:
        return Client(Limits(), team, token=self.team.bot_token, base_url=self.slack.api)

    def people(self, *admins: str) -> People:
        return People(self, admins, clock=lambda: self.now)

    def spot(self, user: User, **more: Any) -> Location:
        return Location(user.id, self.team.id, "C1", **more)

    @property
    def asked(self) -> int:
        return sum(call.method == "users.info" for call in self.slack.calls)


ZONE = "America/Sao_Paulo"


@pytest_asyncio.fixture
async def town() -> AsyncGenerator[Town]:
    async with FakeSlack() as slack:
        yield Town(slack, slack.workspace("Table"))


async def test_a_person_has_a_name_a_language_and_perhaps_admin_rights(town: Town) -> None:
    ana, bia = town.team.user("Ana", locale="pt-PT"), town.team.user("Bia", admin=True)
    known = town.people()
    assert await known.person(town.spot(ana)) == Person("Ana", "pt-BR", False, ZONE)
    assert await known.person(town.spot(bia)) == Person("Bia", "en", True, ZONE)
    assert await known.name(town.spot(ana), bia.id) == "Bia"
    assert town.asked == 2


async def test_many_lookups_of_one_person_are_one_call(town: Town) -> None:
    ana, known = town.team.user("Ana"), town.people()
    found = await asyncio.gather(*(known.person(town.spot(ana)) for _ in range(20)))
    assert {one.name for one in found} == {"Ana"}
    assert town.asked == 1


async def test_an_outdated_entry_is_used_and_refreshed(town: Town) -> None:
    ana, known = town.team.user("Ana"), town.people()
    await known.person(town.spot(ana))
    ana.name, town.now = "Ana Maria", CACHED_S
    assert (await known.person(town.spot(ana))).name == "Ana"
    await town.slack.until(lambda: town.asked == 2)
    assert (await known.person(town.spot(ana), fresh=True)).name == "Ana Maria"


async def test_a_known_person_is_not_looked_up(town: Town) -> None:
    ana, bia, known = town.team.user("Ana"), town.team.user("Bia"), town.people()
    await known.person(town.spot(ana))
    known.expect(town.spot(ana))
    assert await known.person(town.spot(ana)) == Person("Ana", zone=ZONE)
    await known.person(town.spot(bia))
    assert town.asked == 2


async def test_a_slow_lookup_is_not_awaited_for_long(town: Town) -> None:
    ana, known = town.team.user("Ana", locale="pt-BR"), town.people()
    town.slack.fail("users.info", delay=30.0)
    town.now = -people.WAIT_S
    known.expect(town.spot(ana))
    town.now = 0.0  # later than the longest wait
    async with asyncio.timeout(people.WAIT_S / 2):
        assert await known.person(town.spot(ana)) == Person()
        assert await known.name(town.spot(ana), ana.id) == ana.id
    await known.close()


async def test_a_person_whom_slack_does_not_describe_has_no_rights(town: Town) -> None:
    ana = town.team.user("Ana")
    town.slack.fail("users.info", error="user_not_found", times=2)
    known = town.people()
    assert await known.person(town.spot(ana)) == Person()
    with pytest.raises(UserError) as caught:
        await known.person(town.spot(ana), fresh=True)
    assert caught.value.key == "slack.who"


class Away(Workspaces):
    """A workspace that does not answer."""

    def __init__(self, fault: Exception) -> None:
        self._fault = fault

    async def client(self, team: str, enterprise: str = "") -> Client:
        raise self._fault


@pytest.mark.parametrize("fault", [PlaceClosed("not_installed"), StorageFault("locked")])
async def test_a_failed_lookup_raises_nothing(fault: Exception) -> None:
    assert await People(Away(fault)).person(Location("U1", "T1", "C1")) == Person()


async def test_a_broken_connection_raises_nothing(town: Town) -> None:
    town.slack.fail("users.info", status=0, times=10)
    assert await town.people().person(town.spot(town.team.user("Ana"))) == Person()


async def test_a_programming_error_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await People(Away(ZeroDivisionError())).person(Location("U1", "T1", "C1"))


async def test_admin_rights_are_looked_up_again(town: Town) -> None:
    bia, known = town.team.user("Bia", admin=True), town.people()
    assert (await known.person(town.spot(bia))).admin
    bia.admin = False
    assert (await known.person(town.spot(bia))).admin
    assert not (await known.person(town.spot(bia), fresh=True)).admin
    assert not (await known.person(town.spot(bia))).admin


async def test_listed_people_need_no_lookup(town: Town) -> None:
    ana = town.team.user("Ana")
    town.slack.fail("users.info", error="user_not_found", times=1)
    known = town.people(ana.id)
    assert await known.person(town.spot(ana), fresh=True) == Person(admin=True)
    assert await known.person(town.spot(ana)) == Person("Ana", "en", True, ZONE)


@pytest.mark.parametrize(
    ("changed", "enterprise", "admin"),
    [
        ({}, "", True),
        ({"team_id": "T_OTHER"}, "", False),
        ({"is_stranger": True}, "", False),
        ({"deleted": True}, "", False),
        ({"is_admin": False, "is_owner": True}, "", True),
        ({"team_id": "T_OTHER", "enterprise_user": {"enterprise_id": "E1", "is_owner": True}}, "E1", True),
        ({"team_id": "T_OTHER", "enterprise_user": {"enterprise_id": "E2", "is_owner": True}}, "E1", False),
        ({"team_id": "T_OTHER", "enterprise_user": {"enterprise_id": "E1"}}, "E1", False),
    ],
)
async def test_an_admin_of_another_workspace_is_no_admin_here(
    town: Town, changed: dict[str, Any], enterprise: str, admin: bool
) -> None:
    user = town.team.user("Bia", admin=True).payload(locale=True) | changed
    here = Location("U1", town.team.id, "C1", enterprise)
    assert people.person_of(here, user, frozenset()).admin is admin


async def test_the_number_of_remembered_people_is_limited(town: Town) -> None:
    known = town.people()
    for n in range(people.MOST + 5):
        known.remember(Location(f"U{n}", town.team.id, "C1"), Person(f"Person {n}"))
    assert await known.person(Location(f"U{people.MOST + 4}", town.team.id, "C1")) == Person(
        f"Person {people.MOST + 4}"
    )
    assert await known.person(Location("U0", town.team.id, "C1")) == Person()


async def test_each_workspace_has_its_own_people(town: Town) -> None:
    known = town.people()
    known.remember(Location("U1", "T1", "C1"), Person("Ana", admin=True, zone=ZONE))
    known.remember(Location("U1", "T2", "C1"), Person("Bia", zone=ZONE))
    assert (await known.person(Location("U1", "T2", "C1"))) == Person("Bia", zone=ZONE)
    known.forget("T1")
    assert await known.person(Location("U1", "T1", "C1")) == Person()


async def test_outdated_admin_rights_count_only_if_slack_confirms_them(town: Town) -> None:
    bia, known = town.team.user("Bia", admin=True), town.people()
    assert (await known.person(town.spot(bia))).admin
    town.now = CACHED_S
    assert (await known.person(town.spot(bia))).admin
    bia.admin, town.now = False, 2 * CACHED_S
    assert not (await known.person(town.spot(bia))).admin
    bia.admin, town.now = True, 3 * CACHED_S
    await known.person(town.spot(bia))
    await town.slack.until(lambda: town.asked == 4)
    assert (await known.person(town.spot(bia), fresh=True)).admin
    town.now = 4 * CACHED_S
    town.slack.fail("users.info", error="internal_error")
    assert await known.person(town.spot(bia)) == Person("Bia", zone=ZONE)
