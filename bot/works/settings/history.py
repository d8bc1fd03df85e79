"""`settings history`: who changed the shared values of a space, and when."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from bot.access import ALLOW, rule_of
from bot.admin_budgets import budget_of
from bot.events import Event, Place, Request, Stage, Text
from bot.kind import value_in
from bot.markdown import code, one_line, table_row
from bot.names import Names
from bot.settings import ACCESS, BUDGETS
from bot.words import Words, words
from bot.work import Run
from bot.works.rules import house_rules
from storage.settings import SettingRow

if TYPE_CHECKING:
    from bot.resources import Resources
    from storage.settings import SettingChange

SHOWN = 40
"""How many changes are shown: the newest."""


class History:
    """The verb "history"."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._names = Names(resources)

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show the newest changes, in a table."""
        request, say = run.request, words(run.request.locale)
        text = await run.step("history", lambda: self._table(request, say), str)
        yield Stage("history", say("history.title"))
        yield Text(text)

    async def _table(self, request: Request, say: Words) -> str:
        settings, place = self._resources.settings, request.place
        changes = await settings.store.changes(place.space, SHOWN)
        if not changes:
            return say("history.none")
        zone, names = await settings.zone(request), dict[str, str]()
        lines = [say("history.header"), "|---|---|---|---|---|"]
        for change in changes:
            if change.author_id not in names:
                names[change.author_id] = await self._names.person(place, change.author_id)
            lines.append(
                table_row(
                    f"{change.changed_at.astimezone(zone):%Y-%m-%d %H:%M}",
                    names[change.author_id] or say("settings.somebody"),
                    await self._where(place, change, say),
                    *_what(change, say),
                )
            )
        return "\n".join(lines)

    async def _where(self, place: Place, change: SettingChange, say: Words) -> str:
        if change.scope == "space":
            return say("settings.for_space")
        return code(await self._names.channel(place, change.of) or change.of)


def _what(change: SettingChange, say: Words) -> tuple[str, str]:
    """The setting that was changed and its new value, in people's words; `code` for what they type."""
    from bot.commands import SETTINGS

    name, removed = change.name, change.value is None
    subject, value = code(name), code(one_line(change.value or ""))
    empty = ALLOW if name.startswith(ACCESS) else "0"
    row = SettingRow(
        change.space,
        change.scope,
        change.of,
        name,
        change.value or empty,
        change.author_id,
        change.changed_at,
    )
    if name.startswith(ACCESS) and (rule := rule_of(row)):
        whom = (
            say(f"access.named_{rule.whose}", name=code(rule.name or rule.of))
            if rule.of
            else say("access.everyone")
        )
        subject = say("history.access", what=code(value_in(say, rule.what)), whom=whom)
        value = say("history.allowed" if rule.allows else "history.denied")
    elif name.startswith(BUDGETS) and (budget := budget_of(row)):
        whose = say(f"budgets.of_{budget.holder}", name=code(budget.name or budget.of))
        subject = say("history.budget", whose=whose, per=say(f"budgets.a_{budget.per}"))
        value = budget.shown(say)
    elif name.startswith(house_rules.PREFIX):
        subject = say("history.house_rule", n=name.removeprefix(house_rules.PREFIX))
    elif name in SETTINGS and not removed:
        setting = SETTINGS[name]
        value = code(one_line(setting.in_words(setting.shown(change.value or ""), say)))
    return subject, say("history.reset") if removed else value
