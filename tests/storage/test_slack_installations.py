"""slack_sdk's installation stores on our tables, on each kind of database."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.oauth.installation_store import Installation
from slack_sdk.oauth.installation_store.sqlalchemy import AsyncSQLAlchemyInstallationStore as Installations
from slack_sdk.oauth.state_store.sqlalchemy import AsyncSQLAlchemyOAuthStateStore as StateStore
from sqlalchemy import MetaData, Table

from bot.adapters.slack.installed.workspaces import Installed, Store
from storage.db import Database, StorageFault
from storage.tables_slack import slack_bots, slack_installations, slack_oauth_states

THEIRS = MetaData()
PAIRS = [
    (slack_bots, Installations.build_bots_table(THEIRS, "slack_bots")),
    (slack_installations, Installations.build_installations_table(THEIRS, "slack_installations")),
    (slack_oauth_states, StateStore.build_oauth_states_table(THEIRS, "slack_oauth_states")),
]


def shape(table: Table) -> dict[str, Any]:
    columns = {
        column.name: (repr(column.type), column.nullable, column.primary_key, column.default is not None)
        for column in table.c
    }
    indexes = {index.name: [column.name for column in index.columns] for index in table.indexes}
    return {"columns": columns, "indexes": indexes}


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_our_tables_match_those_of_slack_sdk(ours: Table, theirs: Table) -> None:
    assert shape(ours) == shape(theirs)


def installation(team: str | None, enterprise: str | None = None, token: str = "xoxb-1") -> Installation:
    return Installation(
        app_id="A1",
        enterprise_id=enterprise,
        team_id=team,
        bot_token=token,
        bot_id="B1",
        bot_user_id="U1",
        bot_scopes="chat:write,commands",
        user_id="U9",
        is_enterprise_install=team is None,
    )


TABLE = Installed("xoxb-1", "U1", "B1", "T1")


async def test_a_workspaces_installation_is_found_and_removed(db: Database) -> None:
    store, another = Store(db, "client"), Store(db, "another client")
    await store.installations.async_save(installation("T1"))
    await store.installations.async_save(installation("T2", token="xoxb-2"))
    assert await store.find("T1", "") == TABLE
    assert await another.find("T1", "") is None
    for ids in (("T3", ""), ("", ""), ("", "E1"), ("T1", "E1")):
        assert await store.find(*ids) is None
    await store.remove("T1", "", users=("U9",))
    assert await store.find("T1", "") == TABLE, "one of its people only"
    await store.remove("T1", "")
    assert await store.find("T1", "") is None
    assert await store.find("T2", "") == Installed("xoxb-2", "U1", "B1", "T2")
    async with db.read() as connection:
        assert [row.team_id for row in await connection.execute(slack_installations.select())] == ["T2"]


async def test_a_second_installation_replaces_the_first(db: Database) -> None:
    store = Store(db, "client")
    first, second = installation("T1"), installation("T1", token="xoxb-2")
    first.installed_at, second.installed_at = 1_700_000_000.0, 1_700_000_001.0
    await store.installations.async_save(second)
    await store.installations.async_save(first)
    assert await store.find("T1", "") == replace(TABLE, token="xoxb-2")


async def test_an_organisations_installation_applies_to_each_of_its_workspaces(db: Database) -> None:
    store = Store(db, "client")
    await store.installations.async_save(installation(None, "E1", "xoxb-org"))
    await store.installations.async_save(installation("T1", "E1"))
    org = Installed("xoxb-org", "U1", "B1", "", "E1", org=True)
    assert await store.find("T1", "E1") == replace(TABLE, enterprise="E1"), "its own comes first"
    assert await store.find("T2", "E1") == org
    assert await store.find("", "E1") == org
    assert await store.find("T2", "E2") is None
    await store.remove("", "E1")
    assert await store.find("T2", "E1") is None
    assert await store.find("T1", "E1") is not None


async def test_an_oauth_state_is_valid_once_and_old_ones_are_deleted(db: Database) -> None:
    store = Store(db, "client")
    state = await store.states.async_issue()
    assert await store.states.async_consume(state)
    assert not await store.states.async_consume(state)
    store.states.expiration_seconds = -1
    late = await store.states.async_issue()
    assert not await store.states.async_consume(late)
    store.states.expiration_seconds = 600
    await store.states.async_issue()
    async with db.read() as connection:
        kept = (await connection.execute(slack_oauth_states.select())).all()
    assert late not in [one.state for one in kept]


async def test_an_installation_waits_for_other_writers_and_reads_wait_for_nobody(tmp_path: Path) -> None:
    """SQLite's own waiting polls and may starve a writer: ten wait here, and each gets its turn."""
    db = await Database.open(f"sqlite+aiosqlite:///{tmp_path}/sutradhar.db", busy_timeout_s=0.2)
    store = Store(db, "client")
    await store.installations.async_save(installation("T1"))
    async with db.write() as connection:
        await connection.execute(slack_oauth_states.delete())
        saved = [
            asyncio.create_task(store.installations.async_save(installation(f"T{n}"))) for n in range(2, 12)
        ]
        assert await store.find("T1", "") == TABLE
        # Longer than SQLite would wait for a lock.
        await asyncio.wait(saved, timeout=0.3)
        assert not [task for task in saved if task.done()]
    await asyncio.gather(*saved)
    assert await store.find("T11", "")
    await db.close()


async def test_a_database_locked_by_another_program_is_a_storage_error(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/sutradhar.db"
    db, other = await Database.open(url, busy_timeout_s=0.05), await Database.open(url)
    async with other.write() as connection:
        await connection.execute(slack_oauth_states.delete())
        with pytest.raises(StorageFault) as fault:
            await Store(db, "client").installations.async_save(installation("T1"))
    assert fault.value.kind == "locked"
    await db.close()
    await other.close()
