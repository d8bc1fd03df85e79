"""All data of a space that the bot has left is deleted after a while, and no other space's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bot.config import load
from bot.resources import Resources
from bot.retention import KeptDays
from bot.retrieval.intake import Item
from storage.db import Database
from storage.departures import Departures
from storage.inbox import Inbox, NewRequest
from storage.tables import metadata
from tests.fakes import migrated

NOW = datetime(2026, 6, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=40)


def request(id: str, space: str, at: datetime) -> NewRequest:
    return NewRequest(id, "discord", space, "c", "t", "ana", "rules", "ask", True, "{}", created_at=at)


async def rows(db: Database, space: str) -> dict[str, int]:
    """How many rows of the space there are, by table."""
    counts: dict[str, int] = {}
    for table in metadata.sorted_tables:
        if "space" in table.c:
            found = len(
                await db.column(table.select().with_only_columns(table.c.space).where(table.c.space == space))
            )
            counts |= {table.name: found} if found else {}
    return counts


async def no_document(space: str, *document_ids: str) -> None:
    raise AssertionError("these spaces have none")


async def nothing(*runs: str) -> None:
    return


def config(folder: Path) -> Any:
    file = folder / "config.toml"
    file.write_text('[embedding]\nmodel = "none"\n', encoding="utf-8")
    return load(file, migrated.folder(folder / "data"), environ={})


async def test_all_data_of_the_space_is_deleted_and_other_spaces_keep_theirs(tmp_path: Path) -> None:
    resources = await Resources.open(config(tmp_path))
    try:
        db, forgotten = resources.records.database, list[str]()
        book = tmp_path / "book.md"
        book.write_text("# Light\n\nA candle burns four hours.\n", encoding="utf-8")
        for space in ("gone", "stays"):
            await Inbox(db).receive([request(f"run-{space}", space, OLD)])
            item = Item("book.md", str(book))
            assert (
                await resources.intake.take(space, "rules", item, f"run-{space}", replace=False)
            ).key == ""
            await resources.settings.store.set(space, "language", "en", "ana")
        kept, departures = await rows(db, "stays"), Departures(db)
        await departures.note_departure("gone", OLD + timedelta(hours=1))

        async def forget(*runs: str) -> None:
            forgotten.extend(runs)

        days = KeptDays(db, 0, forget, grace_days=30, delete_documents=resources.intake.remove)
        assert await days.delete_left(NOW - timedelta(days=20)) == []
        assert await days.delete_left(NOW) == ["gone"]
        assert await rows(db, "gone") == {}
        assert await rows(db, "stays") == kept
        assert forgotten == ["run-gone"]
        originals = list((resources.config.data_dir / "originals").iterdir())
        assert len(originals) == 1, "the other space's"
        assert await days.delete_left(NOW) == []
    finally:
        await resources.close()


async def test_a_space_that_invited_the_bot_again_keeps_everything(db: Database) -> None:
    departures = Departures(db)
    for space in ("invited", "used", "left"):
        await Inbox(db).receive([request(f"run-{space}", space, OLD)])
        await departures.note_departure(space, OLD)
    await departures.note_departure("left", NOW)  # noted twice: the first time counts
    await departures.note_return("invited")
    await Inbox(db).receive([request("run-later", "used", OLD + timedelta(days=1))])
    days = KeptDays(db, 0, nothing, grace_days=30, delete_documents=no_document)
    assert await days.delete_left(NOW) == ["left"]
    assert await rows(db, "used") == {"inbox": 2}
    assert await rows(db, "invited") == {"inbox": 1}
    assert await departures.departed_before(NOW) == []
