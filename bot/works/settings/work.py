"""The work "settings": shows the settings that apply to the asker, with their origin, and changes them.

Knows no single setting: the kinds of work declare them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, Final

from bot.channel_rules import check_listening
from bot.commands import SETTINGS
from bot.events import Event, Request, Stage, Text, UserError
from bot.markdown import code, one_line, table_row
from bot.names import Names
from bot.settings import TIMEZONE
from bot.words import Words, name_in, words
from bot.work import Run
from bot.works.settings.access import AccessRules
from bot.works.settings.budgets import BudgetTable
from bot.works.settings.channels import OF_CHANNELS, ChannelTable
from bot.works.settings.exchange import Exchange
from bot.works.settings.history import History

if TYPE_CHECKING:
    from bot.kind import Setting
    from bot.resources import Resources
    from storage.settings import Scope, SettingRow

SCOPES: Final[Mapping[str, Scope]] = {
    "me": "person",
    "thread": "thread",
    "channel": "channel",
    "category": "category",
    "everyone": "space",
}
"""The scopes by the values of the option `for`."""
SCOPE_NAMES: Final[Mapping[Scope, str]] = {scope: name for name, scope in SCOPES.items()}
DEFAULT_SCOPES: Final[tuple[Scope, ...]] = ("person", "space")
"""The default scopes of a setting: the person who sets it, or everybody if it cannot be set for one person."""
MOST_VALUES = 12
"""The maximum number of possible values that are listed."""


@dataclass(frozen=True, slots=True)
class EffectiveValue:
    """The value that applies to a person, as people write it, and the locale of texts for them.

    `scope` is its scope or, if nobody has set it, "config", "default" (without a config.toml) or "app".
    """

    value: str
    scope: str
    locale: str


@dataclass(frozen=True, slots=True)
class _Reader:
    """The reader of a table. `names` caches the names of the people in it, by their ids."""

    request: Request
    say: Words
    zone: tzinfo
    names: dict[str, str] = field(default_factory=dict)


class SettingsWork:
    """The work; the verbs with modules of their own are passed on."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._settings = resources.settings
        self._channels = ChannelTable(resources)
        self._access = AccessRules(resources)
        self._budgets = BudgetTable(resources)
        self._history = History(resources)
        self._names = Names(resources)

    def run(self, run: Run) -> AsyncGenerator[Event, None]:
        exchange = Exchange(self._resources)
        verbs = {
            "show": self._show,
            "set": self._set,
            "reset": self._reset,
            "channels": self._channels.run,
            "access": self._access.show,
            "allow": self._access.change,
            "deny": self._access.change,
            "budget": self._budgets.run,
            "history": self._history.run,
            "used": self._budgets.used,
            "export": exchange.export_file,
            "import": exchange.import_file,
        }
        return verbs[run.request.verb](run)

    async def _show(self, run: Run) -> AsyncGenerator[Event, None]:
        request, say = run.request, words(run.request.locale)
        setting = _setting_named(request, request.text) if request.text.strip() else None

        async def shown() -> str:
            return await (
                self._table(request, say) if setting is None else self._details(request, setting, say)
            )

        text = await run.step("show", shown, str)
        yield Stage("settings", say("settings.title") if setting is None else setting.name)
        yield Text(text)

    async def _set(self, run: Run) -> AsyncGenerator[Event, None]:
        request = run.request
        setting, _ = _typed(request)
        scope = _scope(request, setting)

        async def changed() -> str:
            value = await checked(self._resources, request)
            check_listening(self._resources.config, request.place.platform, setting.name, value)
            await self._settings.set(request.place, request.author.id, setting.name, value, scope)
            return setting.shown(value)

        value = await run.step("set", changed, str)
        effective = await run.step("held", lambda: self._effective(request, setting), EffectiveValue)
        say = words(effective.locale)
        yield Stage("settings", setting.name)
        saved = say(f"settings.saved_{scope}", name=setting.name, value=_code(setting.in_words(value, say)))
        yield Text(saved.removesuffix(".") if value.endswith((".", "!", "?", "…")) else saved)
        if effective.scope != scope:
            yield Text(" " + _effect_sentence(setting, effective, say))

    async def _reset(self, run: Run) -> AsyncGenerator[Event, None]:
        request = run.request
        setting = _setting_named(request, request.text)
        scope = _scope(request, setting)

        async def back() -> bool:
            return await self._settings.reset(request.place, request.author.id, setting.name, scope)

        removed = await run.step("reset", back, bool)
        effective = await run.step("held", lambda: self._effective(request, setting), EffectiveValue)
        say = words(effective.locale)
        yield Stage("settings", setting.name)
        key = f"settings.reset_{scope}" if removed else f"settings.unset_{scope}"
        yield Text(f"{say(key, name=setting.name)} {_effect_sentence(setting, effective, say)}")

    async def _effective(self, request: Request, setting: Setting) -> EffectiveValue:
        rows = await self._rows(request, setting)
        row = next((row for row in rows if self._valid(setting, row)), None)
        locale = await self._settings.locale(request.place, request.author.id, request.locale)
        if row is None:
            return EffectiveValue(*self._unset(request, setting), locale)
        return EffectiveValue(setting.shown(row.value), row.scope, locale)

    def _unset(self, request: Request, setting: Setting) -> tuple[str, str]:
        """The value that applies if nobody has set one, and its origin."""
        if setting.name == TIMEZONE and request.author.zone:
            return request.author.zone, "app"
        if setting.default is None:
            return "", "app"
        return setting.default(
            self._resources
        ), "default" if self._resources.config.file is None else "config"

    async def _rows(self, request: Request, setting: Setting) -> list[SettingRow]:
        """The stored values, the nearest first."""
        return await self._settings.nearest(request.place, request.author.id, setting.name)

    def _valid(self, setting: Setting, row: SettingRow) -> bool:
        """Whether the value could still be set: the config may allow less than before."""
        try:
            setting.checked(self._resources, setting.shown(row.value), row.scope)
        except (UserError, ValueError):
            return False
        return True

    async def _table(self, request: Request, say: Words) -> str:
        reader = _Reader(request, say, await self._settings.zone(request))
        lines, barred = [say("settings.header"), "|---|---|---|"], list[str]()
        for setting in _platform_settings(request):
            if setting.name in OF_CHANNELS:
                continue
            rows = await self._rows(request, setting)
            valid = [row for row in rows if self._valid(setting, row)]
            barred += [setting.name] if valid != rows else []
            if valid:
                value = setting.shown(valid[0].value)
                whose = say(f"settings.by_{valid[0].scope}", by=await self._changed_by(valid[0], reader))
            else:
                value, by = self._unset(request, setting)
                whose = say(f"settings.by_{by}")
            lines.append(table_row(_code(setting.name), one_line(setting.in_words(value, say)) or "–", whose))
        notes = [say("settings.barred", names=", ".join(barred))] if barred else []
        return "\n".join([*lines, "", *notes, say("settings.how")])

    async def _details(self, request: Request, setting: Setting, say: Words) -> str:
        reader = _Reader(request, say, await self._settings.zone(request))
        rows = {row.scope: row for row in await self._rows(request, setting)}
        effective = await self._effective(request, setting)
        lines = [say("settings.header_one"), "|---|---|---|"]
        for scope in setting.scopes:
            if scope == "category" and not self._settings.owner("category", request.place, ""):
                continue
            called = _bold_if(say(f"settings.for_{scope}"), effective.scope == scope)
            row = rows.get(scope)
            value = _one_line(setting.in_words(setting.shown(row.value), say)) if row is not None else "–"
            lines.append(
                table_row(called, value, await self._changed_by(row, reader) if row is not None else "")
            )
        value, by = self._unset(request, setting)
        if (row := rows.get("config")) is not None:
            value, by = setting.shown(row.value), "config"
        called = _bold_if(say(f"settings.for_{by}"), effective.scope == by)
        lines.append(table_row(called, _one_line(setting.in_words(value, say)) or "–", ""))
        notes = []
        if not all(self._valid(setting, row) for row in rows.values()):
            notes.append(say("settings.barred", names=setting.name))
        values = list(setting.values(self._resources))
        if values and len(values) <= MOST_VALUES:
            possible = ", ".join(_code(setting.in_words(value, say)) for value in values)
            notes.append(say("settings.possible", values=possible))
        scopes = _scopes(setting, say)
        notes.append(say("settings.how_one", name=setting.name, scopes=scopes))
        return "\n".join([say(setting.summary), "", *lines, "", " ".join(notes)])

    async def _changed_by(self, row: SettingRow, reader: _Reader) -> str:
        """Who set it, unless it is the person's own setting, and when."""
        when = f"{row.updated_at.astimezone(reader.zone):%Y-%m-%d %H:%M}"
        if row.scope == "person":
            return when
        if row.author_id == reader.request.author.id:
            return f"{reader.say('settings.you')}, {when}"
        if row.author_id not in reader.names:
            reader.names[row.author_id] = await self._names.person(reader.request.place, row.author_id)
        return f"{reader.names[row.author_id] or reader.say('settings.somebody')}, {when}"


def _platform_settings(request: Request) -> list[Setting]:
    """The settings that exist on the request's platform; those that anybody can set for themselves come first."""
    platform = request.place.platform
    offered = [
        setting for setting in SETTINGS.values() if not setting.platforms or platform in setting.platforms
    ]
    return sorted(offered, key=lambda setting: "person" not in setting.scopes)


async def checked(resources: Resources, request: Request) -> str:
    """The value to store for `settings set`. Raises UserError."""
    setting, value = _typed(request)
    return await asyncio.to_thread(setting.checked, resources, value, _scope(request, setting))


def _typed(request: Request) -> tuple[Setting, str]:
    """The setting and the value of `settings set NAME VALUE`. Raises UserError."""
    name, _, value = request.text.strip().partition(" ")
    setting = _setting_named(request, name)
    if not value.strip():
        raise UserError("settings.no_value", name=setting.name)
    return setting, value.strip()


def _setting_named(request: Request, name: str) -> Setting:
    typed = name.strip().casefold()
    setting = SETTINGS.get(typed)
    offered = _platform_settings(request)
    if setting is None:
        raise UserError(
            "settings.unknown", name=name.strip()[:60], names=", ".join(setting.name for setting in offered)
        )
    if setting not in offered:
        raise UserError(
            "settings.elsewhere", name=setting.name, platforms=", ".join(setting.platforms).capitalize()
        )
    return setting


def _scope(request: Request, setting: Setting) -> Scope:
    """The scope of the setting, if this person may set it there. Raises UserError."""
    typed_scope = request.options.get("for")
    default = next((name for name in DEFAULT_SCOPES if name in setting.scopes), setting.scopes[0])
    scope = SCOPES[str(typed_scope)] if typed_scope else default
    if scope not in setting.scopes:
        raise UserError("settings.scope", name=setting.name, possible=partial(_scopes, setting))
    if scope not in ("person", "thread") and not request.author.admin:
        personal = "person" in setting.scopes
        raise UserError("settings.admins_or_me" if personal else "settings.admins", name=setting.name)
    return scope


def _scopes(setting: Setting, say: Words) -> str:
    """What it can be set for, as the option "for" names it."""
    return ", ".join(_code(name_in(say, SCOPE_NAMES[scope], "for")) for scope in setting.scopes)


def _effect_sentence(setting: Setting, effective: EffectiveValue, say: Words) -> str:
    scope = effective.scope if effective.value or effective.scope not in ("config", "default") else "nothing"
    return say(f"settings.holds_{scope}", value=_code(setting.in_words(effective.value, say)))


def _code(text: str) -> str:
    return code(text) or "–"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _bold_if(text: str, bold: bool) -> str:
    return f"**{text}**" if bold else text
