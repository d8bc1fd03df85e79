"""Each table declares whose its rows are, so that a person's data can be found and deleted."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from sqlalchemy import Column, MetaData, String, Table

from storage.buttons import Feedback, Offers
from storage.councils import Councils
from storage.db import Database
from storage.inbox import Inbox, NewRequest
from storage.jobs import Jobs
from storage.ledger import Ledger
from storage.outbox import Outbox
from storage.ownership import Ownership, ownership
from storage.people import People
from storage.query_vectors import QueryVectors
from storage.sessions import Sessions
from storage.settings import SettingsStore
from storage.tables import metadata
from tests.storage.council_rows import ballot, council, seat


def test_every_table_declares_whose_its_rows_are() -> None:
    for table in metadata.sorted_tables:
        declared = ownership(table)
        assert declared != Ownership(), table.name
        named = {rule.column for rule in declared.people}
        if declared.to != "platform":
            assert {"author_id", "user_id"} & set(table.c.keys()) <= named, table.name
        if {"run_id", "job_id"} & set(table.c.keys()):
            assert declared.run or declared.people, table.name
        for rule in declared.people:
            columns = {rule.column, *rule.emptied, *rule.rewritten, *rule.where}
            assert columns <= set(table.c.keys()), table.name
            if rule.held_by:
                holder, column = rule.held_by.split(".")
                assert column in metadata.tables[holder].c
        if declared.run:
            assert declared.run in table.c
        if declared.within:
            parents = {key.column.table.name for key in table.foreign_keys if key.ondelete == "CASCADE"}
            assert declared.within in parents, table.name
        else:
            assert declared.goes_with == "" or "space" in table.c


def test_a_table_without_a_declaration_is_noticed() -> None:
    with pytest.raises(KeyError):
        ownership(Table("forgotten", MetaData(), Column("author_id", String)))


def request(run: str, author: str, *, space: str = "local", thread: str = "t", text: str = "") -> NewRequest:
    payload = json.dumps({"text": text or f"the words of {run}", "author": author})
    return NewRequest(run, "terminal", space, "c", thread, author, "rules", "ask", True, payload)


async def filled(db: Database) -> None:
    """Ana and Bia in one conversation of Ana's, each in one of her own, and Ana in another space, too."""
    now = datetime(2026, 2, 3, tzinfo=UTC)
    inbox, sessions, settings = Inbox(db), Sessions(db), SettingsStore(db)
    rows = [
        request("ana-shared", "ana"),
        request("bia-shared", "bia"),
        request("ana-alone", "ana", thread="u"),
        request("bia-alone", "bia", thread="v"),
        request("ana-there", "ana", space="other"),
        request("delete", "ana", thread="u"),
        request("ana-after", "ana", thread="w"),
    ]
    await inbox.receive(rows)
    for space, thread, owner, runs in (
        ("local", "t", "ana", ["ana-shared", "bia-shared"]),
        ("local", "u", "ana", ["ana-alone"]),
        ("local", "v", "bia", ["bia-alone"]),
        ("other", "t", "ana", ["ana-there"]),
    ):
        session = await sessions.open(
            space, "terminal", "c", thread, "rules", author_id=owner, title=f"by {owner}"
        )
        for run in runs:
            await sessions.add_exchange(
                space, session.id, run, f"the question of {run}", f"the answer to {run}"
            )
    for space, run, author in (
        ("local", "ana-alone", "ana"),
        ("local", "bia-alone", "bia"),
        ("other", "ana-there", "ana"),
    ):
        await Councils(db).begin(council(run, space, author_id=author))
        await Councils(db).keep_seats(space, run, [seat(0, space=space, run_id=run)])
        await Councils(db).keep_ballots(space, run, [ballot(0, space=space, run_id=run)])
        await Offers(db).keep(space, run, "choice", [f"/rules ask {run}"])
        await Outbox(db).claim(space, run, "answer")
        await Feedback(db).give(space, run, author, "up")
        entry = await Ledger(db).reserve(space, run, "answer", author, "p:m", 9, None)
        await Ledger(db).settle(space, entry, input_tokens=1, output_tokens=1, cost_usd=None)
        await settings.set(space, "language", "pt-BR", author, "person", author)
        await Jobs(db).create(space, run, "rules", "add", 1)
        await Jobs(db).add_error(space, run, f"{run}.md", "key")
    await Feedback(db).give("local", "bia-alone", "ana", "down")
    await Feedback(db).give("local", "ana-alone", "bia", "up")
    await settings.set("local", "council.criteria", "truth", "ana")
    await Offers(db).keep("local", "window", "modal", ["half a question"], author_id="ana")
    await QueryVectors(db).put("local", "bge", "a question", b"1")
    await QueryVectors(db).put("other", "bge", "a question", b"1")
    assert now.tzinfo == UTC


async def test_a_persons_export_has_all_their_rows_and_no_others(db: Database) -> None:
    await filled(db)
    people = People(db)
    kept = await people.rows_about("local", "ana", "delete")
    counted = await people.count("local", "ana", "delete")
    only_named = {"ledger": 0, "outbox": 0, "settings": 1, "setting_changes": 0}
    assert counted == {name: only_named.get(name, len(rows)) for name, rows in kept.items()}
    assert {name: len(rows) for name, rows in kept.items() if rows} == {
        "council_ballots": 1,
        "council_seats": 1,
        "councils": 1,
        "exchanges": 2,
        "feedback": 2,
        "inbox": 2,
        "job_errors": 1,
        "jobs": 1,
        "ledger": 1,
        "outbox": 1,
        "sessions": 2,
        "setting_changes": 1,
        "settings": 2,
    }
    told = repr(kept)
    assert "bia-" not in told.replace("'run_id': 'bia-alone', 'author_id': 'ana'", "")
    assert "ana-there" not in told
    assert "ana-after" not in told
    assert [rows for rows in (await people.rows_about("local", "", "delete")).values() if rows] == []


async def test_deleting_a_person_leaves_all_other_rows(db: Database) -> None:
    await filled(db)
    people = People(db)
    others = {
        (space, person): await people.rows_about(space, person, last)
        for space, person, last in (("local", "bia", "ana-after"), ("other", "ana", "delete"))
    }
    assert list(await people.runs("local", "ana", "delete")) == ["ana-shared", "ana-alone"]
    assert list(await people.shared_with("local", "ana", "delete")) == ["bia-shared"]
    await people.delete("local", "ana", "delete", lambda payload: json.dumps({"was": len(payload)}))

    left = {name: rows for name, rows in (await people.rows_about("local", "ana", "delete")).items() if rows}
    assert left == {}
    for (space, person), was in others.items():
        now = await people.rows_about(space, person, "ana-after" if person == "bia" else "delete")
        assert now == was, (space, person)
    rows = {run: await Inbox(db).get(run) for run in ("ana-shared", "delete", "ana-after")}
    payloads = {one: row.payload for one, row in rows.items() if row is not None}
    assert "words" not in payloads["ana-shared"]
    assert "words of ana-after" in payloads["ana-after"]
    assert "words of delete" in payloads["delete"]
    gone, later = rows["ana-shared"], rows["ana-after"]
    assert gone is not None
    assert later is not None
    assert (gone.author_id, gone.channel, gone.thread, later.author_id) == ("", "", "", "ana")
    # Of the conversation with Bia only Bia's part remains, without an owner or a title.
    (entry,) = await Ledger(db).entries("local", "ana-alone")
    assert (entry.author_id, entry.input_tokens) == ("", 1)
    shared = await Sessions(db).active("local", "terminal", "c", "t")
    assert shared is not None
    assert (shared.author_id, shared.title) == ("", "")
    assert [exchange.run_id for exchange in await Sessions(db).last_exchanges("local", shared.id, 9)] == [
        "bia-shared"
    ]
    assert await Sessions(db).active("local", "terminal", "c", "u") is None
    criteria = await SettingsStore(db).get("local", "council.criteria")
    assert criteria is not None
    assert (criteria.value, criteria.author_id) == ("truth", "")
    assert await Offers(db).all("local", "window", "modal") == []
    assert await Offers(db).all("local", "bia-alone", "choice") == ["/rules ask bia-alone"]
    assert await Feedback(db).count("local") == {"up": 2, "down": 0}
    assert await QueryVectors(db).get("local", "bge", "a question") is None
    assert await QueryVectors(db).get("other", "bge", "a question") == b"1"
    assert [job.id for job in await Jobs(db).list("local")] == ["bia-alone"]


async def test_rows_of_a_run_are_withdrawn_with_it(db: Database) -> None:
    await filled(db)
    goes = {table.name for table in metadata.sorted_tables if ownership(table).goes_with == "run"}
    assert goes == {
        "councils",
        "exchanges",
        "offers",
        "quiz_cards",
        "schedule_followers",
        "schedules",
        "script_ideas",
        "story_cards",
        "story_library",
        "story_library_lore",
        "story_vectors",
        "unshown",
        "voice_readings",
        "votes",
    }
    assert await Inbox(db).withdraw("local", "ana-alone", "{}")
    kept = await People(db).rows_about("local", "ana", "delete")
    left = {name for name, rows in kept.items() for row in rows if row.get("run_id") == "ana-alone"}
    assert left == {"feedback", "ledger", "outbox"}
    assert [job.id for job in await Jobs(db).list("local")] == ["bia-alone", "ana-alone"]
