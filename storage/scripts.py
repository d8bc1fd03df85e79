"""Stores screenplays: each has an owner, and nobody can reach one that they may not read, by any name.

Knows nothing of what a script says: `body` is the caller's JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from storage.db import Database

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

ALIAS = 6
"""Characters of an id's end by which people name a script."""
MOST = 500
"""Scripts of one list."""
FORMER = 20
"""Drafts that are kept before a script's newest one."""
Visibility: TypeAlias = Literal["me", "thread", "space"]
VISIBILITIES: tuple[Visibility, ...] = get_args(Visibility)


@dataclass(frozen=True, slots=True)
class Reader:
    """Who wants to read, and where; without a thread they can read only their own scripts and those of the
    whole space.
    """

    space: str
    author_id: str
    platform: str = ""
    channel: str = ""
    thread: str = ""


@dataclass(frozen=True, slots=True)
class ScriptRow:
    """A script without its words: its owner is `author_id`, and a thread may read it if `visibility` says so.

    `run_id` added its newest draft; `scenes` is the draft's number of scenes.
    """

    id: str
    space: str
    title: str
    source: str
    author_id: str
    visibility: Visibility
    platform: str
    channel: str
    thread: str
    run_id: str
    draft: int
    scenes: int
    created_at: datetime
    updated_at: datetime

    @property
    def alias(self) -> str:
        return self.id[-ALIAS:]


@dataclass(frozen=True, slots=True)
class DraftRow:
    """A draft without its words. `created_at` is when it was added."""

    draft: int
    source: str
    scenes: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class IdeaRow:
    """An idea stored with a script; `author_id` asked for it. Its `number` is unique within the script."""

    id: str
    number: int
    author_id: str
    text: str


class Scripts:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def all(self, reader: Reader) -> list[ScriptRow]:
        """The scripts that may be read, the newest drafts first."""
        from sqlalchemy import select

        from storage.tables import scripts

        query = select(*_columns()).where(*_readable(reader))
        return await self._db.rows(query.order_by(scripts.c.updated_at.desc()).limit(MOST), ScriptRow)

    async def read(self, reader: Reader, id: str) -> tuple[ScriptRow, str] | None:
        """A script that may be read, with its body, both at one moment."""
        from storage.tables import scripts

        query = scripts.select().where(*_readable(reader), scripts.c.id == id)
        row = (await self._db.execute(query)).one_or_none()
        if row is None:
            return None
        values = dict(row._mapping)
        body = values.pop("body")
        return ScriptRow(**values), body

    async def put(self, row: ScriptRow, body: str) -> None:
        """Store a new script, or a new draft of the same owner's script. Calling it again with the same run has no
        effect.

        The last FORMER drafts before it are kept.
        """
        from sqlalchemy import select

        from storage.tables import script_drafts as former
        from storage.tables import scripts

        new = self._db.insert(scripts).values(**asdict(row), body=body)
        renewed = ("title", "source", "run_id", "draft", "scenes", "updated_at")
        of_owner = (scripts.c.space == row.space, scripts.c.author_id == row.author_id)
        new_values = {name: getattr(row, name) for name in renewed} | {"body": body}
        earlier_draft = (*of_owner, scripts.c.run_id != row.run_id, scripts.c.id == row.id)
        t = scripts.c
        before = select(t.space, t.id, t.draft, t.source, t.scenes, t.updated_at, t.body).where(
            *earlier_draft
        )
        keep = self._db.insert(former).from_select(
            ["space", "script_id", "draft", "source", "scenes", "created_at", "body"], before
        )
        too_old = former.delete().where(
            former.c.space == row.space, former.c.script_id == row.id, former.c.draft < row.draft - FORMER
        )
        async with self._db.write() as connection:
            inserted = await connection.execute(new.on_conflict_do_nothing(index_elements=["id"]))
            if not inserted.rowcount:
                await connection.execute(keep.on_conflict_do_nothing())
                await connection.execute(scripts.update().where(*earlier_draft).values(new_values))
                await connection.execute(too_old)

    async def drafts(self, reader: Reader, id: str) -> list[DraftRow]:
        """The drafts that are kept of a script that may be read, the newest first."""
        from sqlalchemy import select

        from storage.tables import script_drafts as former
        from storage.tables import scripts

        t, readable = scripts.c, (*_readable(reader), scripts.c.id == id)
        newest = select(t.draft, t.source, t.scenes, t.updated_at.label("created_at")).where(*readable)
        columns = (former.c.draft, former.c.source, former.c.scenes, former.c.created_at)
        earlier = select(*columns).join(scripts).where(*readable).order_by(former.c.draft.desc())
        return [*await self._db.rows(newest, DraftRow), *await self._db.rows(earlier, DraftRow)]

    async def former(self, reader: Reader, id: str, draft: int) -> str | None:
        """The body of a draft before the newest one, of a script that may be read."""
        from sqlalchemy import select

        from storage.tables import script_drafts as former
        from storage.tables import scripts

        query = select(former.c.body).join(scripts)
        query = query.where(*_readable(reader), scripts.c.id == id, former.c.draft == draft)
        body: str | None = (await self._db.execute(query)).scalar()
        return body

    async def share(self, reader: Reader, id: str, visibility: Visibility) -> bool:
        """Let others read a script from now on ("thread" is the reader's thread); returns whether it is the reader's
        own.
        """
        from storage.tables import scripts

        own_scripts = (scripts.c.space == reader.space, scripts.c.author_id == reader.author_id)
        place = {"platform": reader.platform, "channel": reader.channel, "thread": reader.thread}
        shared = scripts.update().where(*own_scripts, scripts.c.author_id != "", scripts.c.id == id)
        return await self._db.run(shared.values(visibility=visibility, **place)) == 1

    async def remove(self, space: str, id: str) -> None:
        from storage.tables import scripts

        await self._db.run(scripts.delete().where(scripts.c.space == space, scripts.c.id == id))

    async def set_focus(self, reader: Reader, id: str, scene: int | None = None) -> None:
        """Set the thread's focus to this script, if the reader may, and to this scene; None keeps the scene."""
        from sqlalchemy import select

        from storage.tables import script_places as table
        from storage.tables import scripts

        place = {name: getattr(reader, name) for name in ("space", "platform", "channel", "thread")}
        readable = select(scripts.c.id).where(*_readable(reader), scripts.c.id == id)
        now = {"script_id": id, "scene": scene or 0}
        new = self._db.insert(table).values(**place, **now)
        async with self._db.write() as connection:
            if await connection.scalar(readable) is None:
                return
            if scene is None:
                in_place = [table.c[name] == value for name, value in place.items()]
                in_focus = select(table.c.script_id).where(*in_place, table.c.script_id == id)
                if await connection.scalar(in_focus) is not None:
                    return
            await connection.execute(new.on_conflict_do_update(index_elements=list(place), set_=now))

    async def focus(self, reader: Reader) -> tuple[str, int] | None:
        """The script of the reader's thread that they may read, by its id, and the scene in its focus, 0 for none."""
        from sqlalchemy import select

        from storage.tables import script_places as table
        from storage.tables import scripts

        in_place = [
            table.c[name] == getattr(reader, name) for name in ("space", "platform", "channel", "thread")
        ]
        query = select(table.c.script_id, table.c.scene).join(scripts).where(*in_place, *_readable(reader))
        row = (await self._db.execute(query)).one_or_none()
        return (row.script_id, row.scene) if row else None

    async def put_finding(self, space: str, id: str, key: str, body: str) -> None:
        """Store a part of the analysis of a script under this key; nothing for a deleted script."""
        from sqlalchemy import select

        from storage.tables import script_findings, scripts

        script_id = select(scripts.c.id).where(scripts.c.space == space, scripts.c.id == id)
        row = {"space": space, "script_id": id, "key": key, "body": body}
        new = self._db.insert(script_findings).values(row)
        async with self._db.write() as connection:
            if await connection.scalar(script_id) is not None:
                await connection.execute(
                    new.on_conflict_do_update(index_elements=["script_id", "key"], set_={"body": body})
                )

    async def findings(self, reader: Reader, id: str) -> dict[str, str]:
        """The parts of the analysis of a script that may be read: bodies by their keys."""
        from sqlalchemy import select

        from storage.tables import script_findings as table
        from storage.tables import scripts

        query = select(table.c.key, table.c.body).join(scripts).where(*_readable(reader), scripts.c.id == id)
        return {row.key: row.body for row in await self._db.execute(query)}

    async def retain_findings(self, space: str, id: str, keys: Collection[str]) -> None:
        """Delete the parts of the analysis of a script that have other keys."""
        from sqlalchemy import select

        from storage.tables import script_findings as table

        of_script = (table.c.space == space, table.c.script_id == id)
        async with self._db.write() as connection:
            stored_keys = (await connection.execute(select(table.c.key).where(*of_script))).scalars()
            for key in set(stored_keys) - set(keys):
                await connection.execute(table.delete().where(*of_script, table.c.key == key))

    async def keep_vectors(self, space: str, id: str, embedder: str, vectors: Mapping[str, bytes]) -> None:
        """Store scenes' vectors by the scenes' contents; nothing for a deleted script."""
        from sqlalchemy import select

        from storage.tables import script_vectors, scripts

        script_id = select(scripts.c.id).where(scripts.c.space == space, scripts.c.id == id)
        async with self._db.write() as connection:
            if await connection.scalar(script_id) is None:
                return
            for content, packed in vectors.items():
                row = {"space": space, "script_id": id, "embedder": embedder, "content": content}
                new = self._db.insert(script_vectors).values(**row, vectors=packed)
                await connection.execute(new.on_conflict_do_nothing())

    async def drop_vectors(self, space: str, id: str, embedder: str, contents: Collection[str]) -> None:
        """Forget the vectors of other embedders, and those of scenes with other contents."""
        from sqlalchemy import select

        from storage.tables import script_vectors as table

        of_script = (table.c.space == space, table.c.script_id == id)
        async with self._db.write() as connection:
            await connection.execute(table.delete().where(*of_script, table.c.embedder != embedder))
            stored_contents = (await connection.execute(select(table.c.content).where(*of_script))).scalars()
            for content in set(stored_contents) - set(contents):
                await connection.execute(table.delete().where(*of_script, table.c.content == content))

    async def vectors(self, reader: Reader, id: str, embedder: str) -> dict[str, bytes]:
        """The vectors of a script that may be read, by its scenes' contents."""
        from sqlalchemy import select

        from storage.tables import script_vectors as table
        from storage.tables import scripts

        of_script = (*_readable(reader), scripts.c.id == id, table.c.embedder == embedder)
        query = select(table.c.content, table.c.vectors).join(scripts).where(*of_script)
        return {row.content: row.vectors for row in await self._db.execute(query)}

    async def embedded(self, reader: Reader, id: str, embedder: str) -> set[str]:
        """The contents of the scenes that have vectors, of a script that may be read."""
        from sqlalchemy import select

        from storage.tables import script_vectors as table
        from storage.tables import scripts

        of_embedder = (*_readable(reader), scripts.c.id == id, table.c.embedder == embedder)
        return set(await self._db.column(select(table.c.content).join(scripts).where(*of_embedder)))

    async def keep_ideas(self, reader: Reader, id: str, run: str, texts: Sequence[str]) -> list[int]:
        """Store this run's ideas once, each under the next number. Returns their numbers; none if the script was
        deleted or may no longer be read."""
        from sqlalchemy import func, select

        from storage.tables import script_ideas as table
        from storage.tables import scripts

        script = select(scripts.c.id).where(*_readable(reader), scripts.c.id == id)
        of_run = (table.c.script_id == id, table.c.run_id == run)
        async with self._db.write() as connection:
            if await connection.scalar(script) is None:
                return []
            numbers_stored = (await connection.execute(select(table.c.number).where(*of_run))).scalars().all()
            if numbers_stored:
                return sorted(numbers_stored)
            last = await connection.scalar(select(func.max(table.c.number)).where(table.c.script_id == id))
            numbers = list(range((last or 0) + 1, (last or 0) + 1 + len(texts)))
            shared_values = {
                "space": reader.space,
                "script_id": id,
                "author_id": reader.author_id,
                "run_id": run,
            }
            rows = [
                {
                    **shared_values,
                    "id": f"{run}:{n}",
                    "number": n,
                    "text": text,
                    "created_at": datetime.now(UTC),
                }
                for n, text in zip(numbers, texts, strict=True)
            ]
            if rows:
                await connection.execute(table.insert(), rows)
            return numbers

    async def ideas(self, reader: Reader, id: str) -> list[IdeaRow]:
        """The ideas of a script that may be read, oldest first."""
        from sqlalchemy import select

        from storage.tables import script_ideas as table
        from storage.tables import scripts

        columns = (table.c.id, table.c.number, table.c.author_id, table.c.text)
        query = select(*columns).join(scripts).where(*_readable(reader), scripts.c.id == id)
        return await self._db.rows(query.order_by(table.c.number), IdeaRow)

    async def drop_idea(self, space: str, idea: str) -> None:
        from storage.tables import script_ideas as table

        await self._db.run(table.delete().where(table.c.space == space, table.c.id == idea))


def _columns() -> Sequence[ColumnElement[object]]:
    from storage.tables import scripts

    return [column for column in scripts.c if column.name != "body"]


def _readable(reader: Reader) -> tuple[ColumnElement[bool], ...]:
    """The condition for rows that the reader may read; it is defined only here."""
    from sqlalchemy import and_, or_

    from storage.tables import scripts

    t = scripts.c
    in_place = [t[name] == getattr(reader, name) for name in ("platform", "channel", "thread")]
    may = or_(
        and_(t.author_id == reader.author_id, t.author_id != ""),
        t.visibility == "space",
        and_(t.visibility == "thread", t.platform != "", *in_place),
    )
    return t.space == reader.space, may
