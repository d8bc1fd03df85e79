"""Reads, checks and writes a space's settings, access rules and budgets as TOML tables.

An exported file has these tables at its top, config.toml under `[spaces."PLATFORM:SPACE"]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from bot import access, admin_budgets
from bot.access import RULED, rule_of
from bot.admin_budgets import PERIODS, amount_of, budget_of
from bot.channel_rules import check_listening
from bot.commands import SETTINGS
from bot.config.text import line_of
from bot.events import UserError
from bot.settings import OFF, ON
from storage.settings import Scope, SettingRow

if TYPE_CHECKING:
    from bot.access import Whose
    from bot.admin_budgets import Holder
    from bot.config import Config
    from bot.resources import Resources
    from bot.speech.speech import Speech
    from storage.ledger import Per

EVERYONE, CHANNELS, CATEGORIES, ACCESS, BUDGETS = "settings", "channels", "categories", "access", "budgets"
TABLES: Final = (EVERYONE, CHANNELS, CATEGORIES, ACCESS, BUDGETS)
OF_SCOPE: Final[Mapping[Scope, str]] = {"space": EVERYONE, "channel": CHANNELS, "category": CATEGORIES}
"""The table of each scope."""
CALLED: Final = "name"
"""The key for the name of a channel or category, for people who read the file."""
NAME_CHARS: Final = 100
_RULE: Final = ("what", "person", "group", "name", "allow")
_BUDGET: Final = ("amount", "per", "whose", "person", "group", "channel", "name")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")

Kind: TypeAlias = Literal["", "channel", "category", "person", "group"]
Key: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One value to store, in the terms of `storage.settings`. `where` is its key in the tables.

    `kind` and `id` name the thing that it concerns and that must exist in the space, "" for none; `called` is its name
    in the file.
    """

    scope: Scope
    of: str
    name: str
    value: str
    where: Key
    kind: Kind = ""
    id: str = ""
    called: str = ""

    def row(self, space: str) -> SettingRow:
        """The row to store, without an author."""
        return SettingRow(
            space, self.scope, self.of, self.name, self.value, "", datetime.fromtimestamp(0, UTC)
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """An error at a key of the tables."""

    where: Key
    error: UserError


def read(resources: Resources, platform: str, tables: Mapping[str, Any]) -> tuple[list[Entry], list[Fault]]:
    """The values of the tables, and all errors in them. Blocking."""
    reader = _Reader(resources, platform)
    reader.read(tables)
    return reader.entries, reader.faults


def configured(resources: Resources) -> dict[str, list[SettingRow]]:
    """The settings of each space in config.toml, by its id. Blocking. Raises UserError for the first error."""
    rows = dict[str, list[SettingRow]]()
    for name, entries, faults in _spaces(resources):
        if faults:
            raise faults[0]
        space = name.partition(":")[2]
        rows[space] = [entry.row(space) for entry in entries]
    return rows


def examine(config: Config) -> Iterator[tuple[str, int, list[UserError]]]:
    """For the doctor: each space of config.toml, how many values it sets, and all errors in them."""
    from bot.speech.speech import Speech

    resources = cast("Resources", _ForChecks(config, Speech(config)))
    for name, entries, faults in _spaces(resources):
        yield name, len(entries), faults


@dataclass(frozen=True, slots=True)
class _ForChecks:
    """The parts of `Resources` that checks of values (`Setting.check`) read. It opens no database."""

    config: Config
    speech: Speech


def _spaces(resources: Resources) -> Iterator[tuple[str, list[Entry], list[UserError]]]:
    """Each space of config.toml by its name there, its values, and its mistakes with their lines."""
    config = resources.config
    text = config.file.read_text(encoding="utf-8-sig") if config.spaces and config.file is not None else ""
    for name, tables in config.spaces.items():
        entries, faults = read(resources, name.partition(":")[0], tables)
        yield (
            name,
            entries,
            [
                UserError(
                    "config.space",
                    file=config.file,
                    line=line_of(text, ("spaces", name, *fault.where)),
                    reason=fault.error,
                )
                for fault in faults
            ],
        )


@dataclass(slots=True)
class _Reader:
    """Checks the tables of one space, and collects the values to store and the errors."""

    resources: Resources
    platform: str
    entries: list[Entry] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def read(self, tables: Mapping[str, Any]) -> None:
        for name in tables:
            if name not in TABLES:
                self._report((name,), UserError("space_file.unknown", name=name, known=", ".join(TABLES)))
        self._settings((EVERYONE,), tables.get(EVERYONE, {}), "space", "")
        scopes: tuple[Scope, Scope] = ("channel", "category")
        for scope in scopes:
            owners = tables.get(OF_SCOPE[scope], {})
            if not isinstance(owners, dict):
                self._report((OF_SCOPE[scope],), UserError("space_file.table", name=OF_SCOPE[scope]))
                continue
            for id, values in owners.items():
                self._settings((OF_SCOPE[scope], id), values, scope, id)
        for name, parse, most in (
            (ACCESS, self._rule, access.MOST),
            (BUDGETS, self._budget, admin_budgets.MOST),
        ):
            rows = tables.get(name, [])
            if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
                self._report((name,), UserError("space_file.list", name=name))
                continue
            if len(rows) > most:
                self._report((name,), UserError("space_file.many", name=name, limit=most))
            for n, row in enumerate(rows):
                try:
                    self._add(parse((name, n), row))
                except UserError as error:
                    self._report((name, n), error)

    def _report(self, where: Key, error: UserError) -> None:
        self.faults.append(Fault(where, error))

    def _add(self, entry: Entry) -> None:
        if any(
            (entry.scope, entry.of, entry.name) == (other.scope, other.of, other.name)
            for other in self.entries
        ):
            raise UserError("space_file.twice")
        self.entries.append(entry)

    def _settings(self, where: Key, values: object, scope: Scope, of: str) -> None:
        if not isinstance(values, dict):
            self._report(where, UserError("space_file.table", name=str(where[-1])))
            return
        called = str(values.get(CALLED, "")) if scope != "space" else ""
        kind = cast("Kind", scope if scope != "space" else "")
        for name, value in _flattened(values).items():
            if called and name == CALLED:
                continue
            key = (*where, *name.split(".")) if name not in values else (*where, name)
            try:
                checked = self._checked(name, value, scope)
                self._add(Entry(scope, of, name, checked, key, kind, of, called))
            except UserError as error:
                self._report(key, error)
            except ValueError:
                self._report(key, UserError("space_file.value", name=name))

    def _checked(self, name: str, value: object, scope: Scope) -> str:
        """Check a value; returns the one to store. Raises UserError or ValueError."""
        setting = SETTINGS.get(name)
        if setting is None:
            raise UserError("settings.unknown", name=name[:60], names=", ".join(SETTINGS))
        if setting.platforms and self.platform not in setting.platforms:
            platforms = ", ".join(setting.platforms).capitalize()
            raise UserError("settings.elsewhere", name=name, platforms=platforms)
        if scope not in setting.scopes:
            tables = [f"`{OF_SCOPE[of]}`" for of in setting.scopes if of in OF_SCOPE]
            raise UserError("space_file.scope", name=name, tables=", ".join(tables) or "–")
        typed = _as_typed(name, value)
        checked = setting.checked(self.resources, typed, scope)
        check_listening(self.resources.config, self.platform, name, checked)
        return checked

    def _rule(self, where: Key, row: dict[str, Any]) -> Entry:
        _check_keys(row, _RULE)
        what, allows = row.get("what"), row.get("allow")
        if what not in RULED:
            raise UserError("settings.choices", name="what", value=str(what)[:80], choices=", ".join(RULED))
        if not isinstance(allows, bool):
            raise UserError("space_file.truth", name="allow")
        kind, of = _one_of(row, ("person", "group"))
        whose = cast("Whose", kind or "everyone")
        name = _name(row)
        setting = access.setting_of(what, whose, of)
        return Entry("space", "", setting, access.value_of(allows, name), where, kind, of, name)

    def _budget(self, where: Key, row: dict[str, Any]) -> Entry:
        _check_keys(row, _BUDGET)
        amount, unit = amount_of(str(row.get("amount", "")))
        per = row.get("per", PERIODS[0])
        if per not in PERIODS:
            raise UserError("settings.choices", name="per", value=str(per)[:80], choices=", ".join(PERIODS))
        kind, of = _one_of(row, ("person", "group", "channel"))
        whose = row.get("whose", "space")
        if whose not in ("space", "each") or (kind and "whose" in row):
            raise UserError("space_file.whose")
        holder, name = cast("Holder", kind or whose), _name(row)
        setting = admin_budgets.setting_of(holder, of, cast("Per", per), unit)
        return Entry("space", "", setting, f"{amount} {name}".strip(), where, kind, of, name)


def _flattened(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values by flat keys such as `model.answerer`, which TOML reads as a table `model`."""
    flat = dict[str, Any]()
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{rest}": inner for rest, inner in _flattened(value).items()}
        else:
            flat[name] = value
    return flat


def _as_typed(name: str, value: object) -> str:
    """The value as a person would type it."""
    if isinstance(value, bool):
        return ON if value else OFF
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        value = ", ".join(value)
    if not isinstance(value, str | int) or not str(value).strip():
        raise UserError("space_file.value", name=name)
    return str(value).strip()


def _check_keys(row: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in row:
        if name not in names:
            raise UserError("space_file.unknown", name=name[:60], known=", ".join(names))


def _one_of(row: Mapping[str, Any], kinds: Sequence[str]) -> tuple[Kind, str]:
    """Which of these kinds the row names, and its id; ("", "") for none."""
    named_kinds = [kind for kind in kinds if kind in row]
    if len(named_kinds) > 1:
        raise UserError("space_file.one", names=", ".join(named_kinds))
    if not named_kinds:
        return "", ""
    id = row[named_kinds[0]]
    if not isinstance(id, str) or not id.strip():
        raise UserError("space_file.id", name=named_kinds[0])
    return cast("Kind", named_kinds[0]), id.strip()


def _name(row: Mapping[str, Any]) -> str:
    return " ".join(str(row.get("name", "")).split())[:NAME_CHARS]


def tables(rows: Sequence[SettingRow], names: Mapping[str, str]) -> dict[str, Any]:
    """The tables of these rows; `names` are those of channels and categories by their ids. Rows of people and
    threads, and settings that this release does not know, are left out."""
    result: dict[str, Any] = {name: [] if name in (ACCESS, BUDGETS) else {} for name in TABLES}
    for row in sorted(rows, key=lambda row: (row.scope, row.of, row.name)):
        if row.scope not in OF_SCOPE:
            continue
        if (rule := rule_of(row)) is not None:
            whose: Mapping[str, str] = {rule.whose: rule.of} if rule.of else {}
            result[ACCESS].append(
                {"what": rule.what, **whose, **_name_entry(rule.name), "allow": rule.allows}
            )
        elif (budget := budget_of(row)) is not None:
            amount = {"amount": f"{budget.amount} {budget.unit}", "per": str(budget.per)}
            amount[budget.holder if budget.of else "whose"] = budget.of or budget.holder
            result[BUDGETS].append(amount | _name_entry(budget.name))
        elif (setting := SETTINGS.get(row.name)) is not None:
            table = result[OF_SCOPE[row.scope]]
            if row.scope != "space":
                name = names.get(row.of, "")
                table = table.setdefault(row.of, {CALLED: name} if name else {})
            table[row.name] = setting.shown(row.value)
    return {name: table for name, table in result.items() if table}


def _name_entry(name: str) -> dict[str, str]:
    """The entry with a rule's or a budget's name; {} for an empty name."""
    return {"name": name} if name else {}


def toml(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> str:
    """The table as TOML: strings, booleans, tables and lists of tables."""
    lines = [
        f"{_key(name)} = {_value(value)}"
        for name, value in table.items()
        if not isinstance(value, dict | list)
    ]
    parts = ["\n".join(lines)] if lines else []
    for name, value in table.items():
        header = ".".join(map(_key, (*path, name)))
        if isinstance(value, dict):
            inner = toml(value, (*path, name))
            # A table that contains only tables needs no header.
            only_tables = value and all(isinstance(part, dict) for part in value.values())
            parts.append(inner if only_tables else f"[{header}]\n{inner}".rstrip())
        elif isinstance(value, list):
            parts += [f"[[{header}]]\n{toml(row)}" for row in value]
    return "\n\n".join(parts)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
