"""Sessions: one for each thread, with its exchanges and its owner."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from storage.db import Database
from storage.inbox import Inbox
from storage.own_sessions import OwnSessions
from storage.sessions import Sessions
from tests.storage.requests import request


async def test_a_thread_has_one_active_session(db: Database) -> None:
    sessions = Sessions(db)
    place = ("local", "terminal", "c", "t")
    assert await sessions.active(*place) is None
    rules, same = await asyncio.gather(sessions.open(*place, "rules"), sessions.open(*place, "rules"))
    assert rules == same
    story = await sessions.open(*place, "story")
    assert await sessions.active(*place) == story
    assert await sessions.close(*place)
    assert not await sessions.close(*place)


async def test_an_exchange_is_stored_once_per_run_and_the_last_ones_come_oldest_first(db: Database) -> None:
    sessions = Sessions(db)
    session = await sessions.open("local", "terminal", "c", "t", "rules")
    for n in range(4):
        assert await sessions.add_exchange("local", session.id, f"run {n}", f"q{n}", f"a{n}")
    assert [row.question for row in await sessions.last_exchanges("local", session.id, 2)] == ["q2", "q3"]


async def test_a_run_that_continues_after_a_restart_replaces_its_answer(db: Database) -> None:
    sessions = Sessions(db)
    session = await sessions.open("local", "terminal", "c", "t", "rules")
    for run, answer, cited in (
        ("one", "half an", "[]"),
        ("two", "b", "[]"),
        ("one", "half an answer", "[1]"),
    ):
        assert await sessions.add_exchange("local", session.id, run, "q", answer, cited)
    rows = await sessions.last_exchanges("local", session.id, 9)
    assert [(row.answer, row.citations) for row in rows] == [("half an answer", "[1]"), ("b", "[]")]


async def test_a_persons_sessions_are_listed_most_recent_first(db: Database) -> None:
    sessions, owned = Sessions(db), OwnSessions(db)
    first = await sessions.open("local", "terminal", "c", "1", "rules", author_id="ana", title="One")
    await sessions.open("local", "terminal", "c", "2", "rules", author_id="ana", title="Two")
    await sessions.open("local", "terminal", "c", "3", "rules", author_id="bia", title="Three")
    await sessions.open("local", "terminal", "c", "4", "rules")
    await sessions.add_exchange("local", first.id, "run", "q", "a")
    assert [row.title for row in await owned.all("local", "ana")] == ["One", "Two"]
    assert await owned.all("local", "") == []


async def test_resuming_a_session_closes_the_active_one(db: Database) -> None:
    sessions, owned = Sessions(db), OwnSessions(db)
    old = await sessions.open("local", "terminal", "c", "1", "rules", author_id="ana", title="One")
    new = await sessions.open("local", "terminal", "c", "2", "rules", author_id="ana", title="Two")
    assert await owned.archive("local", "ana", old.id)
    moved = await owned.resume("local", "ana", old.id, "c", "2")
    assert moved is not None
    assert (moved.thread, moved.state, moved.closed_at) == ("2", "active", None)
    assert await sessions.active("local", "terminal", "c", "2") == moved
    assert await sessions.active("local", "terminal", "c", "1") is None
    assert await owned.resume("local", "ana", old.id, "c", "2") is not None
    assert {row.id: row.state for row in await owned.all("local", "ana")} == {
        old.id: "active",
        new.id: "closed",
    }


async def test_a_sessions_runs_are_those_asked_while_it_was_active(db: Database) -> None:
    inbox, sessions, owned = Inbox(db), Sessions(db), OwnSessions(db)

    async def asked(id: str, **other: str) -> None:
        await inbox.receive([replace(request(id, "1"), **other)])  # type: ignore[arg-type]

    async def opened(work: str = "rules") -> str:
        return (await sessions.open("local", "terminal", "c", "1", work, author_id="me", title="T")).id

    await asked("before")
    first = await opened()
    await sessions.close("local", "terminal", "c", "1")
    await asked("failed")
    session = await opened()
    for id, other in (
        ("answered", {"author_id": "bia"}),
        ("looked", {"verb": "lookup"}),
        ("elsewhere", {"thread": "2"}),
        ("theirs", {"author_id": "bia"}),
        ("a book", {"work": "library"}),
        ("renamed", {"work": "sessions", "thread": "2"}),
        ("of the first", {}),
        ("delete", {"work": "sessions", "thread": "3"}),
        ("later", {}),
    ):
        await asked(id, **other)
    await sessions.add_exchange("local", session, "answered", "q", "a")
    await sessions.add_exchange("local", first, "of the first", "q", "a")
    works = ("rules", "council")
    runs = await owned.runs("local", "me", session, works=works, naming="sessions", before="delete")
    assert runs == ["failed", "answered", "looked", "renamed"]
    assert await owned.runs("local", "me", first, works=works, naming="sessions", before="delete") == [
        "before",
        "renamed",
        "of the first",
    ]
    for space, person in (("local", "bia"), ("other", "me")):
        assert await owned.runs(space, person, session, works=works, naming="sessions", before="delete") == []


async def test_a_stored_question_can_be_edited(db: Database) -> None:
    sessions = Sessions(db)
    session = await sessions.open("local", "terminal", "c", "t", "rules")
    for run in ("one", "two"):
        await sessions.add_exchange("local", session.id, run, "q", "a")
    assert await sessions.reword_exchange("local", "two", "other")
    assert not await sessions.reword_exchange("local", "three", "x")
    kept = await sessions.last_exchanges("local", session.id, 9)
    assert [(one.run_id, one.question, one.answer) for one in kept] == [
        ("one", "q", "a"),
        ("two", "other", "a"),
    ]


async def test_the_person_who_began_a_threads_first_session_began_the_thread(db: Database) -> None:
    sessions, place = Sessions(db), ("local", "terminal", "c", "t")
    assert await sessions.starter(*place) == ""
    await sessions.open(*place, "rules", author_id="ana")
    await sessions.open(*place, "story", author_id="bia")
    assert await sessions.starter(*place) == "ana"
    assert await sessions.starter("other", "terminal", "c", "t") == ""
