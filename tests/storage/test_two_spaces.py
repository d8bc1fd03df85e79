"""Two spaces in which everything has the same name do not see or change each other's data."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from storage.buttons import Feedback, Offers, Votes
from storage.councils import Councils
from storage.db import Database
from storage.document_rows import Lesson, Outline
from storage.documents import Documents
from storage.inbox import Inbox, NewRequest
from storage.jobs import Jobs
from storage.ledger import Ledger
from storage.outbox import Outbox
from storage.own_sessions import OwnSessions
from storage.passages import Passages
from storage.query_vectors import QueryVectors
from storage.sessions import Sessions, Threads
from storage.settings import SettingsStore
from storage.shelves import Outlines, Shelves
from tests.storage.books import book
from tests.storage.council_rows import ballot, council, seat


async def test_outlines_do_not_cross(db: Database) -> None:
    documents, outlines = Documents(db), Outlines(db)
    lessons = (Lesson("a", 1, "One", "https://x.org/1", 0, 2), Lesson("b", 1, "Again", "", 2, 3))
    for space in ("one", "two"):
        outline = Outline(f"https://x.org/{space}", "Mo", lessons)
        await documents.add(replace(book(space, " courses"), kind="course", outline=outline))
        await documents.add(book(space, " courses"))  # without an outline
    (mine,) = await outlines.of_shelf("one", " courses")
    assert (mine.link, mine.instructor, mine.lessons) == ("https://x.org/one", "Mo", lessons)
    assert await outlines.of_shelf("one", "rules") == []
    assert [row.kind for row in await documents.list("one")] == [""]
    assert len(await documents.list("one", every_kind=True)) == 2
    assert await Shelves(db).all("one") == {" courses": 1}
    assert await documents.remove("one", mine.document_id)
    assert await outlines.of_shelf("one", " courses") == []
    assert len(await outlines.of_shelf("two", " courses")) == 1


async def test_documents_do_not_cross(db: Database) -> None:
    documents, passages, shelves = Documents(db), Passages(db), Shelves(db)
    mine, theirs = book("one"), book("two")
    await documents.add(mine)
    await documents.add(theirs)
    assert [row.id for row in await documents.find("one", "rules", "book.md")] == [mine.id]
    assert (await documents.by_sha("one", "rules", "same") or theirs).id == mine.id
    assert [row.id for row in (await shelves.contents("one", "rules"))[1]] == [mine.id]
    assert await documents.get("one", theirs.id) is None
    assert await passages.chunks_of("one", theirs.id) == []
    assert await passages.get("one", [f"{theirs.id}:0"]) == {}
    assert await passages.section("one", theirs.id, 0) is None
    assert await passages.span("one", theirs.id, 0, 5) is None

    await documents.mark_embedded("one", theirs.id, 3, "bge")
    assert not await documents.remove("one", theirs.id)
    (row,) = await documents.list("two")
    assert (row.id, row.embedded) == (theirs.id, 0)

    building = [book(space) for space in ("one", "two")]
    for document in building:
        await documents.add(document, built_by="run")
    assert await documents.unseen("one", "rules") == {building[0].id}
    assert await documents.swap("one", "rules", [(building[1].id, ""), (building[1].id, mine.id)]) == set()
    assert await documents.swap("one", "rules", [(building[0].id, theirs.id)]) == set()
    assert [left.document_id for left in await documents.leftovers()] == [building[0].id]
    await documents.cleared("two", [building[0].id])
    assert len(await documents.leftovers()) == 1
    await documents.add(again := book("one"), built_by="run")
    assert await documents.swap("one", "rules", [(again.id, "")]) == {again.id}
    assert [row.id for row in await documents.list("two")] == [theirs.id]
    assert await shelves.version("two", "rules") == 1
    assert list((await shelves.all("one")).values()) == [1]

    # Both were built for a run with this id, which is active in one space and unknown in the other.
    await documents.add(still := book("one"), built_by="run")
    await Inbox(db).receive(
        [NewRequest("run", "terminal", "one", "c", "t", "ana", "library", "add", False, "{}")]
    )
    await documents.sweep(datetime.now(UTC) - timedelta(minutes=1))
    assert await documents.get("two", building[1].id) is None
    assert await documents.get("one", still.id) is not None
    assert (await passages.section("one", mine.id, 0)) is not None


async def test_conversations_do_not_cross(db: Database) -> None:
    sessions, outbox = Sessions(db), Outbox(db)
    mine = await sessions.open("one", "terminal", "c", "t", "rules")
    theirs = await sessions.open("two", "terminal", "c", "t", "story")
    assert await sessions.active("one", "terminal", "c", "t") == mine
    assert not await sessions.add_exchange("one", theirs.id, "run", "q", "a")
    assert await sessions.add_exchange("two", theirs.id, "run", "q", "a")
    assert await sessions.last_exchanges("one", theirs.id, 5) == []
    assert await sessions.first_here(mine)
    await sessions.close("one", "terminal", "c", "t")
    assert not await sessions.first_here(await sessions.open("one", "terminal", "c", "t", "rules"))
    assert await sessions.first_here(theirs)
    left = await sessions.active("two", "terminal", "c", "t")
    assert left is not None
    assert left.id == theirs.id

    assert (await outbox.claim("one", "run", "answer")).fresh
    assert (await outbox.claim("two", "run", "answer")).fresh
    await outbox.mark_sent("one", "run", "answer", "message")
    assert (await outbox.claim("two", "run", "answer")).state == "sending"
    row = await outbox.get("two", "run", "answer")
    assert row is not None
    assert row.message_id is None


async def test_a_persons_sessions_do_not_cross(db: Database) -> None:
    sessions, owned = Sessions(db), OwnSessions(db)
    mine, theirs = [
        await sessions.open(space, "discord", "c", "t", "rules", author_id="ana", title="The siege")
        for space in ("one", "two")
    ]
    await sessions.add_exchange("two", theirs.id, "run", "q", "a")
    assert [row.id for row in await owned.all("one", "ana")] == [mine.id]
    assert await owned.resume("one", "ana", theirs.id, "c", "t") is None
    assert not await owned.rename("one", "ana", theirs.id, "mine now")
    for verb in (owned.archive, owned.delete):
        assert not await verb("one", "ana", theirs.id)
        assert not await verb("two", "bia", theirs.id)
    assert not await sessions.reword_exchange("one", "run", "x")
    (row,) = await owned.all("two", "ana")
    assert (row.title, row.state) == ("The siege", "active")
    assert [exchange.question for exchange in await sessions.last_exchanges("two", theirs.id, 9)] == ["q"]


async def test_threads_offers_and_feedback_do_not_cross(db: Database) -> None:
    threads, offers, feedback = Threads(db), Offers(db), Feedback(db)
    for space in ("one", "two"):
        await threads.bind(space, "c", "event", f"real {space}")
        await threads.bind(space, "c", "other", "shared name")
        await offers.keep(space, "run", "choice", [space])
        await feedback.give(space, "run", "ana", "up")
    assert await threads.real_thread("one", "c", "event") == "real one"
    assert await threads.get("one", "real two") is None
    assert not await threads.set_free_chat("one", "real two", True)
    assert not await threads.mark_explained("one", "real two")
    assert await threads.forget("one", "shared name")
    assert await threads.get("two", "shared name") is not None
    await offers.forget("one", "run")
    assert await offers.all("two", "run", "choice") == ["two"]
    await feedback.give("one", "run", "ana", "down")
    assert await feedback.count("two") == {"up": 1, "down": 0}


async def test_money_jobs_and_question_vectors_do_not_cross(db: Database) -> None:
    ledger, jobs, vectors = Ledger(db), Jobs(db), QueryVectors(db, limit=1)
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

    await vectors.put("one", "bge", "q", b"1")
    await vectors.put("two", "bge", "q", b"2")
    assert [await vectors.get(space, "bge", "q") for space in ("one", "two")] == [b"1", b"2"]


async def test_councils_do_not_cross(db: Database) -> None:
    councils = Councils(db)
    await Inbox(db).receive(
        [NewRequest("run", "terminal", "one", "c", "t", "ana", "council", "ask", True, "{}")]
    )
    await councils.begin(council("theirs", "two"))
    await councils.keep_seats("one", "theirs", [seat(0, space="two")])
    assert await councils.get("one", "theirs") is None
    assert await councils.named("one", "theirs") == []
    assert await councils.last("one", "terminal", "c", "t") is None
    assert await councils.records("one") == []
    for space in ("one", "two"):
        await councils.begin(council("run", space, minute=1))
        await councils.keep_seats(space, "run", [seat(0, answer=space)])
        await councils.keep_ballots(space, "run", [ballot(0, raw=space)])
    theirs = await councils.get("two", "run")
    assert theirs is not None
    assert [seat.answer for seat in theirs.seats] + [ballot.raw for ballot in theirs.ballots] == [
        "two",
        "two",
    ]
    assert {(row.space, one.space) for row, one in await councils.records("one")} == {("one", "one")}
    await councils.end(
        "one", "run", kind="best", verdict="v", dissent="", chair="", tally="", seats=[seat(0, answer="best")]
    )
    sessions = Sessions(db)
    assert not await sessions.reword_exchange("one", "theirs", "x")
    session = await sessions.open("one", "terminal", "c", "t", "council", author_id="ana")
    await sessions.add_exchange("one", session.id, "run", "q", "a")
    assert await OwnSessions(db).delete("one", "ana", session.id)
    assert await councils.get("two", "run") == theirs
    await councils.begin(council("run", "one"))
    votes = Votes(db)
    for space in ("one", "two"):
        await votes.give(space, "run", 0, "ana", 1)
    await votes.forget("one", "bia")
    assert not await Inbox(db).withdraw("three", "run", "{}")
    assert await Inbox(db).withdraw("one", "run", "{}")
    assert await councils.get("one", "run") is None
    assert await councils.get("two", "run") == theirs
    assert await votes.counts("one", "run", 0) == {}
    assert await votes.counts("two", "run", 0) == {1: 1}


async def test_settings_do_not_cross(db: Database) -> None:
    settings = SettingsStore(db)
    await settings.set("two", "council.members", "p:m", "ana")
    await settings.set("two", "language", "en", "ana", "person", "ana")
    assert await settings.of_space("one", "council.") == {}
    assert await settings.named("one", ["language"]) == []
    assert await settings.get("one", "council.members") is None
    assert not await settings.reset("one", "council.members", "bia")
    assert not await settings.reset("one", "language", "ana", "person", "ana")
    await settings.set("one", "council.members", "p:n", "ana")
    assert (await settings.of_space("two", "council."))["members"].value == "p:m"
