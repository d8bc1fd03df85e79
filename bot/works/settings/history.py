"""`settings history`: who changed the shared values of a space, and when."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from bot.events import Event, Place, Request, Stage, Text
from bot.markdown import code, table_row
from bot.names import Names
from bot.words import Words, words
from bot.work import Run

if TYPE_CHECKING:
    from bot.resources import Resources
    from storage.settings import SettingChange

SHOWN = 40
"""How many changes are shown: the newest."""
CELL_CHARS = 60


class History:
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
                    code(change.name),
                    say("history.reset") if change.value is None else code(_short(change.value)),
                )
            )
        return "\n".join(lines)

    async def _where(self, place: Place, change: SettingChange, say: Words) -> str:
        if change.scope == "space":
            return say("settings.for_space")
        return code(await self._names.channel(place, change.of) or change.of)


def _short(value: str) -> str:
    line = " ".join(value.split())
    return line if len(line) <= CELL_CHARS else line[: CELL_CHARS - 1].rstrip() + "…"
