"""The migrations arrive at the tables as they are declared, and cost nothing when there is nothing to do."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

import storage
from storage.db import Database, StorageFault
from storage.migrations import migrate
from storage.tables import metadata


def differences(connection: Connection) -> list[Any]:
    return list(compare_metadata(MigrationContext.configure(connection), metadata))


async def test_a_database_migrated_from_nothing_has_exactly_the_declared_tables(db: Database) -> None:
    async with db.read() as connection:
        assert await connection.run_sync(differences) == []


def test_the_constant_names_the_newest_file() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [migrate.HEAD]


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
        start = time.perf_counter()
        await (await Database.open(url)).close()
        took.append(time.perf_counter() - start)
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
        "storage.documents, storage.jobs, storage.prompts, storage.query_vectors, storage.vectors; "
        "print(sorted({'sqlalchemy', 'chromadb', 'alembic', 'numpy', 'sqlite3', 'uuid_utils'} & set(sys.modules)))"
    )
    assert run(script) == "[]"


def run(script: str) -> str:
    root = Path(storage.__file__).parent.parent
    return subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True
    ).stdout.strip()
