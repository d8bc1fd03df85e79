"""Deletes data older than the operator wants to keep, a batch at a time.

Spending stays as sums; stories, libraries, settings and votes also stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from storage.db import Database
from storage.inbox import UNFINISHED

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncConnection

BATCH = 100
"""Runs, conversations or changes in one transaction: others wait for it on SQLite."""

_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


class Retention:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def forget_runs(self, before: datetime, after: int) -> tuple[int, list[str]]:
        """Forget a batch of runs that came before a moment and have ended: requests, where they are shown, buttons.

        Their calls of models become one entry of the ledger. `after` is 0, and then what the last batch gave: how far
        it came. No run is forgotten that a story, a vote, a schedule, or anything that is not shown or heard yet needs.
        Returns the runs, none at the end.
        """
        from storage.tables import inbox, offers, outbox

        async with self._db.write() as connection:
            query = (
                inbox.select()
                .where(inbox.c.seq > after, inbox.c.created_at < before, *_forgettable())
                .order_by(inbox.c.seq)
                .limit(BATCH)
            )
            rows = (await connection.execute(query)).all()
            runs = [str(row.id) for row in rows]
            if not runs:
                return after, []
            await self._sum(connection, {(row.space, row.id): row.work for row in rows})
            for table in (outbox, offers):
                await connection.execute(table.delete().where(table.c.run_id.in_(runs)))
            await connection.execute(inbox.delete().where(inbox.c.id.in_(runs)))
            return rows[-1].seq, runs

    async def forget_conversations(self, before: datetime) -> int:
        """Forget what was said in a batch of conversations that were archived before a moment; how many."""
        from sqlalchemy import exists, select

        from storage.tables import exchanges, sessions

        has_exchanges = exists().where(exchanges.c.session_id == sessions.c.id)
        query = select(sessions.c.id).where(
            sessions.c.state == "archived", sessions.c.closed_at < before, has_exchanges
        )
        async with self._db.write() as connection:
            ids = list((await connection.execute(query.limit(BATCH))).scalars())
            if ids:
                await connection.execute(exchanges.delete().where(exchanges.c.session_id.in_(ids)))
            return len(ids)

    async def forget_changes(self, before: datetime) -> int:
        """Delete a batch of old entries in the log of setting changes; returns how many. The settings stay."""
        from storage.tables import setting_changes as t

        old = t.select().with_only_columns(t.c.id).where(t.c.changed_at < before).limit(BATCH)
        async with self._db.write() as connection:
            ids = list((await connection.execute(old)).scalars())
            if ids:
                await connection.execute(t.delete().where(t.c.id.in_(ids)))
            return len(ids)

    async def _sum(self, connection: AsyncConnection, works: dict[tuple[str, str], str]) -> None:
        """One entry for each of these runs' authors and kind of price: a cap counts no tokens of what was free.

        It has the time of the last call, so that no sum over the last days loses it too early.
        """
        from storage.tables import ledger as t

        runs = [run for _, run in works]
        query = t.select().where(t.c.run_id.in_(runs), t.c.state != "reserved")
        rows = [row for row in (await connection.execute(query)).all() if (row.space, row.run_id) in works]

        def same(row: Any) -> tuple[Any, ...]:
            price = "unknown" if row.cost_usd is None else "free" if row.cost_usd == 0 else "paid"
            return row.space, row.run_id, row.author_id, price

        for (space, run, _, price), entries in groupby(sorted(rows, key=lambda r: (same(r), r.id)), key=same):
            *others, last = entries
            calls = [*others, last]
            values = {name: sum(getattr(row, name) for row in calls) for name in (*_TOKENS, "calls")}
            values["cost_usd"] = None if price == "unknown" else sum(row.cost_usd for row in calls)
            values |= {"step": "", "model": "", "state": "settled", "work": works[space, run]}
            values |= {
                "estimate_tokens": 0,
                "estimate_usd": None,
                "created_at": max(row.created_at for row in calls),
            }
            await connection.execute(t.update().where(t.c.id == last.id).values(values))
            if others:
                await connection.execute(t.delete().where(t.c.id.in_([row.id for row in others])))


def _forgettable() -> Sequence[ColumnElement[bool]]:
    from sqlalchemy import exists

    from storage import tables as t

    run = t.inbox.c.id
    other = t.inbox.alias()
    unfinished = other.c.state.in_(UNFINISHED)
    needed = [
        exists().where(table.c.space == t.inbox.c.space, table.c[column] == run)
        for table, column in (
            (t.story_nodes, "run_id"),
            (t.votes, "run_id"),
            (t.schedules, "id"),
            (t.schedule_followers, "schedule_id"),
            (t.unshown, "run_id"),
            (t.voice_readings, "run_id"),
        )
    ]
    needed += [
        exists().where(other.c.parent == run, unfinished),
        exists().where(other.c.follows == run, unfinished),
    ]
    needed.append(exists().where(other.c.id == t.inbox.c.parent, unfinished))
    return [t.inbox.c.state.not_in(UNFINISHED), *(~needs for needs in needed)]
