"""The migrations produce exactly the declared tables, and cost nothing if there is nothing to do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

import storage
from storage.buttons import Offers
from storage.councils import Councils
from storage.db import Database, StorageFault
from storage.documents import Documents
from storage.inbox import Inbox, NewRequest
from storage.ledger import Caps, Ledger, OverCap
from storage.migrations import migrate
from storage.own_sessions import OwnSessions
from storage.sessions import Sessions, Threads
from storage.settings import SettingsStore
from storage.stories import Stories
from storage.tables import metadata
from tests.storage.council_rows import BEGAN, council, seat


def differences(connection: Connection) -> list[Any]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


async def test_a_database_migrated_from_nothing_has_exactly_the_declared_tables(url: str) -> None:
    database = await Database.open(url)
    try:
        async with database.read() as connection:
            assert await connection.run_sync(differences) == []
    finally:
        await database.close()


def test_head_names_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [migrate.HEAD]


async def test_data_of_the_first_release_is_complete_and_sessions_have_owners(url: str) -> None:
    at = "2026-02-03 04:05:06"
    await asyncio.to_thread(
        upgraded_to,
        url,
        "0001",
        f"""
        INSERT INTO inbox (id, platform, space, channel, thread, author_id, work, verb, ordered, payload, state,
                           snapshot, created_at)
        VALUES ('run-1', 'terminal', 'local', 'c', 't', 'ana', 'rules', 'ask', true, '{{}}', 'done', 's', '{at}'),
               ('run-2', 'terminal', 'local', 'c', 't', 'bia', 'rules', 'ask', true, '{{}}', 'received', NULL,
                '{at}'),
               ('run-3', 'terminal', 'local', 'c', 't', 'bia', 'rules', 'ask', true, '{{}}', 'done', NULL,
                '{at}');
        DELETE FROM inbox WHERE id = 'run-3';
        INSERT INTO sessions (id, space, platform, channel, thread, work, state, created_at, closed_at)
        VALUES ('session-1', 'local', 'terminal', 'c', 't', 'rules', 'active', '{at}', NULL),
               ('session-2', 'local', 'terminal', 'c', 'u', 'rules', 'closed', '{at}', '{at}');
        INSERT INTO exchanges (space, session_id, run_id, question, answer, citations, created_at)
        VALUES ('local', 'session-1', 'run-1', 'What is a gate?', 'A door.', '[]', '{at}'),
               ('local', 'session-1', 'run-2', 'And a door?', 'A gate.', '[]', '{at}')
        """,
    )
    database = await Database.open(url)
    try:
        async with database.read() as connection:
            assert await connection.run_sync(differences) == []
        (old,) = await OwnSessions(database).all("local", "ana")
        assert (old.title, old.state) == ("What is a gate?", "active")
        assert f"{old.updated_at:%Y-%m-%d}" == "2026-02-03"
        past = await Sessions(database).last_exchanges("local", old.id, 9)
        assert [turn.answer for turn in past] == ["A door.", "A gate."]
        inbox = Inbox(database)
        (waiting,) = await inbox.unfinished()
        assert (waiting.id, waiting.author_id, waiting.ordered) == ("run-2", "bia", True)
        new = NewRequest("run-4", "discord", "g", "c", "t", "ana", "rules", "ask", True, "{}")
        assert (await inbox.receive([new]))["run-4"] == waiting.seq + 2, "a number was given twice"
    finally:
        await database.close()


async def test_data_from_before_councils_is_complete_and_a_council_can_be_held(url: str) -> None:
    at = "2026-02-03 04:05:06"
    await asyncio.to_thread(
        upgraded_to,
        url,
        "0002",
        f"""
        INSERT INTO sessions (id, space, platform, channel, thread, work, state, created_at, title, author_id,
                              updated_at)
        VALUES ('session-1', 'local', 'terminal', 'c', 't', 'rules', 'active', '{at}', 'Gates', 'ana', '{at}');
        INSERT INTO exchanges (space, session_id, run_id, question, answer, citations, created_at)
        VALUES ('local', 'session-1', 'run-1', 'What is a gate?', 'A door.', '[]', '{at}');
        INSERT INTO ledger (id, space, run_id, step, author_id, model, state, estimate_tokens, estimate_usd,
                            input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, created_at)
        VALUES ('entry-1', 'local', 'run-1', 'answer', 'ana', 'p:m', 'reserved', 9, 500000000, 0, 0, 0, 0, '{at}')
        """,
    )
    database = await Database.open(url)
    try:
        async with database.read() as connection:
            assert await connection.run_sync(differences) == []
        (old,) = await OwnSessions(database).all("local", "ana")
        past = await Sessions(database).last_exchanges("local", old.id, 9)
        assert [(old.title, turn.answer) for turn in past] == [("Gates", "A door.")]
        with pytest.raises(OverCap) as caught:
            await Ledger(database).reserve(
                "local", "run-1", "answer", "ana", "p:m", 9, Decimal("0.6"), Caps(Decimal(1), None, BEGAN)
            )
        assert caught.value.spent == Decimal("0.5")
        councils = Councils(database)
        await councils.begin(council("run-2"))
        await councils.keep_seats("local", "run-2", [seat(0)])
        held = await councils.get("local", "run-2")
        assert held is not None
        assert [seat.answer for seat in held.seats] == ["answer 0"]
    finally:
        await database.close()


async def test_settings_of_spaces_move_into_one_table(url: str) -> None:
    at = "2026-02-03 04:05:06"
    await asyncio.to_thread(
        upgraded_to,
        url,
        "0005",
        f"""
        INSERT INTO council_settings (space, name, value, author_id, updated_at)
        VALUES ('local', 'members', '["p:one", "p:two"]', 'ana', '{at}'),
               ('local', 'criteria', 'truth', 'bia', '{at}'),
               ('other', 'members', '["p:three"]', 'caio', '{at}');
        INSERT INTO prompt_overrides (space, name, text, author_id, updated_at)
        VALUES ('local', 'rag', 'system: Speak.', 'ana', '{at}');
        INSERT INTO offers (space, run_id, kind, n, item, created_at)
        VALUES ('local', 'run', 'choice', 0, '/stop', '{at}');
        INSERT INTO threads (space, channel, thread, real, free_chat, explained)
        VALUES ('g', 'c', 't', '1', true, false), ('g', 'c', 'u', '2', false, true)
        """,
    )
    database = await Database.open(url)
    try:
        async with database.read() as connection:
            assert await connection.run_sync(differences) == []
        settings = SettingsStore(database)
        council = await settings.of_space("local", "council.")
        assert {name: (row.value, row.author_id) for name, row in council.items()} == {
            "criteria": ("truth", "bia"),
            "members": ('["p:one", "p:two"]', "ana"),
        }
        assert f"{council['members'].updated_at:%Y-%m-%d %H:%M}" == "2026-02-03 04:05"
        assert [row.value for row in (await settings.of_space("other", "")).values()] == ['["p:three"]']
        prompt = await settings.get("local", "prompt.rag")
        assert prompt is not None
        assert (prompt.scope, prompt.of, prompt.value, prompt.author_id) == (
            "space",
            "",
            "system: Speak.",
            "ana",
        )
        assert await Offers(database).all("local", "run", "choice") == ["/stop"]
        held = [await Threads(database).get("g", real) for real in ("1", "2")]
        assert [(one.free_chat, one.explained) for one in held if one] == [(True, False), (False, True)]
        await Threads(database).bind("g", "c", "v", "3")
    finally:
        await database.close()


async def test_imported_and_played_stories_are_distinguished(url: str) -> None:
    at = "2026-02-03 04:05:06"
    await asyncio.to_thread(
        upgraded_to,
        url,
        "0009",
        f"""
        INSERT INTO stories (id, space, title, author_id, created_at, updated_at)
        VALUES ('begun', 'local', 'Begun', 'ana', '{at}', '{at}'), ('file', 'local', 'Imported', '', '{at}', '{at}');
        INSERT INTO story_nodes (id, space, story_id, branch_id, kind, turn, run_id, author_id, body, created_at)
        VALUES ('begun/set', 'local', 'begun', 'begun', 'set', '', 'begun', 'ana', '{{}}', '{at}'),
               ('file-1', 'local', 'file', 'file', 'set', '', 'another', '', '{{}}', '{at}')
        """,
    )
    database = await Database.open(url)
    try:
        stories = Stories(database)
        assert [row.title for row in await stories.open_to("local", "bia")] == ["Imported"]
        assert {row.title for row in await stories.open_to("local", "ana")} == {"Begun", "Imported"}
    finally:
        await database.close()


async def test_older_books_need_no_second_vectors_until_a_question_needs_them(url: str) -> None:
    columns = (
        "id, space, shelf, source, title, language, sha256, size, state, section_count, chunk_count, embedded"
    )
    at = "2026-02-03 04:05:06"
    await asyncio.to_thread(
        upgraded_to,
        url,
        "0021",
        f"""
        INSERT INTO documents ({columns}, created_at)
        VALUES ('en', 'local', 'rules', 'a.md', 'A', 'en', 'x', 1, 'ready', 1, 3, 3, '{at}'),
               ('pt', 'local', 'rules', 'b.md', 'B', 'pt', 'y', 1, 'lexical', 1, 2, 0, '{at}'),
               ('de', 'local', 'rules', 'c.md', 'C', 'de', 'z', 1, 'ready', 1, 2, 2, '{at}'),
               ('far', 'other', 'rules', 'a.md', 'A', 'en', 'x', 1, 'ready', 1, 3, 3, '{at}')
        """,
    )
    database = await Database.open(url)
    try:
        documents, both = Documents(database), ["en", "pt"]
        assert {(row.other_embedder, row.other_embedded) for row in await documents.list("local")} == {
            (None, 0)
        }
        asked = documents.ask_other_vectors_where_set
        assert await asked("e5", both) == 0
        await SettingsStore(database).set("local", "language", "pt-BR", "ana")
        assert await asked("e5", both, ask=False) == 1
        assert await asked("e5", both) == 1
        assert [row.id for row in await documents.without_other_vectors("e5")] == ["en"]
        assert await documents.mark_other_vectors("local", "en", 3, "e5")
        assert await asked("e5", both) == 0
        assert not await documents.ask_other_vectors("local", "rules", "e5", ["en"])
        assert await documents.ask_other_vectors("local", "rules", "e5", ["pt"])
        assert [row.id for row in await documents.without_other_vectors("e5")] == ["pt"]
    finally:
        await database.close()


async def test_repeats_of_older_requests_are_recognised_too(url: str) -> None:
    payloads = {
        "pressed": '{"answers":"first","options":{"repeats":"older"}}',
        "repeated": '{"answers":"","options":{"repeats":"first"}}',
        "earliest": '{"options":{}}',
        "spoiled": '{"options":',
        "bare": "null",
    }
    rows = ", ".join(
        f"('{run}', 'terminal', 'local', 'c', 't', 'ana', 'rules', 'ask', true, '{payload}', 'done', '2026-02-03')"
        for run, payload in payloads.items()
    )
    columns = (
        "id, platform, space, channel, thread, author_id, work, verb, ordered, payload, state, created_at"
    )
    await asyncio.to_thread(upgraded_to, url, "0022", f"INSERT INTO inbox ({columns}) VALUES {rows}")
    database = await Database.open(url)
    try:
        inbox = Inbox(database)
        assert [row.id for row in await inbox.following("local", "first")] == ["pressed", "repeated"]
        assert await inbox.following("other", "first") == []
        assert [row.id for row in await inbox.following("local", "")] == ["earliest", "spoiled", "bare"]
    finally:
        await database.close()


def upgraded_to(url: str, revision: str, then: str) -> None:
    """A database as an earlier release left it, with what `then` puts into it."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent))
    engine = create_engine(url.replace("sqlite+aiosqlite", "sqlite"))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        for statement in then.split(";"):
            connection.exec_driver_sql(statement)
    engine.dispose()


async def test_a_database_of_a_later_release_is_refused(url: str) -> None:
    database = await Database.open(url)
    async with database.write() as connection:
        await connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    await database.close()

    with pytest.raises(StorageFault) as caught:
        await Database.open(url)
    assert caught.value.kind == "newer"


async def test_opening_an_up_to_date_database_is_quick(url: str) -> None:
    await (await Database.open(url)).close()
    took = []
    for _ in range(5):
        start = time.process_time()
        await (await Database.open(url)).close()
        took.append(time.process_time() - start)
    assert min(took) < 0.1


async def test_opening_an_up_to_date_database_does_not_import_alembic(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/sutradhar.db"
    await (await Database.open(url)).close()
    script = (
        "import asyncio, sys; from storage.db import Database; "
        f"asyncio.run((lambda: Database.open({url!r}))()).__class__; print('alembic' in sys.modules); "
        "import os; sys.stdout.flush(); os._exit(0)"
    )
    assert run(script) == "False"


def test_importing_the_repositories_imports_no_database_library() -> None:
    script = (
        "import sys, storage.db, storage.lock, storage.inbox, storage.outbox, storage.ledger, storage.sessions, "
        "storage.own_sessions, storage.buttons, storage.marks, "
        "storage.councils, storage.people, storage.documents, storage.jobs, storage.passages, "
        "storage.settings, storage.query_vectors, storage.shelves, storage.vectors; "
        "print(sorted({'sqlalchemy', 'chromadb', 'alembic', 'numpy', 'sqlite3', 'uuid_utils'} & set(sys.modules)))"
    )
    assert run(script) == "[]"


def run(script: str) -> str:
    root = Path(storage.__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()
