"""A council is stored while it runs and when it ends, found by the end of its id, and deleted completely."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from storage.councils import Councils
from storage.db import Database, StorageFault
from storage.inbox import Inbox, NewRequest
from storage.own_sessions import OwnSessions
from storage.sessions import Sessions
from tests.storage.council_rows import BEGAN, ballot, council, seat

ENDING: dict[str, Any] = {
    "kind": "synthesis",
    "verdict": "Mostly.",
    "dissent": "Not always.",
    "chair": "p:fallback",
    "tally": '{"standings": []}',
}


async def test_a_council_is_read_as_it_was_stored_in_order_of_seat(db: Database) -> None:
    councils = Councils(db)
    await councils.begin(council("run"))
    began = await councils.get("local", "run")
    assert began is not None
    assert (began.row, began.seats, began.ballots) == (council("run"), (), ())

    failed = seat(1, state="failed", fault="model.timeout", answer="", tokens=None, cost_usd=None)
    await councils.keep_seats("local", "run", [seat(2), failed, seat(0)])
    ballots = [ballot(2, partial=True, again="again"), ballot(0)]
    await councils.keep_ballots("local", "run", ballots)
    counted = [seat(0, place=1, score=0.75, mean_rank=1.5), failed, seat(2, place=2, score=0.25, mean_rank=2)]
    await councils.end("local", "run", **ENDING, seats=counted)

    ended = await councils.get("local", "run")
    assert ended is not None
    assert ended.row.ended_at is not None
    assert ended.row.ended_at.tzinfo == UTC
    assert ended.row == council("run", **ENDING, ended_at=ended.row.ended_at)
    assert ended.seats == tuple(counted)
    assert ended.ballots == (ballots[1], ballots[0])
    assert await councils.get("local", "another run") is None


async def test_a_replay_changes_only_its_own_seats(db: Database) -> None:
    councils = Councils(db)
    await councils.begin(council("run"))
    await councils.keep_seats("local", "run", [seat(0), seat(1)])
    await councils.keep_seats("local", "run", [seat(1, answer="revised", first_answer="answer 1")])
    await councils.keep_ballots("local", "run", [ballot(0), ballot(0, source="none", ranking="[]")])
    await councils.end("local", "run", **ENDING, seats=[seat(0, place=1)])
    once = await councils.get("local", "run")
    await councils.begin(council("run", question="Another?"))
    await councils.end("local", "run", **ENDING, seats=[seat(0, place=1)])
    assert once is not None
    assert await councils.get("local", "run") == once
    assert [(seat.answer, seat.first_answer, seat.place) for seat in once.seats] == [
        ("answer 0", "", 1),
        ("revised", "answer 1", None),
    ]
    assert [(ballot.source, ballot.ranking) for ballot in once.ballots] == [("none", "[]")]


async def test_a_councils_end_is_stored_completely_or_not_at_all(tmp_path: Path) -> None:
    db = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/sutradhar.db", max_page_count=170)
    councils = Councils(db)
    await councils.begin(council("run"))
    with pytest.raises(StorageFault) as caught:
        await councils.end("local", "run", **ENDING, seats=[seat(0), seat(1, answer="x" * 1_000_000)])
    assert caught.value.kind == "full"
    kept = await councils.get("local", "run")
    assert kept is not None
    assert (kept.row.kind, kept.row.ended_at, kept.seats) == ("", None, ())
    await db.close()


async def test_a_run_is_found_by_the_end_of_its_id_and_by_its_place_the_newest_first(db: Database) -> None:
    councils = Councils(db)
    assert await councils.last("local", "terminal", "c", "t") is None
    for run, minute in (("one-abc123", 1), ("two-abc123", 3), ("abc123", 2), ("abc12x", 0)):
        await councils.begin(council(run, minute=minute))
    await councils.begin(council("elsewhere", minute=9, thread="another"))
    assert await councils.named("local", council("two-abc123").alias) == [
        "two-abc123",
        "abc123",
        "one-abc123",
    ]
    assert await councils.named("local", " ABC123 ") == ["two-abc123", "abc123", "one-abc123"]
    assert await councils.named("local", "abc12%") == await councils.named("local", "abc12_") == []
    assert await councils.named("local", " ") == []
    assert await councils.last("local", "terminal", "c", "t") == "two-abc123"
    assert await councils.last("local", "discord", "c", "t") is None


async def test_the_record_has_the_seats_of_the_newest_councils_without_their_texts(db: Database) -> None:
    councils = Councils(db)
    for minute, run in enumerate(["old", "middle", "new"]):
        await councils.begin(council(run, minute=minute))
        await councils.keep_seats("local", run, [seat(1), seat(0)])
    await councils.end("local", "middle", **ENDING, seats=[seat(0, place=1, mean_rank=1.5)])
    records = await councils.records("local", limit=2)
    assert [(row.run_id, row.kind, one.run_id, one.seat, one.place) for row, one in records] == [
        ("new", "", "new", 0, None),
        ("new", "", "new", 1, None),
        ("middle", "synthesis", "middle", 0, 1),
        ("middle", "synthesis", "middle", 1, None),
    ]
    row, won = records[2]
    assert row.created_at == council("middle", minute=1).created_at > BEGAN
    assert (won.name, won.seconds, won.mean_rank, won.cost_usd) == ("m0", 1.25, 1.5, Decimal("0.000000123"))
    texts = (row.question, row.criteria, row.research, row.verdict, row.dissent, row.tally)
    assert {*texts, won.answer, won.first_answer, won.reasoning} == {""}


async def test_a_withdrawn_council_is_gone_and_its_run_brings_nothing_of_it_back(db: Database) -> None:
    inbox, councils = Inbox(db), Councils(db)
    for run in ("run", "kept"):
        await inbox.receive(
            [NewRequest(run, "terminal", "local", "c", "t", "ana", "council", "ask", True, "{}")]
        )
        await councils.begin(council(run))
        await councils.keep_seats("local", run, [seat(0)])
        await councils.keep_ballots("local", run, [ballot(0)])
    kept = await councils.get("local", "kept")
    assert not await Inbox(db).withdraw("elsewhere", "run", "{}")
    assert await councils.get("local", "run") is not None
    assert await Inbox(db).withdraw("local", "run", "{}")
    await councils.keep_seats("local", "run", [seat(1)])
    await councils.keep_ballots("local", "run", [ballot(1)])
    await councils.end("local", "run", **ENDING, seats=[seat(1)])
    assert await councils.get("local", "run") is None
    assert kept is not None
    assert await councils.get("local", "kept") == kept
    await councils.begin(council("run"))
    again = await councils.get("local", "run")
    assert again is not None
    assert (again.seats, again.ballots) == ((), ())


async def test_a_council_is_deleted_with_its_session(db: Database) -> None:
    sessions, owned, councils = Sessions(db), OwnSessions(db), Councils(db)
    session = await sessions.open("local", "terminal", "c", "t", "council", author_id="ana")
    for run in ("run", "another"):
        await councils.begin(council(run))
    await sessions.add_exchange("local", session.id, "run", "Is dharma duty?", "Mostly.")
    assert not await owned.delete("local", "bia", session.id)
    assert await councils.get("local", "run") is not None
    assert await owned.delete("local", "ana", session.id)
    assert await councils.get("local", "run") is None
    assert await councils.get("local", "another") is not None


async def test_a_council_whose_session_was_deleted_meanwhile_is_not_stored(db: Database) -> None:
    councils, sessions = Councils(db), Sessions(db)
    session = await sessions.open("local", "terminal", "c", "t", "council", author_id="ana")
    assert await OwnSessions(db).delete("local", "ana", session.id)
    for run in ("run", "another"):
        await councils.begin(council(run))
    await councils.keep_seats("local", "run", [seat(0)])
    assert not await sessions.add_exchange("local", session.id, "run", "q", "a")
    assert await councils.get("local", "run") is None
    assert await councils.get("local", "another") is not None


async def test_an_edited_question_is_also_edited_in_its_council(db: Database) -> None:
    sessions, councils = Sessions(db), Councils(db)
    await councils.begin(council("run"))
    await councils.begin(council("another"))
    assert await sessions.reword_exchange("local", "run", "Is dharma law?")
    kept = [await councils.get("local", run) for run in ("run", "another")]
    assert [council.row.question for council in kept if council] == ["Is dharma law?", "Is dharma duty?"]


async def test_seats_are_stored_under_their_run(db: Database) -> None:
    councils = Councils(db)
    for run in ("run", "another"):
        await councils.begin(council(run))
    await councils.keep_seats("local", "another", [seat(0)])
    mine, other = [await councils.get("local", run) for run in ("run", "another")]
    assert mine is not None
    assert other is not None
    assert (mine.seats, other.seats) == ((), (replace(seat(0), run_id="another"),))
