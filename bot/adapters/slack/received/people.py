"""The people on Slack: their name, language and time zone, and whether they are admins or members of a channel.

Asks Slack about each person from time to time. Independent of requests; a request does not wait for what can be
guessed.
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
from bot.events import TransientError
from bot.waiting import cancelled
from bot.words import locale_of
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.slack.installed.clients import Client
    from bot.adapters.slack.installed.workspaces import Workspaces
    from bot.adapters.slack.placing import Location

CACHED_S: Final = 600.0
"""Seconds for which a person's name and language are cached; after that they are requested again in the background."""
WAIT_S: Final = 0.8
"""Seconds that a request waits for its author's data; Slack waits three for an acknowledgement."""
FRESH_S: Final = 2.0
"""The same for an admin's verb."""
MOST: Final = 8_192
"""The most people in the cache."""
PAGE, PAGES = 1_000, 20
"""The members of a channel per call, and the most calls."""
_CHARGE: Final = ("is_admin", "is_owner", "is_primary_owner")
_GUESTS: Final = ("deleted", "is_bot", "is_stranger", "is_restricted")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Person:
    """What is known of a person. `name` is "" if Slack has not given the data; `locale` is one of the catalogue's;
    `zone` names their time zone. `outside`: they belong to another workspace and organisation.
    """

    name: str = ""
    locale: str = "en"
    admin: bool = False
    zone: str = ""
    outside: bool = False

    def outside_of(self, location: Location) -> bool:
        """Whether the person belongs to another workspace, according to the event or Slack. Without information the
        answer is yes.
        """
        if location.outside is None:
            return self.outside or not self.name
        return location.outside or self.outside


@dataclass(slots=True)
class _Look:
    since: float
    answer: asyncio.Task[Person | None]


class People:
    """People on Slack; one per process. `admins` are user ids in addition to the workspaces' own admins and owners."""

    def __init__(
        self,
        workspaces: Workspaces,
        admins: Collection[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.workspaces = workspaces
        self._admins = frozenset(admins)
        self._clock = clock
        self._cached: OrderedDict[tuple[str, str], tuple[float, Person]] = OrderedDict()
        self._looks: dict[tuple[str, str], _Look] = {}

    async def person(self, location: Location, *, fresh: bool = False) -> Person:
        """The data of `location.user`, as far as they arrive within `WAIT_S` seconds.

        `fresh`: not from the cache, for an admin's verb. Raises UserError ("slack.who") if that is not possible.
        """
        listed = location.user in self._admins
        cached = None if fresh and not listed else self._cached.get((location.space, location.user))
        if cached is not None:
            self.expect(location)
            since, person = cached
            # Old data are good enough, except for an admin, who may no longer be one.
            if not person.admin or listed or self._clock() - since < CACHED_S:
                return person
        look = self._look(location)
        # Counted from the request's beginning, so that many waiting callers wait together.
        remaining = look.since + (FRESH_S if fresh else WAIT_S) - self._clock()
        if remaining > 0:
            await asyncio.wait({look.answer}, timeout=remaining)
        answer = look.answer.result() if look.answer.done() and not look.answer.cancelled() else None
        if answer is not None:
            return answer
        if cached is not None:
            return replace(cached[1], admin=False)
        if fresh and not listed:
            raise TransientError("slack.who")
        return Person(admin=listed)

    async def name(self, location: Location, user: str) -> str:
        """The name of `user`; their id if Slack does not give it."""
        return (await self.person(replace(location, user=user))).name or user

    def named(self, space: str, name: str) -> tuple[str, str] | None:
        """The id and the name of a cached person, found by id, or by name if only one person has it."""
        names = {user: person.name for (of, user), (_, person) in self._cached.items() if of == space}
        matching = [
            user for user, known_name in names.items() if name in (user.casefold(), known_name.casefold())
        ]
        return (matching[0], names[matching[0]] or matching[0]) if len(matching) == 1 else None

    def expect(self, location: Location) -> None:
        """Start requesting the data of `location.user` if they are not cached, or are old."""
        cached = self._cached.get((location.space, location.user))
        if cached is None or self._clock() - cached[0] >= CACHED_S:
            self._look(location)

    def remember(self, location: Location, person: Person) -> None:
        """Cache the data of `location.user`."""
        key = location.space, location.user
        self._cached.pop(key, None)
        self._cached[key] = self._clock(), person
        if len(self._cached) > MOST:
            self._cached.popitem(last=False)

    def forget(self, space: str) -> None:
        """Drop the people of a workspace that has removed the bot."""
        for key in [key_known for key_known in self._cached if key_known[0] == space]:
            del self._cached[key]

    async def close(self) -> None:
        await cancelled(*(look.answer for look in self._looks.values()))

    def _look(self, location: Location) -> _Look:
        """The running request for a person's data, begun if there is none."""
        key = location.space, location.user
        if (look := self._looks.get(key)) is None:
            look = self._looks[key] = _Look(self._clock(), asyncio.create_task(self._ask(location)))
        return look

    async def _ask(self, location: Location) -> Person | None:
        try:
            client = await self.workspaces.client(location.team, location.enterprise)
            answer: Any = await client.users_info(user=location.user, include_locale=True)
        except (SurfaceFault, StorageFault) as fault:  # a missing name must not cause a failure
            _log.info("who a person is could not be asked: %s", fault)
            return None
        finally:
            self._looks.pop((location.space, location.user), None)
        person = person_of(location, answer["user"], self._admins)
        self.remember(location, person)
        return person


def person_of(location: Location, user: Mapping[str, Any], admins: Collection[str]) -> Person:
    """The person for Slack's user object, seen from `location`."""
    profile: Mapping[str, Any] = user.get("profile") or {}
    name = (
        profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user.get("name")
    )
    admin = location.user in admins
    enterprise_user: Mapping[str, Any] = user.get("enterprise_user") or {}
    workspace_ids = {str(user.get("team_id") or ""), str(enterprise_user.get("enterprise_id") or "")} - {""}
    # Slack's documentation, "users.info": a user of another workspace has "is_stranger".
    outside = bool(user.get("is_stranger")) or (
        workspace_ids != set() and not workspace_ids & {location.team, location.enterprise}
    )
    if not any(map(user.get, _GUESTS)):
        # An admin of this workspace or of its whole organisation; other admins are guests here.
        if location.team and user.get("team_id") == location.team:
            admin = admin or any(map(user.get, _CHARGE))
        if location.enterprise and enterprise_user.get("enterprise_id") == location.enterprise:
            admin = admin or any(map(enterprise_user.get, _CHARGE))
    zone = str(user.get("tz") or "")
    return Person(clean(str(name or "")), locale_of(str(user.get("locale") or "")), admin, zone, outside)


async def is_member(client: Client, channel: str, user: str, *, beyond: bool) -> bool:
    """Whether the person is a member of the channel; `beyond` is the answer if it has too many members to check."""
    cursor = ""
    for _ in range(PAGES):
        answer: Any = await client.conversations_members(channel=channel, limit=PAGE, cursor=cursor)
        if user in answer["members"]:
            return True
        cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
        if not cursor:
            return False
    return beyond
