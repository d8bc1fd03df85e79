"""Who somebody on Slack is: their name, their language, and whether the workspace is theirs to change.

Asks Slack for each person now and then. Knows no request: nobody is kept waiting for what can be guessed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.markdown import clean
from bot.adapters.surface import SurfaceFault
from bot.events import Sorry
from bot.words import locale_of
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.slack.placing import Location

KEPT_S: Final = 600.0
"""How long somebody's name and language are taken for granted; then they are asked for again, behind the scenes."""
WAIT_S: Final = 0.8
"""How long a request waits for who asks; Slack waits three seconds for us."""
FRESH_S: Final = 2.0
"""The same where only an admin may."""
MOST: Final = 8_192
"""People who are remembered."""
_CHARGE: Final = ("is_admin", "is_owner", "is_primary_owner")
_GUESTS: Final = ("deleted", "is_bot", "is_stranger", "is_restricted")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Person:
    """`name` is "" for somebody whom Slack has not told us of; `locale` is one of the catalogue's."""

    name: str = ""
    locale: str = "en"
    admin: bool = False


@dataclass(slots=True)
class _Look:
    since: float
    answer: asyncio.Task[Person | None]


class People:
    """One per process. `admins` are user ids beside the workspaces' own admins and owners."""

    def __init__(
        self,
        workspaces: Workspaces,
        admins: Collection[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workspaces = workspaces
        self._admins = frozenset(admins)
        self._clock = clock
        self._known: OrderedDict[tuple[str, str], tuple[float, Person]] = OrderedDict()
        self._looks: dict[tuple[str, str], _Look] = {}

    async def of(self, here: Location, *, fresh: bool = False) -> Person:
        """Who `here.user` is, as far as that is known in `WAIT_S` seconds.

        `fresh`: as it is now, for what only admins may. Raises Sorry ("slack.who") if that cannot be found out.
        """
        listed = here.user in self._admins
        known = None if fresh and not listed else self._known.get((here.space, here.user))
        if known is not None:
            self.expect(here)
            since, person = known
            # What is old is good for now, but for who is in charge: they may be so no more.
            if not person.admin or listed or self._clock() - since < KEPT_S:
                return person
            return await self._answer(self._look(here), WAIT_S) or replace(person, admin=False)
        found = await self._answer(self._look(here), FRESH_S if fresh else WAIT_S)
        if found is not None:
            return found
        if fresh and not listed:
            raise Sorry("slack.who")
        return Person(admin=listed)

    async def name(self, here: Location, user: str) -> str:
        """What `user` is called where `here` is; their id where Slack does not say."""
        return (await self.of(replace(here, user=user))).name or user

    def expect(self, here: Location) -> None:
        """Begin to ask who `here.user` is, where that is not known or was asked long ago."""
        known = self._known.get((here.space, here.user))
        if known is None or self._clock() - known[0] >= KEPT_S:
            self._look(here)

    def remember(self, here: Location, person: Person) -> None:
        """Take it for granted that this is who `here.user` is."""
        key = here.space, here.user
        self._known.pop(key, None)
        self._known[key] = self._clock(), person
        if len(self._known) > MOST:
            self._known.popitem(last=False)

    def forget(self, space: str) -> None:
        """Of a workspace that has put the bot out."""
        for key in [one for one in self._known if one[0] == space]:
            del self._known[key]

    async def close(self) -> None:
        looks = [one.answer for one in self._looks.values()]
        for one in looks:
            one.cancel()
        if looks:
            await asyncio.wait(looks)

    def _look(self, here: Location) -> _Look:
        """What is being asked about somebody, by whoever came first."""
        key = here.space, here.user
        if (look := self._looks.get(key)) is None:
            look = self._looks[key] = _Look(self._clock(), asyncio.create_task(self._ask(here)))
        return look

    async def _answer(self, look: _Look, seconds: float) -> Person | None:
        """Counted from when Slack was asked, so that a crowd waits together and not one after another."""
        left = look.since + seconds - self._clock()
        if left > 0:
            await asyncio.wait({look.answer}, timeout=left)
        if not look.answer.done() or look.answer.cancelled():
            return None
        return look.answer.result()

    async def _ask(self, here: Location) -> Person | None:
        try:
            async with self._workspaces.calling(here.team, here.enterprise) as client:
                said: Any = await client.users_info(user=here.user, include_locale=True)
        except (SurfaceFault, StorageFault) as fault:  # a name is no reason to fail
            _log.info("who a person is could not be asked: %s", fault)
            return None
        finally:
            self._looks.pop((here.space, here.user), None)
        person = person_of(here, said["user"], self._admins)
        self.remember(here, person)
        return person


def person_of(here: Location, user: Mapping[str, Any], admins: Collection[str]) -> Person:
    """What Slack's user object says, read where `here` is."""
    profile: Mapping[str, Any] = user.get("profile") or {}
    name = (
        profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user.get("name")
    )
    admin = here.user in admins or _in_charge(here, user)
    return Person(clean(str(name or "")), locale_of(str(user.get("locale") or "")), admin)


def _in_charge(here: Location, user: Mapping[str, Any]) -> bool:
    """Of this workspace, or of its whole organisation: an admin elsewhere is a guest here."""
    if any(map(user.get, _GUESTS)):
        return False
    if here.team and user.get("team_id") == here.team and any(map(user.get, _CHARGE)):
        return True
    above: Mapping[str, Any] = user.get("enterprise_user") or {}
    ours = here.enterprise != "" and above.get("enterprise_id") == here.enterprise
    return ours and any(map(above.get, _CHARGE))
