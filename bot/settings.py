"""Settings of a person, a channel, a category or a space. They take precedence over the config; the nearest one
applies.

Knows no work and no words: kinds of work declare which settings there are and which values they take.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import tzinfo
from functools import cache
from typing import TYPE_CHECKING, Final

from bot.config import model_spec
from bot.events import Place, Request, UserError
from storage.settings import Scope, SettingRow, SettingsStore

if TYPE_CHECKING:
    from bot.config import Config, RolesConfig
    from bot.config.model_spec import ModelSpec

LANGUAGE: Final = "language"
TIMEZONE: Final = "timezone"
FREE_CHAT: Final = "free_chat"
MODEL: Final = "model."
"""The prefix of the settings that choose a role's models."""
ROLES: Final = ("answerer", "writer", "extractor", "researcher")
"""The roles that a run asks for. A council's members and chair are settings of its own."""
VOICE: Final = "voices"
SPEED: Final = "speed"
NARRATE: Final = "narrate"
"""The voices, the speed, and whether to read aloud; for one kind of work "voices.WORK" and "speed.WORK" come first."""
AS: Final = "voices.as."
"""The prefix of the settings for the voices of characters in a thread's story."""
ON, OFF = "on", "off"

ADMINS_EXEMPT: Final = "admins_exempt"
"""Whether budgets leave admins out."""
ADMIN_NOTES: Final = "admin_notes"
"""Whether notes for admins are posted in a channel."""
WORKS: Final = "works"
DEFAULT_WORK: Final = "default_work"
INSTRUCTION: Final = "instruction"
ANSWERS: Final = "answers"
LISTENS: Final = "listens"
UNANSWERED: Final = "unanswered"
OUTSIDERS: Final = "outsiders"
OF_CHANNELS: Final = (WORKS, DEFAULT_WORK, INSTRUCTION, ANSWERS, LISTENS, UNANSWERED)
"""The settings of channels: see `bot.channel_rules`."""

EVERYTHING, THREADS, MENTIONS = "everything", "threads", "mentions"
LISTENING: Final = (EVERYTHING, THREADS, MENTIONS)
"""Which messages are for the bot: all that ask something; mentions and messages in its own threads; only mentions."""
NOTHING, QUESTIONS = "nothing", "questions"
FOR_OUTSIDERS: Final = (QUESTIONS, NOTHING, EVERYTHING)
"""What members of another workspace may do in a channel that is shared with them: see `bot.outsiders`."""
TELL, SILENT = "tell", "silent"
"""What the bot does if it finds no answer to a message that does not address it."""
IN_THREAD, IN_CHANNEL, IN_PRIVATE = "thread", "channel", "private"
ANSWERING: Final = (IN_THREAD, IN_CHANNEL, IN_PRIVATE)
"""Where answers go."""

SCOPES_BY_NEARNESS: Final[tuple[Scope, ...]] = ("person", "thread", "channel", "category", "space")
CACHED: Final = (
    LANGUAGE,
    TIMEZONE,
    FREE_CHAT,
    NARRATE,
    ADMINS_EXEMPT,
    OUTSIDERS,
    *OF_CHANNELS,
    *(MODEL + role for role in ROLES),
)
"""Settings that every request reads. They are cached by space, because many requests at once must be acknowledged
within three seconds, and a query for each would delay that."""
ACCESS: Final = "access."
"""The prefix of the rules that say who may do what: see `bot.access`."""
BUDGETS: Final = "budget."
"""The prefix of the budgets of people, groups, channels and the space: see `bot.admin_budgets`."""
HOUSE_RULES: Final = "house_rule."
"""The prefix of the space's own rulings, which every question about rules reads: see `bot.works.rules`."""
SPACES = 1_000
"""The most spaces in the cache."""
SHARED_S: Final = 0.3
"""How many seconds a space is cached if other processes write to the database; a run reads its settings twenty
times.
"""


class Settings:
    """Reads and writes settings; the caller checks their values."""

    def __init__(
        self,
        store: SettingsStore,
        config: Config,
        *,
        alone: bool = True,
        category: Callable[[Place], str] = lambda place: "",
    ) -> None:
        """`alone`: no other process writes to the database. `category` returns the id of a place's category, or ""."""
        self._alone = alone
        self._category = category
        self.store = store
        self._config = config
        self._cache: OrderedDict[str, Sequence[SettingRow]] = OrderedDict()
        self._read_at: dict[str, float] = {}
        """When the reading of each space in the cache began, by time.monotonic."""
        self._also_cached: frozenset[str] = frozenset()
        self._lock = asyncio.Lock()
        self.configured: Mapping[str, Sequence[SettingRow]] = {}
        """The settings of spaces in config.toml, by space id, with their scopes; stored settings come first."""

    def also_cache(self, names: Collection[str]) -> None:
        """Cache these settings too, because every request reads them."""
        self._also_cached = frozenset(names)
        self._cache.clear()

    async def nearest(self, place: Place, person: str, name: str) -> list[SettingRow]:
        """The rows of this setting for this person in this place, the nearest first; the first one applies."""
        cached = name in CACHED or name in self._also_cached
        rows = await (self._rows(place.space) if cached else self.store.named(place.space, [name]))
        return self._nearest(rows, place, person, name)

    async def nearest_under(self, place: Place, person: str, prefix: str) -> dict[str, SettingRow]:
        """The row that applies there for every setting with this prefix, by the rest of its name."""
        rows = await self.store.with_prefix(place.space, prefix)
        applying = [row for row in rows if row.of in self._owners(row.scope, place, person)]
        applying.sort(key=lambda row: SCOPES_BY_NEARNESS.index(row.scope), reverse=True)
        return {row.name.removeprefix(prefix): row for row in applying}

    async def any_in(self, space: str) -> bool:
        """Whether anything is set in the space that every request reads."""
        return bool(await self._rows(space) or self.configured.get(space))

    async def of_space(self, space: str, *prefixes: str) -> list[SettingRow]:
        """The space's rows with one of the prefixes `ACCESS`, `BUDGETS` and `HOUSE_RULES`, in order. Rows from the
        config, for names that are not stored, have the scope "config"."""
        rows = dict[str, SettingRow]()
        for row in await self._rows(space):
            if row.scope == "space" and row.name.startswith(prefixes):
                rows[row.name] = row
        for row in self.configured.get(space, ()):
            if row.name.startswith(prefixes):
                rows.setdefault(row.name, replace(row, scope="config"))
        return list(rows.values())

    async def under(self, space: str, prefix: str) -> dict[str, SettingRow]:
        """The values set for the whole space under this prefix, by the rest of their names."""
        configured = [row for row in self.configured.get(space, ()) if row.scope == "space"]
        rows = {row.name: replace(row, scope="config") for row in configured if row.name.startswith(prefix)}
        return {name.removeprefix(prefix): row for name, row in rows.items()} | await self.store.of_space(
            space, prefix
        )

    async def set(self, place: Place, person: str, name: str, value: str, scope: Scope) -> None:
        await self.set_all(place, person, {name: value}, scope)

    async def set_all(self, place: Place, person: str, values: Mapping[str, str], scope: Scope) -> None:
        """Write all of these settings, or none. Raises UserError("settings.no_category") if the channel is in no
        category.
        """
        owner = self._owner_to_change(scope, place, person)
        async with self._lock:
            await self.store.set_all(place.space, values, person, scope, owner)
            await self._reload(place.space)

    async def write(self, space: str, person: str, values: Mapping[tuple[Scope, str, str], str]) -> None:
        """Write all of these settings, by scope, owner and name, or none."""
        async with self._lock:
            await self.store.write(space, values, person)
            await self._reload(space)

    async def add(self, space: str, person: str, name: str, value: str) -> bool:
        """Set a value for the whole space unless it has one; returns whether it did."""
        async with self._lock:
            added = await self.store.add(space, name, value, person)
            self.changed(space)
            return added

    async def reset(self, place: Place, person: str, name: str, scope: Scope) -> bool:
        """Remove the setting of this scope; returns whether there was one."""
        return await self.reset_all(place, person, [name], scope)

    async def reset_all(self, place: Place, person: str, names: Sequence[str], scope: Scope) -> bool:
        """Remove these settings of this scope; returns whether there was any. Raises UserError as `set_all` does."""
        owner = self._owner_to_change(scope, place, person)
        async with self._lock:
            removed = await self.store.reset_all(place.space, names, person, scope, owner)
            await self._reload(place.space)
            return removed

    def changed(self, space: str) -> None:
        """Drop the cache of a space, "" for all spaces, after its settings were written without this class."""
        if space:
            self._cache.pop(space, None)
        else:
            self._cache.clear()

    async def locale(self, place: Place, person: str, otherwise: str) -> str:
        """The locale for answers to the person: the nearest setting, otherwise the platform's."""
        await self._rows(place.space)
        return self.known_locale(place, person, otherwise)

    def known_locale(self, place: Place, person: str, otherwise: str) -> str:
        """The same without waiting for the database: `otherwise` if the space is not cached."""
        settings = self._nearest(self._cache.get(place.space, ()), place, person, LANGUAGE)
        return settings[0].value if settings else otherwise

    async def zone(self, request: Request) -> tzinfo:
        """The time zone for times that are shown: the nearest setting, otherwise the platform's for the asker,
        otherwise UTC.
        """
        settings = await self.nearest(request.place, request.author.id, TIMEZONE)
        return zone_of(settings[0].value if settings else request.author.zone or UTC)

    async def free_chat(self, place: Place) -> bool:
        """Whether plain messages in one of the bot's threads are for the bot, unless the thread has its own setting."""
        if not self._config.discord.free_chat:  # then Discord does not send us the content of messages
            return False
        settings = await self.nearest(place, "", FREE_CHAT)
        return settings[0].value == ON if settings else True

    async def narrated(self, request: Request) -> bool:
        """Whether text is read aloud in the request's place."""
        settings = await self.nearest(request.place, request.author.id, NARRATE)
        return bool(settings) and settings[0].value == ON

    async def roles(self, request: Request) -> dict[str, list[str]]:
        """The models that the person or the place has chosen, by role, each in the format of bot.config.model_spec.

        Models that the config no longer permits are left out.
        """
        place, chosen = request.asked_in or request.place, dict[str, list[str]]()
        for role in ROLES if await self.any_in(place.space) else ():
            if models := await self._chosen_models(place, request.author.id, role):
                chosen[role] = models
        return chosen

    async def answerer(self, place: Place, person: str) -> str:
        """The model that answers the person there; "" for none."""
        chosen = await self._chosen_models(place, person, "answerer")
        return next(iter([*chosen, *self._config.roles.answerer]), "")

    async def _chosen_models(self, place: Place, person: str, role: str) -> list[str]:
        rows = await self.nearest(place, person, MODEL + role)
        return next(filter(None, map(self._permitted_models, rows)), [])

    async def roles_of_space(self, space: str) -> RolesConfig:
        """The models of each role in the space, unless a channel or a person has chosen others."""
        chosen = {
            role: tuple(models)
            for row in (*self.configured.get(space, ()), *await self._rows(space))
            if row.scope == "space"
            and row.name.startswith(MODEL)
            and (role := row.name.removeprefix(MODEL)) in ROLES
            and (models := self._permitted_models(row))
        }
        return replace(self._config.roles, **chosen)

    def _permitted_models(self, row: SettingRow) -> list[str]:
        models = _models(row.value)
        is_permitted = permitted_to_person if row.scope == "person" else _permitted
        return list(map(str, models)) if all(is_permitted(self._config, model) for model in models) else []

    async def _rows(self, space: str) -> Sequence[SettingRow]:
        called_at = time.monotonic()
        fresh = self._alone or called_at - self._read_at.get(space, -SHARED_S) < SHARED_S
        if fresh and (rows := self._cache.get(space)) is not None:
            return rows
        async with self._lock:
            # Waiting callers share a reading that began after they asked.
            is_current = space in self._cache and (self._alone or self._read_at.get(space, 0.0) >= called_at)
            if not is_current:
                reading_at = time.monotonic()
                await self._reload(space)
                self._read_at[space] = reading_at
            return self._cache[space]

    async def _reload(self, space: str) -> None:
        names = (*CACHED, *self._also_cached)
        self._cache[space] = await self.store.named(space, names, (ACCESS, BUDGETS, HOUSE_RULES))
        if len(self._cache) > SPACES:
            self._read_at.pop(self._cache.popitem(last=False)[0], None)

    def _nearest(self, rows: Sequence[SettingRow], place: Place, person: str, name: str) -> list[SettingRow]:
        """The stored rows, the nearest first, then the nearest one of config.toml."""
        configured = self.configured.get(place.space, ())
        nearest = self._by_scope(rows, place, person, name) if rows else []
        for row in self._by_scope(configured, place, "", name)[:1] if configured else ():
            nearest.append(replace(row, scope="config"))
        return nearest

    def _by_scope(self, rows: Sequence[SettingRow], place: Place, person: str, name: str) -> list[SettingRow]:
        by_scope = dict[Scope, SettingRow]()
        for row in rows:
            if row.name == name and row.of in self._owners(row.scope, place, person):
                by_scope[row.scope] = row
        return list(filter(None, map(by_scope.get, SCOPES_BY_NEARNESS)))

    def _owners(self, scope: Scope, place: Place, person: str) -> tuple[str, ...]:
        """The owner of settings of this scope; empty if there is none: no category in the place, or no person."""
        owner = self.owner(scope, place, person)
        return (owner,) if owner or scope == "space" else ()

    def owner(self, scope: Scope, place: Place, person: str) -> str:
        """The owner of a setting of this scope that this person sets in this place; "" for no category."""
        match scope:
            case "person":
                return person
            case "thread":
                return f"{place.channel}/{place.thread}"
            case "channel":
                return place.channel
            case "category":
                return self._category(place)
            case "space" | "config":
                return ""

    def _owner_to_change(self, scope: Scope, place: Place, person: str) -> str:
        owner = self.owner(scope, place, person)
        if scope == "category" and not owner:
            raise UserError("settings.no_category")
        return owner

    async def of_channels(self, space: str, names: Sequence[str]) -> list[SettingRow]:
        """The rows of channels, categories and the whole space under these names, then those of config.toml."""
        rows = await self.store.named(space, names)
        configured = [row for row in self.configured.get(space, ()) if row.name in names]
        shared = [row for row in rows if row.scope in ("channel", "category", "space")]
        return [*shared, *(replace(row, scope="config") for row in configured)]


UTC: Final = "UTC"


@cache
def zones() -> Mapping[str, str]:
    """The names of all time zones by their lower-case names."""
    from zoneinfo import available_timezones

    return {name.casefold(): name for name in sorted(available_timezones())}


def zone_of(name: str) -> tzinfo:
    """The time zone of a checked name; UTC if this machine no longer has it."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo(UTC)


def choosable(config: Config) -> list[str]:
    """The models that spaces may choose: those that the config offers, and those of its own roles."""
    return list(dict.fromkeys([*config.offered, *config.roles.models]))


def permitted(config: Config, model: str) -> bool:
    """Whether spaces may choose the model: any model of a known provider, unless the config lists the models."""
    name = model_spec.model_of(model)
    if name.partition(":")[0] not in config.providers:
        return False
    return not config.offered or name in choosable(config)


def permitted_to_person(config: Config, spec: ModelSpec) -> bool:
    """Whether a person may choose the model for themselves: the config must name it, and settings that may cost more
    must be exactly those in the config.
    """
    may_cost_more = (spec.effort, spec.timeout, spec.tokens) != (None, None, None)
    return (
        _permitted(config, spec)
        and spec.model in choosable(config)
        and (not may_cost_more or str(spec) in config.roles.specs)
    )


def _permitted(config: Config, spec: ModelSpec) -> bool:
    return permitted(config, spec.model)


def _models(value: str) -> Sequence[ModelSpec]:
    try:
        return model_spec.parse_list(value)
    except UserError:  # written by another release
        return ()
