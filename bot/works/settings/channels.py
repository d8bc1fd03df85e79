"""`settings channels`: the permissions and settings of each channel, in one table, with a button for each setting."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING

from bot.commands import SETTINGS
from bot.events import Choice, Choices, Event, Place, Request, Stage, Text
from bot.markdown import code, one_line, table_row
from bot.names import Names
from bot.settings import LANGUAGE, MODEL, ROLES
from bot.words import Words, words
from bot.work import Run

if TYPE_CHECKING:
    from bot.kind import Setting
    from bot.resources import Resources
    from storage.settings import SettingRow

OF_CHANNELS = tuple(
    name
    for name, setting in SETTINGS.items()
    if "category" in setting.scopes and "person" not in setting.scopes and not setting.platforms
)
"""The settings that have buttons."""
SHOWN = (*OF_CHANNELS, LANGUAGE, *(MODEL + role for role in ROLES))
"""The settings of the table, in its order."""
ROWS = 60
"""The maximum number of rows in the table: the rest is counted."""


class ChannelTable:
    """The verb "channels"."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._settings = resources.settings
        self._names = Names(resources)

    async def run(self, run: Run) -> AsyncGenerator[Event, None]:
        """Show this channel's settings, what others have set, and buttons that change this channel's settings."""
        request, say = run.request, words(run.request.locale)
        here = await run.step("here", lambda: self._here(request, say), str)
        elsewhere = await run.step("elsewhere", lambda: self._elsewhere(request, say), str)
        yield Stage("channels", say("channels.title"))
        yield Text("\n".join([say("channels.here"), "", here]))
        if elsewhere:
            yield Text("\n\n" + "\n".join([say("channels.elsewhere"), "", elsewhere]))
        yield Text("\n\n" + say("channels.how"))
        if request.author.admin:
            values = await run.step("values", lambda: self._values(request, say), dict[str, str])
            yield Choices(say("channels.change"), tuple(_button(name, values, say) for name in OF_CHANNELS))

    async def _here(self, request: Request, say: Words) -> str:
        lines = [say("channels.header_here"), "|---|---|---|"]
        for setting in _table_settings():
            rows = await self._settings.nearest(request.place, "", setting.name)
            if rows:
                value, whose = setting.shown(rows[0].value), say(f"settings.for_{rows[0].scope}")
            elif setting.name in OF_CHANNELS and setting.default is not None:
                value, whose = setting.default(self._resources), say("channels.default")
            else:
                continue
            lines.append(table_row(f"`{setting.name}`", one_line(setting.in_words(value, say)) or "–", whose))
        return "\n".join(lines)

    async def _elsewhere(self, request: Request, say: Words) -> str:
        """What other channels, categories and the whole space have set, "" for nothing."""
        place, names = request.place, dict[str, str]()
        here = {place.channel, self._settings.owner("category", place, "")} - {""}
        order = {setting.name: at for at, setting in enumerate(_table_settings())}
        rows = [
            row
            for row in await self._settings.of_channels(place.space, SHOWN)
            if row.name in order and row.of not in here
        ]
        rows.sort(key=lambda row: (not row.of, row.of, order[row.name]))
        if not rows:
            return ""
        lines = [say("channels.header"), "|---|---|---|"]
        for row in rows[:ROWS]:
            if row.of not in names:
                names[row.of] = await self._name(place, row, say)
            setting = SETTINGS[row.name]
            value = setting.in_words(setting.shown(row.value), say)
            if row.scope == "config":
                value = f"{value} ({say('settings.for_config')})"
            lines.append(table_row(names[row.of], f"`{row.name}`", one_line(value)))
        if len(rows) > ROWS:
            lines += ["", say("channels.more", n=len(rows) - ROWS)]
        return "\n".join(lines)

    async def _name(self, place: Place, row: SettingRow, say: Words) -> str:
        """The name of a channel or a category for people; its id if the platform does not give one."""
        if not row.of:
            return say("settings.for_space")
        return code(await self._names.channel(place, row.of) or row.of)

    async def _values(self, request: Request, say: Words) -> dict[str, str]:
        """The initial values of the buttons' windows: those that apply in the channel."""
        values = dict[str, str]()
        for name in OF_CHANNELS:
            rows = await self._settings.nearest(request.place, "", name)
            setting = SETTINGS[name]
            default = setting.default(self._resources) if setting.default is not None else ""
            values[name] = setting.in_words(setting.shown(rows[0].value) if rows else default, say)
        return values


def _table_settings() -> Sequence[Setting]:
    return [SETTINGS[name] for name in SHOWN]


def _button(name: str, values: dict[str, str], say: Words) -> Choice:
    return Choice(
        name, f"/settings set {name} --for channel", say("channels.asks", name=name), filled=values[name]
    )
