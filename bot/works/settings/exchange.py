"""`settings export` and `settings import`: a space's settings, rules, budgets and house rules as one file.

An import changes only what the file names. It first shows what would change.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from bot import access, admin_budgets, space_file
from bot.access import rule_of
from bot.admin_budgets import budget_of
from bot.command_line import escaped
from bot.commands import SETTINGS
from bot.config.text import line_of
from bot.events import Attachment, Choice, Choices, Event, File, Place, Request, Stage, Text, UserError
from bot.markdown import code, one_line, table_row
from bot.names import Names
from bot.readers.decode import decode
from bot.settings import ACCESS, BUDGETS
from bot.space_file import Entry, Fault
from bot.words import Words, words
from bot.work import Run
from bot.works.library.files import named_paths
from bot.works.rules import house_rules
from bot.works.settings.subject import subject_name
from storage.settings import SHARED, SettingRow

if TYPE_CHECKING:
    from bot.resources import Resources

FILE: Final = "sutradhar-settings.toml"
KINDS: Final = (".toml",)
FILE_BYTES: Final = 500_000
FAULTS: Final = 20
"""The maximum number of errors in a file that are listed."""
ROWS: Final = 60
"""The maximum number of rows in the table of changes: the rest is counted."""
OFFER: Final = "import"
"""The kind of the storage's offers that hold a file until somebody presses the button."""
HOUSE: Final = "house_rules"
"""The table of house rules, by their numbers."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The effect of an import: with any `faults`, which are sentences, it does nothing.

    `skipped` are sentences about people, channels and groups that the space does not have; `changes` the cells of a
    table; `same` counts values that are already set.
    """

    faults: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    changes: list[list[str]] = field(default_factory=list)
    same: int = 0


class Exchange:
    """The verbs "export" and "import"."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._settings = resources.settings
        self._names = Names(resources)

    async def export_file(self, run: Run) -> AsyncGenerator[Event, None]:
        """Carry out `settings export`."""
        request, say = run.request, words(run.request.locale)
        place = request.place
        rows, configured = await self._rows(place.space), self._settings.configured.get(place.space, ())
        ids = {row.of for row in (*rows, *configured) if row.of}
        names = {id: await self._names.channel(place, id) for id in sorted(ids)}
        tables = space_file.tables(rows, names)
        numbered = sorted(
            (int(row.name.removeprefix(house_rules.PREFIX)), row.value) for row in _house_rows(rows)
        )
        if house := {str(number): text for number, text in numbered if text}:
            tables[HOUSE] = house
        yield Stage("export", say("exchange.export"))
        if not tables and not configured:
            yield Text(say("exchange.nothing"))
            return
        head = say("exchange.head", platform=place.platform, space=place.space)
        parts = [f"# {head}", space_file.toml(tables)]
        if configured:
            lines = space_file.toml(space_file.tables(configured, names)).split("\n")
            parts.append("\n".join(f"# {line}".rstrip() for line in (say("exchange.configured"), "", *lines)))
        yield Text(say("exchange.exported", file=FILE))
        yield Attachment(FILE, "application/toml", ("\n\n".join(filter(None, parts)) + "\n").encode())

    async def import_file(self, run: Run) -> AsyncGenerator[Event, None]:
        """Carry out `settings import`. Raises UserError if there is no readable file."""
        request, say = run.request, words(run.request.locale)
        text = await self._text(run)
        plan = await run.step("plan", lambda: self._plan(request, text, say), Plan)
        yield Stage("import", say("exchange.import"))
        if plan.faults:
            yield Text("\n".join([say("exchange.wrong"), "", *(f"- {fault}" for fault in plan.faults)]))
            return
        parts = ["\n".join(f"- {sentence}" for sentence in plan.skipped)]
        if plan.changes:
            rows = [table_row(*cells) for cells in plan.changes[:ROWS]]
            parts.append("\n".join([say("exchange.header"), "|---|---|---|---|", *rows]))
        if (more := len(plan.changes) - ROWS) > 0:
            parts.append(say("exchange.more", n=more))
        if plan.same:
            parts.append(say("exchange.same", n=plan.same))
        if not plan.changes:
            yield Text("\n\n".join(filter(None, [*parts, say("exchange.no_change")])))
        elif request.options.get("yes"):
            await run.step("apply", lambda: self._apply(request, text), int)
            yield Text("\n\n".join(filter(None, [say("exchange.done", n=len(plan.changes)), *parts])))
        else:
            offers = self._resources.records.offers
            await offers.keep(request.place.space, run.id, OFFER, [text], author_id=request.author.id)
            yield Text("\n\n".join(filter(None, parts)))
            # On a platform with paths, people type the line themselves.
            paths = " ".join(map(escaped, named_paths(request)))
            line = f"/settings import {paths} --yes" if paths else "/settings import --yes"
            apply = Choice(say("exchange.apply"), line)
            yield Choices(
                say("exchange.sure"), (apply, Choice(say("exchange.leave"), "")), only=request.author.id
            )

    async def _text(self, run: Run) -> str:
        """The file's text; for a press, that of the run that offered it."""
        request = run.request
        typed = [File(PurePath(path).name, path, 0) for path in named_paths(request)]
        files = [*request.files, *typed]
        if not files and request.answers:
            offers, space = self._resources.records.offers, request.place.space
            text = await offers.get(space, request.answers, OFFER, 0)
            if text is None:
                raise UserError("exchange.gone")
            return text
        if len(files) != 1:
            raise UserError("exchange.no_file")
        brought, refused = await self._resources.incoming.bring(run, KINDS, FILE_BYTES, files=files)
        if refused:
            raise refused[0].error
        data = await self._resources.incoming.read(brought[0].path, FILE_BYTES)
        return await asyncio.to_thread(decode, brought[0].name, data)

    async def _rows(self, space: str) -> list[SettingRow]:
        """Everything that is shared in the space."""
        return [row for row in await self._settings.store.with_prefix(space, "") if row.scope in SHARED]

    async def _plan(self, request: Request, text: str, say: Words) -> Plan:
        place = request.place
        entries, faults = await asyncio.to_thread(_read, self._resources, place.platform, text)
        rows = await self._rows(place.space)
        stored = {(row.scope, row.of, row.name): row for row in rows}
        faults += _too_many(rows, entries)
        if faults:
            sentences = await asyncio.to_thread(_sentences, faults, text, say)
            return Plan(faults=sentences)
        existing, missing = await self._existing(place, entries)
        changes, same = list[list[str]](), 0
        for entry in existing:
            stored_row, row = stored.get((entry.scope, entry.of, entry.name)), entry.row(place.space)
            if stored_row is not None and stored_row.value == entry.value:
                same += 1
                continue
            where, what = await self._where(place, entry, say)
            old_value = _cell(stored_row, say) if stored_row is not None else ""
            changes.append([where, what, old_value or "–", _cell(row, say)])
        skipped = [
            say(f"exchange.no_{kind}", id=code(id), name=f" ({code(name)})" if name else "")
            for kind, id, name in dict.fromkeys((entry.kind, entry.id, entry.called) for entry in missing)
        ]
        return Plan(skipped=skipped, changes=changes, same=same)

    async def _existing(self, place: Place, entries: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
        """The entries about people, channels and groups that exist in the space, and the others."""
        platform = self._resources.platforms.get(place.platform)
        knows = platform.knows if platform is not None else None
        if knows is None:  # a platform whose ids are names
            return list(entries), []
        ids = {(str(entry.kind), entry.id) for entry in entries if entry.kind}
        missing = {(kind, id) for kind, id in sorted(ids) if not await knows(place, kind, id)}
        return (
            [entry for entry in entries if (entry.kind, entry.id) not in missing],
            [entry for entry in entries if (entry.kind, entry.id) in missing],
        )

    async def _where(self, place: Place, entry: Entry, say: Words) -> tuple[str, str]:
        """The owner of a value, and its name, for a table."""
        row, name = entry.row(place.space), code(entry.called or entry.id)
        if (rule := rule_of(row)) is not None:
            return subject_name(rule.whose, name, say), code(f"access {rule.what}")
        if (budget := budget_of(row)) is not None:
            return say(f"budgets.of_{budget.holder}", name=name), code(
                f"budget {say(f'budgets.a_{budget.per}')}"
            )
        if entry.scope == "space":
            return say("settings.for_space"), code(entry.name.replace(house_rules.PREFIX, f"{HOUSE} "))
        return code(await self._names.channel(place, entry.of) or entry.called or entry.of), code(entry.name)

    async def _apply(self, request: Request, text: str) -> int:
        place = request.place
        entries, _ = await asyncio.to_thread(_read, self._resources, place.platform, text)
        existing, _ = await self._existing(place, entries)
        stored = {(row.scope, row.of, row.name): row.value for row in await self._rows(place.space)}
        values = {
            key: entry.value
            for entry in existing
            if stored.get(key := (entry.scope, entry.of, entry.name)) != entry.value
        }
        await self._settings.write(place.space, request.author.id, values)
        return len(values)


def _house_rows(rows: Sequence[SettingRow]) -> list[SettingRow]:
    return [row for row in rows if row.name.startswith(house_rules.PREFIX)]


def _read(resources: Resources, platform: str, text: str) -> tuple[list[Entry], list[Fault]]:
    """The values of the file, and all of its errors. Raises UserError if it is not TOML."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError("exchange.syntax", reason=str(error)) from error
    house: Any = tables.pop(HOUSE, {})
    entries, faults = space_file.read(resources, platform, tables)
    if not isinstance(house, dict):
        return entries, [*faults, Fault((HOUSE,), UserError("space_file.table", name=HOUSE))]
    for number, rule in house.items():
        try:
            entries.append(_house_rule(number, rule))
        except UserError as error:
            faults.append(Fault((HOUSE, number), error))
    return entries, faults


def _house_rule(number: str, rule: object) -> Entry:
    if not (number.isascii() and number.isdigit() and 0 < int(number) < 10_000):
        raise UserError("exchange.number", number=number[:20])
    if not isinstance(rule, str):
        raise UserError("space_file.value", name=number)
    name = f"{house_rules.PREFIX}{int(number)}"
    return Entry("space", "", name, house_rules.checked(rule), (HOUSE, number))


def _too_many(rows: Sequence[SettingRow], entries: Sequence[Entry]) -> list[Fault]:
    """Errors if the space would have more rules or budgets than allowed."""
    faults = []
    for prefix, table, most in (
        (ACCESS, space_file.ACCESS, access.MOST),
        (BUDGETS, space_file.BUDGETS, admin_budgets.MOST),
        (house_rules.PREFIX, HOUSE, house_rules.MOST),
    ):
        names = {row.name for row in rows if row.name.startswith(prefix) and row.value}
        names |= {entry.name for entry in entries if entry.name.startswith(prefix)}
        if len(names) > most:
            faults.append(Fault((table,), UserError("space_file.many", name=table, limit=most)))
    return faults


def _sentences(faults: Sequence[Fault], text: str, say: Words) -> list[str]:
    lines = [
        say("exchange.line", line=line_of(text, fault.where), reason=fault.error) for fault in faults[:FAULTS]
    ]
    more = len(faults) - FAULTS
    return [*lines, say("exchange.faults", n=more)] if more > 0 else lines


def _cell(row: SettingRow, say: Words) -> str:
    """A value in a cell."""
    if (rule := rule_of(row)) is not None:
        return say("access.yes" if rule.allows else "access.no")
    if (budget := budget_of(row)) is not None:
        return budget.shown(say)
    setting = SETTINGS.get(row.name)
    return code(one_line(setting.shown(row.value) if setting is not None else row.value))
