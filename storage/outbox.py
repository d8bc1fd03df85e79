"""Which message shows which stage of a run, so that a replay edits it instead of posting again.

Knows no platform: `message_id` and `shown` are the view's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from storage.db import Database


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """One stage's message. `shown` is a hash of what it shows. `fresh`: claimed just now, never before."""

    space: str
    run_id: str
    stage: str
    state: Literal["sending", "sent"]
    message_id: str | None
    shown: str | None
    created_at: datetime
    fresh: bool = False


class Outbox:
    def __init__(self, db: Database) -> None:
        from sqlalchemy import bindparam

        from storage.tables import outbox as t

        self._db = db
        # Prepared once, because every run uses them and building a statement costs more than executing it.
        names = {"of_space": t.c.space, "of_run": t.c.run_id, "of_stage": t.c.stage}
        this_stage = [column == bindparam(name) for name, column in names.items()]
        self._claim = db.insert(t).on_conflict_do_nothing().returning(*t.columns)
        self._get = t.select().where(*this_stage)
        mark_sent = t.update().where(*this_stage).values(state="sent")
        self._sent = mark_sent.values(message_id=bindparam("message"), shown=bindparam("shows"))

    async def claim(self, space: str, run: str, stage: str) -> OutboxRow:
        """The stage's row, created if it does not exist.

        If it is not fresh but still "sending", a message was sent and it is unknown whether it arrived.
        """
        new = {"space": space, "run_id": run, "stage": stage, "state": "sending"}
        row = await self._db.row(self._claim, OutboxRow, **new, created_at=datetime.now(UTC))
        if row is not None:
            return replace(row, fresh=True)
        return await self.get(space, run, stage) or await self.claim(space, run, stage)

    async def mark_sent(
        self, space: str, run: str, stage: str, message_id: str, shown: str | None = None
    ) -> None:
        """Note that the message was posted, and what it shows now."""
        this_stage = {"of_space": space, "of_run": run, "of_stage": stage}
        await self._db.run(self._sent, **this_stage, message=message_id, shows=shown)

    async def get(self, space: str, run: str, stage: str) -> OutboxRow | None:
        """The stage's row, if the stage was ever claimed."""
        return await self._db.row(self._get, OutboxRow, of_space=space, of_run=run, of_stage=stage)

    async def shown_by(self, space: str, *message_ids: str) -> list[tuple[str, str]]:
        """The runs, and their stages, that have a message of one of these ids.

        On some platforms an id is unique only within its channel.
        """
        from storage.tables import outbox as t

        query = t.select().where(t.c.space == space, t.c.message_id.in_(message_ids))
        return [(str(row.run_id), str(row.stage).partition("#")[0]) for row in await self._db.execute(query)]

    async def of_others(self, space: str, run: str, message_ids: Sequence[str]) -> set[str]:
        """Those of the messages that other runs of the space have posted, as far as their ids are noted."""
        from storage.tables import outbox as t

        of_others = (t.c.space == space, t.c.run_id != run, t.c.message_id.in_(message_ids))
        return set(await self._db.column(t.select().with_only_columns(t.c.message_id).where(*of_others)))

    async def all(self, space: str, run: str) -> list[OutboxRow]:
        """Every row of the run, in the order in which they were claimed."""
        from storage.tables import outbox as t

        query = t.select().where(t.c.space == space, t.c.run_id == run).order_by(t.c.created_at)
        return await self._db.rows(query, OutboxRow)

    async def forget(self, space: str, run: str, stage: str) -> None:
        """Delete the row of a message that no longer exists."""
        from storage.tables import outbox as t

        await self._db.run(t.delete().where(t.c.space == space, t.c.run_id == run, t.c.stage == stage))

    async def stages(self, space: str, run: str) -> list[str]:
        """The stages that messages of the run show, in the order in which they were claimed; parts of a stage are left
        out.
        """
        from storage.tables import outbox as t

        sent_of_run = (t.c.space == space, t.c.run_id == run, t.c.message_id.is_not(None))
        rows = await self._db.execute(t.select().where(*sent_of_run).order_by(t.c.created_at))
        return [str(row.stage) for row in rows if "#" not in row.stage]

    async def messages(self, space: str, run: str, stage: str) -> list[str]:
        """The messages of a stage, in order: a long one has several."""
        from storage.tables import outbox as t

        posted = (t.c.space == space, t.c.run_id == run, t.c.message_id.is_not(None))
        of_stage = t.c.stage == stage
        parts = t.c.stage.startswith(f"{stage}#", autoescape=True)
        rows = await self._db.execute(t.select().where(*posted, of_stage | parts).order_by(t.c.created_at))
        return [str(row.message_id) for row in rows]

    async def left(self, space: str, since: datetime) -> list[tuple[str, str, str]]:
        """The messages of the space's ended runs that were posted since then but not finished: their stages, their ids,
        and their runs' requests as stored.
        """
        from sqlalchemy import select

        from storage.inbox import UNFINISHED
        from storage.tables import inbox, outbox

        o, i = outbox.c, inbox.c
        query = select(o.stage, o.message_id, i.payload).join(inbox, i.id == o.run_id)
        unfinished = (o.space == space, o.message_id.is_not(None), o.shown.is_(None), o.created_at > since)
        rows = await self._db.execute(query.where(*unfinished, i.state.not_in(UNFINISHED)))
        return [(str(stage), str(message), str(payload)) for stage, message, payload in rows]

    async def cut_off(self, space: str, run: str) -> list[str]:
        """The run's messages that were posted but not finished."""
        from storage.tables import outbox as t

        unfinished = (t.c.space == space, t.c.run_id == run, t.c.message_id.is_not(None), t.c.shown.is_(None))
        return [str(row.message_id) for row in await self._db.execute(t.select().where(*unfinished))]
