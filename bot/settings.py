"""What a person, a channel or a space has set over the config, the nearest first, and what follows from it.

Knows none of the works and no words: which settings there are, and what may be set, their kinds of work say.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from functools import cache
from typing import TYPE_CHECKING, Final

from bot.config import members
from bot.events import Place, Request, Sorry
from storage.settings import KeptSettings, Scope, SettingRow

if TYPE_CHECKING:
    from bot.config import Config

LANGUAGE: Final = "language"
TIMEZONE: Final = "timezone"
FREE_CHAT: Final = "free_chat"
MODEL: Final = "model."
"""What the name of a setting begins with that is a role's models."""
ROLES: Final = ("answerer", "extractor", "researcher")
"""The roles that a run asks for. A council's members and chair are settings of its own."""
ON, OFF = "on", "off"

NEAREST: Final[tuple[Scope, ...]] = ("person", "channel", "space")
LATELY: Final = (LANGUAGE, TIMEZONE, FREE_CHAT, *(MODEL + role for role in ROLES))
"""Asked for with each request, so that a space's are remembered: a crowd that comes at once is acknowledged within
three seconds, and a look into the database for each would take a part of that."""
SPACES = 1_000
"""Whose are remembered."""


class Settings:
    """Reads, and keeps what others have checked. This process is the only one that writes."""

    def __init__(self, kept: KeptSettings, config: Config) -> None:
        self.kept = kept
        self._config = config
        self._known: OrderedDict[str, Sequence[SettingRow]] = OrderedDict()
        self._turn = asyncio.Lock()

    async def nearest(self, place: Place, person: str, name: str) -> list[SettingRow]:
        """Where it is set for this person in this place, the nearest first: that one holds."""
        rows = await (self._of(place.space) if name in LATELY else self.kept.named(place.space, [name]))
        found: dict[Scope, SettingRow] = {}
        for row in rows:
            if row.name == name and row.of == of(row.scope, place, person):
                found[row.scope] = row
        return list(filter(None, map(found.get, NEAREST)))

    async def set(self, place: Place, person: str, name: str, value: str, scope: Scope) -> None:
        async with self._turn:
            await self.kept.set(place.space, name, value, person, scope, of(scope, place, person))
            self._known.pop(place.space, None)

    async def reset(self, place: Place, person: str, name: str, scope: Scope) -> bool:
        """Back to what holds further out; whether there was anything."""
        async with self._turn:
            was = await self.kept.reset(place.space, name, scope, of(scope, place, person))
            self._known.pop(place.space, None)
            return was

    def changed(self, space: str) -> None:
        """Somebody else has written to the storage."""
        self._known.pop(space, None)

    async def locale(self, request: Request) -> str:
        """The locale that the request is worded in: the nearest that is set, else its platform's."""
        found = await self.nearest(request.place, request.author.id, LANGUAGE)
        return found[0].value if found else request.locale

    async def zone(self, request: Request) -> tzinfo:
        """The time zone that times are shown in."""
        found = await self.nearest(request.place, request.author.id, TIMEZONE)
        return zone_of(found[0].value if found else UTC)

    async def free_chat(self, place: Place) -> bool:
        """Whether plain messages in a thread of the bot's are for the bot where the thread itself says nothing."""
        if not self._config.discord.free_chat:  # then Discord keeps from us what people write
            return False
        found = await self.nearest(place, "", FREE_CHAT)
        return found[0].value == ON if found else True

    async def roles(self, request: Request) -> dict[str, list[str]]:
        """Whose models this place has chosen itself, by role, each as bot.members writes it.

        What the config no longer lets spaces choose is passed over.
        """
        chosen: dict[str, list[str]] = {}
        for role in ROLES:
            for row in await self.nearest(request.place, request.author.id, MODEL + role):
                models = _models(row.value)
                if models and all(permitted(self._config, one) for one in models):
                    chosen[role] = models
                    break
        return chosen

    async def _of(self, space: str) -> Sequence[SettingRow]:
        if (known := self._known.get(space)) is not None:
            return known
        async with self._turn:
            if space not in self._known:
                self._known[space] = await self.kept.named(space, LATELY)
                if len(self._known) > SPACES:
                    self._known.popitem(last=False)
            return self._known[space]


def of(scope: Scope, place: Place, person: str) -> str:
    """Whose a setting of this scope is, set by this person in this place."""
    owners: Mapping[Scope, str] = {"person": person, "channel": place.channel, "space": ""}
    return owners[scope]


UTC: Final = "UTC"


@cache
def zones() -> Mapping[str, str]:
    """Every time zone's name by the same in small letters."""
    from zoneinfo import available_timezones

    return {name.casefold(): name for name in sorted(available_timezones())}


def zone_of(name: str) -> tzinfo:
    """The zone of a name that was checked; UTC where this machine has forgotten it."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo(UTC)


def choosable(config: Config) -> list[str]:
    """The models that spaces may choose: those that the config lists for it, and those that it gives a part itself."""
    return list(dict.fromkeys([*config.offered, *config.roles.models]))


def permitted(config: Config, model: str) -> bool:
    """Whether spaces may choose it: any of a known provider, unless the config lists which."""
    named = members.model_of(model)
    if named.partition(":")[0] not in config.providers:
        return False
    return not config.offered or named in choosable(config)


def _models(value: str) -> list[str]:
    try:
        return [str(one) for one in members.parse_list(value)]
    except Sorry:  # as another release wrote it
        return []
