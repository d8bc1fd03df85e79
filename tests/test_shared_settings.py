"""Settings when other processes write to the same database: one query per run, and none is stale."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import bot.settings
from bot.config import Config
from bot.events import Place
from bot.settings import LANGUAGE, Settings
from storage.db import Database
from storage.settings import SettingRow, SettingsStore

PLACE = Place("slack", "space", "channel", "thread")


class CountedStore(SettingsStore):
    reads = 0

    async def named(self, space: str, names: Sequence[str], prefixes: Sequence[str] = ()) -> list[SettingRow]:
        self.reads += 1
        return await super().named(space, names, prefixes)


async def test_a_run_reads_settings_once_and_a_later_run_sees_other_processes_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot.settings, "SHARED_S", 60.0)
    db = await Database.open(f"sqlite+aiosqlite:///{tmp_path / 'sutradhar.db'}")
    store = CountedStore(db)
    settings, elsewhere = Settings(store, Config(tmp_path, tmp_path), alone=False), SettingsStore(db)
    for _ in range(20):
        assert await settings.locale(PLACE, "ana", "en") == "en"
    assert store.reads == 1
    await elsewhere.set("space", LANGUAGE, "pt-BR", "bia")
    monkeypatch.setattr(bot.settings, "SHARED_S", 0.0)
    assert await settings.locale(PLACE, "ana", "en") == "pt-BR"
    assert store.reads == 2
    monkeypatch.setattr(bot.settings, "SHARED_S", 60.0)
    await settings.reset(PLACE, "bia", LANGUAGE, "space")
    assert await settings.locale(PLACE, "ana", "en") == "en", "its own changes at once"
    await db.close()
