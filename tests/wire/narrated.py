"""The driver of a bot that reads everything aloud; on Discord, Ana listens in a voice channel of each table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.settings import NARRATE, ON
from storage.db import Database
from storage.readings import Readings
from storage.settings import SettingsStore
from tests.fakes.discord.voice_heard import Listener


def spaces(d: Any) -> list[str]:
    if hasattr(d, "discord"):
        return [str(guild.id) for guild in d.discord.world.guilds.values()]
    return [team.id for team in d.slack.world.teams.values()] if hasattr(d, "slack") else ["local"]


def narrated(kind: type[Any]) -> type[Any]:
    class Narrated(kind):  # type: ignore[misc]
        listener: Listener | None = None

        async def furnish(self, data: Path) -> None:
            await super().furnish(data)
            database = await Database.open(f"sqlite+aiosqlite:///{data / 'sutradhar.db'}")
            try:
                for space in spaces(self):
                    await SettingsStore(database).set(space, NARRATE, ON, "")
                for guild in [*self.discord.world.guilds.values()][::2] if hasattr(self, "discord") else ():
                    channel = guild.voice("Table talk")
                    await Readings(database).note_joined(str(guild.id), "discord", str(channel.id))
            finally:
                await database.close()

        async def sit(self) -> None:
            await super().sit()
            if hasattr(self, "discord"):
                self.listener = self.voice()

        def check(self) -> None:
            super().check()
            assert self.listener is None or self.listener.undecryptable == []

    return Narrated
