"""What is to be read aloud in voice channels and as clips, how far each reading is, and which channels the bot is in.

Knows no sound: digests of sentences and names of messages are the caller's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from storage.db import Database
from storage.inbox import UNFINISHED

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


@dataclass(frozen=True, slots=True)
class ReadingRow:
    """One stage of a run. `text` is "" until it is `whole`. `heard` are the digests of its sentences heard so far,
    separated by blanks; `marked` names the message in which one of them is marked. `process` makes the clip of it."""

    seq: int
    space: str
    platform: str
    run_id: str
    key: str
    text: str
    whole: bool
    speaker: str
    language: str
    heard: str
    marked: str
    created_at: datetime
    process: str


@dataclass(frozen=True, slots=True)
class ChannelRow:
    space: str
    platform: str
    channel: str


class Readings:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(
        self,
        space: str,
        platform: str,
        run: str,
        key: str,
        *,
        text: str | None,
        speaker: str = "",
        language: str = "",
    ) -> ReadingRow:
        """Add the stage's row and return it; an existing row stays unchanged. `text` is None for a stage that is still
        being written.
        """
        from storage.tables import voice_readings as t

        new = self._db.insert(t).values(
            space=space,
            platform=platform,
            run_id=run,
            key=key,
            text=text or "",
            whole=text is not None,
            speaker=speaker,
            language=language,
            heard="",
            marked="",
            created_at=datetime.now(UTC),
            process=self._db.process,
        )
        this_stage = (t.c.space == space, t.c.run_id == run, t.c.key == key)
        async with self._db.write() as connection:
            await connection.execute(new.on_conflict_do_nothing(index_elements=["space", "run_id", "key"]))
            return ReadingRow(**(await connection.execute(t.select().where(*this_stage))).one()._mapping)

    async def get(self, seq: int) -> ReadingRow | None:
        """The row; None if it was heard or taken back."""
        from storage.tables import voice_readings as t

        return await self._db.row(t.select().where(t.c.seq == seq), ReadingRow)

    async def waiting(self, space: str, platform: str) -> Sequence[ReadingRow]:
        """The rows of a space, the first one first."""
        from storage.tables import voice_readings as t

        in_space = t.select().where(t.c.space == space, t.c.platform == platform)
        return await self._db.rows(in_space.order_by(t.c.seq), ReadingRow)

    @property
    def process(self) -> str:
        """The id of this process: see `Database.process`."""
        return self._db.process

    async def abandoned(self, platform: str, heard: str, gone: str = "") -> Sequence[ReadingRow]:
        """The rows of all spaces that are not `heard` and whose process has ended or is `gone`, the first one first."""
        from storage.processes import is_ownerless
        from storage.tables import voice_readings as t

        theirs = (t.c.platform == platform, t.c.heard != heard, is_ownerless(t.c.process, gone))
        return await self._db.rows(t.select().where(*theirs).order_by(t.c.seq), ReadingRow)

    async def take(self, row: ReadingRow, gone: str = "") -> bool:
        """Claim the clip for this process; returns False if another running process has it (`gone` has ended)."""
        from storage.processes import is_ownerless
        from storage.tables import voice_readings as t

        if row.process == self._db.process:
            return True
        free = t.update().where(t.c.seq == row.seq, is_ownerless(t.c.process, gone))
        return await self._db.run(free.values(process=self._db.process)) == 1

    async def drop(self, place: Sequence[str], platform: str, heard: str, *, most: int | None = None) -> int:
        """Note that the rows of a place are `heard`, the first ones first; returns how many were not. A place is
        (space, platform, channel, thread).
        """
        from storage.tables import inbox
        from storage.tables import voice_readings as t

        asked_at = (inbox.c.space, inbox.c.platform, inbox.c.channel, inbox.c.thread)
        runs = inbox.select().with_only_columns(inbox.c.id)
        runs = runs.where(*(column == value for column, value in zip(asked_at, place, strict=True)))
        waiting = t.select().with_only_columns(t.c.seq).order_by(t.c.seq).limit(most)
        waiting = waiting.where(
            t.c.space == place[0], t.c.platform == platform, t.c.heard != heard, t.c.run_id.in_(runs)
        )
        async with self._db.write(alone=f"clips {place[0]}") as connection:
            seqs = (await connection.execute(waiting)).scalars().all()
            dropped = t.update().where(t.c.seq.in_(seqs), t.c.heard != heard)
            return (await connection.execute(dropped.values(text="", whole=True, heard=heard))).rowcount

    async def unheard(self, heard: str, *seqs: int) -> set[int]:
        """Those of the rows that exist and are not `heard`."""
        from storage.tables import voice_readings as t

        unheard = t.select().with_only_columns(t.c.seq).where(t.c.seq.in_(seqs), t.c.heard != heard)
        return set(await self._db.column(unheard))

    async def take_back(self, space: str, run: str, key: str, heard: str) -> None:
        """Delete everything of a run's stage, or of all its stages ("" for the key), except that it is `heard`."""
        from storage.tables import voice_readings as t

        of_stage = (t.c.space == space, t.c.run_id == run, *((t.c.key == key,) if key else ()))
        await self._db.run(t.update().where(*of_stage).values(text="", whole=True, heard=heard, marked=""))

    async def store_text(self, seq: int, text: str) -> None:
        """Store its complete text."""
        await self._set(seq, text=text, whole=True)

    async def store_heard(self, seq: int, digests: str) -> bool:
        """Note which sentences were heard; returns whether the row still exists: its run may have been taken back."""
        return await self._set(seq, heard=digests)

    async def mark(self, seq: int, message: str) -> None:
        await self._set(seq, marked=message)

    async def remove(self, seq: int) -> None:
        from storage.tables import voice_readings as t

        await self._db.run(t.delete().where(t.c.seq == seq))

    async def clear(self, heard: str, *seqs: int) -> None:
        """Delete everything of these rows except that they were heard and where they may be marked."""
        from storage.tables import voice_readings as t

        rows = t.update().where(t.c.seq.in_(seqs))
        await self._db.run(rows.values(text="", whole=True, heard=heard))

    async def tidy(self, space: str, heard: str) -> None:
        """Remove rows that are over, and incomplete rows of runs that have ended."""
        from sqlalchemy import and_, or_, select

        from storage.tables import inbox
        from storage.tables import voice_readings as t

        ended = select(inbox.c.id).where(inbox.c.space == space, inbox.c.state.not_in(UNFINISHED))
        finished = or_(and_(t.c.heard == heard, t.c.marked == ""), t.c.whole.is_(False))
        await self._db.run(t.delete().where(t.c.space == space, finished, t.c.run_id.in_(ended)))

    async def channels(self, platform: str) -> Sequence[ChannelRow]:
        """The voice channels that the bot was in last."""
        from storage.tables import voice_channels as t

        return await self._db.rows(t.select().where(t.c.platform == platform).order_by(t.c.space), ChannelRow)

    async def note_joined(self, space: str, platform: str, channel: str) -> None:
        """Note that the bot is in this channel, and in no other channel of the space."""
        from storage.tables import voice_channels as t

        new = self._db.insert(t).values(space=space, platform=platform, channel=channel)
        await self._db.run(
            new.on_conflict_do_update(index_elements=["space", "platform"], set_={"channel": channel})
        )

    async def note_left(self, space: str, platform: str) -> None:
        from storage.tables import voice_channels as t

        in_space: tuple[ColumnElement[bool], ...] = (t.c.space == space, t.c.platform == platform)
        await self._db.run(t.delete().where(*in_space))

    async def _set(self, seq: int, **values: Any) -> bool:
        from storage.tables import voice_readings as t

        return await self._db.run(t.update().where(t.c.seq == seq).values(**values)) == 1
