"""Two spaces where everything has the same name, and nothing of the one is seen or changed by the other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from storage.db import Database
from storage.documents import Documents
from storage.jobs import Jobs
from storage.ledger import Ledger
from storage.outbox import Outbox
from storage.prompts import Overrides
from storage.query_vectors import QueryVectors
from storage.sessions import Sessions
from storage.shelves import Shelves
from tests.storage.books import book


async def test_documents_do_not_cross(db: Database) -> None:
    documents, shelves = Documents(db), Shelves(db)
    mine, theirs = book("one"), book("two")
    await documents.add(mine)
    await documents.add(theirs)
    assert [row.id for row in await documents.find("one", "rules", "book.md")] == [mine.id]
    assert (await documents.by_sha("one", "rules", "same") or theirs).id == mine.id
    assert [row.id for row in (await shelves.contents("one", "rules"))[1]] == [mine.id]
    assert await documents.get("one", theirs.id) is None
    assert await documents.chunks_of("one", theirs.id) == []
    assert await documents.passages("one", [f"{theirs.id}:0"]) == {}
    assert await documents.section_text("one", theirs.id, 0) is None
    assert await documents.span("one", theirs.id, 0, 5) is None

    await documents.mark_embedded("one", theirs.id, 3, "bge")
    assert not await documents.remove("one", theirs.id)
    await documents.add(book("one"), replaces=[theirs.id])
    (row,) = await documents.list("two")
    assert (row.id, row.embedded) == (theirs.id, 0)
    assert await shelves.version("two", "rules") == 1
    assert [shelf.documents for shelf in await documents.shelves("one")] == [2]


async def test_conversations_do_not_cross(db: Database) -> None:
    sessions, outbox = Sessions(db), Outbox(db)
    mine = await sessions.open("one", "terminal", "c", "t", "rules")
    theirs = await sessions.open("two", "terminal", "c", "t", "story")
    assert await sessions.active("one", "terminal", "c", "t") == mine
    assert not await sessions.add_exchange("one", theirs.id, "run", "q", "a")
    assert await sessions.add_exchange("two", theirs.id, "run", "q", "a")
    assert await sessions.last_exchanges("one", theirs.id, 5) == []
    await sessions.close("one", "terminal", "c", "t")
    assert await sessions.active("two", "terminal", "c", "t") == theirs

    assert (await outbox.claim("one", "run", "answer")).fresh
    assert (await outbox.claim("two", "run", "answer")).fresh
    await outbox.sent("one", "run", "answer", "message")
    assert (await outbox.claim("two", "run", "answer")).state == "sending"


async def test_money_jobs_prompts_and_question_vectors_do_not_cross(db: Database) -> None:
    ledger, jobs, overrides, vectors = Ledger(db), Jobs(db), Overrides(db), QueryVectors(db, limit=1)
    since = datetime.now(UTC) - timedelta(minutes=1)
    entry = await ledger.reserve("two", "run", "step", "me", "m", 10, None)
    await ledger.settle("one", entry, input_tokens=1, output_tokens=1, cost_usd=None)
    assert (await ledger.totals("one", since)).calls == 0
    assert await ledger.entries("one", "run") == []
    assert (await ledger.totals("two", since)).reserved_calls == 1

    assert await jobs.create("one", "run", "rules", "add", 1)
    assert await jobs.create("two", "run", "rules", "add", 1)
    await jobs.add_error("one", "run", "bad.md", "key")
    await jobs.finish("one", "run", "failed")
    assert [(job.state, job.errors) for job in await jobs.list("two")] == [("running", ())]

    await overrides.set("one", "answer", "mine", "me")
    assert await overrides.get("two", "answer") is None
    assert not await overrides.reset("two", "answer")

    await vectors.put("one", "bge", "q", b"1")
    await vectors.put("two", "bge", "q", b"2")
    assert [await vectors.get(space, "bge", "q") for space in ("one", "two")] == [b"1", b"2"]
