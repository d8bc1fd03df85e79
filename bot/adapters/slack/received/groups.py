"""The user groups of a workspace and their members, as Slack lists them; cached for a few minutes."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.markdown import clean
from bot.adapters.slack.placing import origin_at, origin_of
from bot.adapters.surface import SurfaceFault
from bot.events import Place, TransientError
from bot.waiting import cancelled

if TYPE_CHECKING:
    from bot.adapters.slack.installed.workspaces import Workspaces

CACHED_S: Final = 300.0
"""Seconds for which a list of groups is cached."""
WAIT_S: Final = 2.0
"""Seconds to wait for Slack, which itself waits three for an acknowledgement."""
MOST: Final = 512
"""The most workspaces in the cache."""


@dataclass(frozen=True, slots=True)
class Group:
    """A user group. `handle` is what is typed after the @; `members` are ids of people."""

    id: str
    name: str
    handle: str
    members: frozenset[str]


class Groups:
    """The user groups of all workspaces; one per process. Needs the scope usergroups:read."""

    def __init__(self, workspaces: Workspaces, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._workspaces = workspaces
        self._clock = clock
        self._cached: OrderedDict[str, tuple[float, Mapping[str, Group]]] = OrderedDict()
        self._asking: dict[str, asyncio.Task[Mapping[str, Group]]] = {}

    async def at_place(self, place: Place) -> Mapping[str, Group]:
        """The groups of the place's workspace by their ids. Raises UserError ("slack.groups") if Slack does not return
        them.
        """
        since, groups = self._cached.get(place.space, (0.0, None))
        if groups is not None and self._clock() - since < CACHED_S:
            return groups
        if (asking := self._asking.get(place.space)) is None:
            asking = self._asking[place.space] = asyncio.create_task(self._ask(place))
        try:
            async with asyncio.timeout(WAIT_S):
                return await asyncio.shield(asking)
        except (SurfaceFault, TimeoutError):
            raise TransientError("slack.groups") from None

    async def close(self) -> None:
        await cancelled(*self._asking.values())

    async def _ask(self, place: Place) -> Mapping[str, Group]:
        origin = origin_of(origin_at(place))
        try:
            client = await self._workspaces.client(origin.team, origin.enterprise)
            answer: Any = await client.usergroups_list(include_users=True)
        finally:
            self._asking.pop(place.space, None)
        groups = {group.id: group for group in map(_group, answer["usergroups"])}
        self._cached.pop(place.space, None)
        self._cached[place.space] = self._clock(), groups
        if len(self._cached) > MOST:
            self._cached.popitem(last=False)
        return groups


def _group(listed: Mapping[str, Any]) -> Group:
    name, handle = clean(str(listed.get("name") or "")), clean(str(listed.get("handle") or ""))
    return Group(str(listed["id"]), name or handle, handle, frozenset(map(str, listed.get("users") or ())))
