"""Data older than the set number of days is deleted in batches; costs and data still in use are kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from bot.retention import KeptDays
from storage.buttons import Votes
from storage.db import Database
from storage.inbox import Inbox, NewRequest
from storage.ledger import Ledger
from storage.outbox import Outbox
from storage.retention import BATCH
from storage.sessions import Sessions
from storage.settings import SettingsStore
from storage.tables import exchanges, inbox, ledger, offers, outbox, sessions, setting_changes

NOW = datetime(2026, 6, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=40)


def request(id: str, at: datetime = OLD, **other: Any) -> NewRequest:
    values = {"author_id": "ana", "work": "rules", "verb": "ask", "ordered": True, "payload": "{}", **other}
    return NewRequest(id, "discord", "s", "c", "t", created_at=at, **values)


async def spend(db: Database, run: str, at: datetime, author: str, tokens: int, cost: Decimal | None) -> None:
    entries = Ledger(db)
    entry = await entries.reserve("s", run, "answer", author, "m", 10, cost)
    await entries.settle("s", entry, input_tokens=tokens, output_tokens=1, cost_usd=cost)
    await db.run(ledger.update().where(ledger.c.id == entry).values(created_at=at))


async def no_document(space: str, *document_ids: str) -> None:
    raise AssertionError("no space was left")


class Engine:
    """Records what it was told to forget."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    async def forget(self, *runs: str) -> None:
        self.forgotten += runs


async def ids(db: Database) -> list[str]:
    return await db.column(inbox.select().with_only_columns(inbox.c.id).order_by(inbox.c.seq))


async def test_old_runs_are_deleted_and_their_costs_kept(db: Database) -> None:
    arrived, shown, spent, engine = Inbox(db), Outbox(db), Ledger(db), Engine()
    many = [f"run-{n}" for n in range(2 * BATCH + 1)]
    await arrived.receive([request(id) for id in many])
    await arrived.receive([request("new", NOW), request("going"), request("child", parent="going")])
    await arrived.receive([request("voted"), request("said", work="council")])
    await arrived.set_states(dict.fromkeys((*many, "new", "child", "voted", "said"), "done"))
    await arrived.set_states({"going": "running"})
    await Votes(db).give("s", "voted", 1, "ana", 2)
    for run in ("run-0", "new"):
        await shown.claim("s", run, "answer")
        await db.run(
            offers.insert().values(
                space="s", run_id=run, kind="k", n=1, item="{}", created_at=OLD, author_id=""
            )
        )
    for author, tokens, cost in (("ana", 5, Decimal("0.25")), ("ana", 7, Decimal("0.5")), ("ana", 9, None)):
        await spend(db, "run-0", OLD, author, tokens, cost)
    await spend(db, "said", OLD, "ana", 11, Decimal(0))
    await spend(db, "said", OLD, "ana", 13, Decimal(1))
    await spend(db, "new", NOW, "bia", 17, Decimal(2))
    since = NOW - timedelta(days=60)

    async def sums() -> list[Any]:
        shares = sorted(
            (share.author_id, share.work, share.totals) for share in await spent.shares("s", since)
        )
        return [await spent.totals("s", since), shares, await spent.spent("s", since)]

    before = await sums()
    assert await KeptDays(db, 30, engine.forget, delete_documents=no_document).round(NOW) == len(many) + 1
    assert await ids(db) == ["new", "going", "child", "voted"]
    assert engine.forgotten == [*many, "said"]
    assert await sums() == before
    assert await db.column(outbox.select().with_only_columns(outbox.c.run_id)) == ["new"]
    assert await db.column(offers.select().with_only_columns(offers.c.run_id)) == ["new"]
    assert await Votes(db).counts("s", "voted", 1) == {2: 1}
    old = ledger.select().where(ledger.c.run_id == "run-0").order_by(ledger.c.calls)
    entries = (await db.execute(old)).all()
    assert [(row.calls, row.step, row.model, row.work) for row in entries] == [
        (1, "", "", "rules"),
        (2, "", "", "rules"),
    ]
    assert await KeptDays(db, 30, engine.forget, delete_documents=no_document).round(NOW) == 0


async def test_words_are_deleted_only_from_sessions_archived_long_ago(db: Database) -> None:
    kept = Sessions(db)
    for n, (state, closed) in enumerate((("archived", OLD), ("archived", NOW), ("closed", OLD))):
        values = {"platform": "discord", "channel": "c", "thread": f"t{n}", "work": "rules", "title": "x"}
        row = {"id": f"s{n}", "space": "s", "state": state, "created_at": OLD, "closed_at": closed, **values}
        await db.run(sessions.insert().values(author_id="ana", updated_at=OLD, **row))
        said = {"space": "s", "session_id": f"s{n}", "run_id": f"r{n}", "question": "?", "answer": "!"}
        await db.run(exchanges.insert().values(citations="[]", created_at=OLD, **said))
    assert await KeptDays(db, 30, Engine().forget, delete_documents=no_document).round(NOW) == 1
    assert [len(await kept.last_exchanges("s", f"s{n}", 9)) for n in range(3)] == [0, 1, 1]
    # Deleting a message also deletes the remains of its run, although its request is gone.
    assert await Inbox(db).withdraw("s", "r1", "")
    assert await kept.last_exchanges("s", "s1", 9) == []
    assert not await Inbox(db).withdraw("s", "r1", "")
    assert not await Inbox(db).withdraw("other", "r2", "")


async def test_old_changes_of_settings_are_deleted_and_the_settings_kept(db: Database) -> None:
    store = SettingsStore(db)
    await store.set_all("s", {f"house_rule.{n}": "old" for n in range(BATCH + 1)}, "bia")
    await db.run(setting_changes.update().values(changed_at=OLD))
    await store.set("s", "works", "rules", "bia", "channel", "c")
    assert await KeptDays(db, 30, Engine().forget, delete_documents=no_document).round(NOW) == BATCH + 1
    assert [change.name for change in await store.changes("s", 500)] == ["works"]
    assert len(await store.of_space("s", "house_rule.")) == BATCH + 1
