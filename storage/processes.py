"""The processes that share a database: which of them live, notices to them, and work that one of them left unfinished.

A process that has the database alone owns all work, and tells nobody.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from storage.advisory_locks import CHANNEL

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

    from storage.db import Database


def is_ownerless(process: ColumnElement[str], gone: str | ColumnElement[str] = "") -> ColumnElement[bool]:
    """Whether the process of that id ("" for one without a lease) has ended, or is `gone`."""
    from sqlalchemy import select

    from storage.tables import processes

    return process.not_in(select(processes.c.id).where(processes.c.id != gone))


async def alive(database: Database) -> set[str]:
    """The ids of the processes that hold a lease, or did so until a moment ago."""
    from sqlalchemy import select

    from storage.tables import processes

    return set(await database.column(select(processes.c.id)))


async def tell(database: Database, topic: str, *values: str) -> None:
    """Send a notice to the other processes, of at most about 7,000 bytes."""
    from sqlalchemy import func, select

    if database.lease is not None:
        payload = json.dumps([database.process, topic, *values])
        await database.execute(select(func.pg_notify(CHANNEL, payload)))
