"""The settings of a person, a channel and a space exist side by side until they are reset."""

from __future__ import annotations

from datetime import UTC

from storage.db import Database
from storage.settings import SettingsStore


async def test_a_spaces_setting_holds_until_it_is_reset(db: Database) -> None:
    settings = SettingsStore(db)
    assert await settings.of_space("local", "council.") == {}
    await settings.set("local", "council.members", "p:one, p:two", "ana")
    await settings.set("local", "council.criteria", "truth", "ana")
    await settings.set("local", "council.members", "p:three", "bia")
    await settings.set("local", "councils", "another name", "ana")
    kept = await settings.of_space("local", "council.")
    assert {name: (row.name, row.value, row.author_id) for name, row in kept.items()} == {
        "criteria": ("council.criteria", "truth", "ana"),
        "members": ("council.members", "p:three", "bia"),
    }
    assert kept["members"].updated_at.tzinfo == UTC
    assert await settings.reset("local", "council.members", "bia")
    assert not await settings.reset("local", "council.members", "bia")
    assert list(await settings.of_space("local", "council.")) == ["criteria"]


async def test_settings_of_a_person_a_channel_and_a_space_are_separate(db: Database) -> None:
    settings = SettingsStore(db)
    await settings.set("local", "language", "en", "ana")
    await settings.set("local", "language", "pt-BR", "ana", "channel", "c")
    await settings.set("local", "language", "pt-BR", "bia", "person", "bia")
    await settings.set("local", "timezone", "UTC", "bia", "person", "bia")
    rows = await settings.named("local", ["language"])
    assert {(row.scope, row.of): (row.value, row.author_id) for row in rows} == {
        ("space", ""): ("en", "ana"),
        ("channel", "c"): ("pt-BR", "ana"),
        ("person", "bia"): ("pt-BR", "bia"),
    }
    assert not await settings.reset("local", "language", "ana", "person", "ana")
    assert await settings.reset("local", "language", "bia", "person", "bia")
    assert await settings.get("local", "language", "person", "bia") is None
    found = await settings.get("local", "language", "channel", "c")
    assert found is not None
    assert found.value == "pt-BR"


async def test_a_prefix_is_no_pattern(db: Database) -> None:
    settings = SettingsStore(db)
    await settings.set("local", "free_chat", "on", "ana")
    assert await settings.of_space("local", "free%") == {}
    assert list(await settings.of_space("local", "free_")) == ["chat"]


async def test_changes_of_shared_settings_are_recorded_in_their_space(db: Database) -> None:
    settings = SettingsStore(db)
    await settings.set("one", "works", "rules" * 200, "ana", "channel", "hall")
    await settings.set("one", "language", "en", "ana", "person", "ana")
    assert await settings.reset("one", "works", "bia", "channel", "hall")
    assert not await settings.reset("one", "works", "bia", "channel", "hall"), "there is nothing any more"
    changes = await settings.changes("one", 10)
    assert [(change.author_id, change.of, change.name, change.value) for change in changes] == [
        ("bia", "hall", "works", None),
        ("ana", "hall", "works", ("rules" * 200)[:500]),
    ]
    assert await settings.changes("two", 10) == []
    assert len(await settings.changes("one", 1)) == 1
