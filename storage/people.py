"""All rows about one person in one space: counted, exported, deleted, as the tables declare it.

Knows nothing of what a request asks: the caller rewrites its payload without the person. `before` is the run that asks
for this; it and the person's later requests stay unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from storage.db import Database

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Select, Table
    from sqlalchemy.ext.asyncio import AsyncConnection

    from storage.ownership import PersonRule

Rows: TypeAlias = dict[str, list[dict[str, Any]]]
"""For each table the rows, each by column."""


class People:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def runs(self, space: str, person: str, before: str) -> Sequence[str]:
        """The requests of the person before that one, in order."""
        from storage.tables import inbox

        run_ids = _runs_of(space, person, before).order_by(inbox.c.seq)
        return await self._db.column(run_ids)

    async def shared_with(self, space: str, person: str, before: str) -> Sequence[str]:
        """Other people's runs in the person's places: their steps may contain the person's words."""
        from sqlalchemy import and_, or_, select

        from storage.tables import exchanges, inbox, sessions

        i, s, e = inbox.c, sessions.c, exchanges.c
        in_it = select(e.session_id).where(e.space == space, e.run_id.in_(_runs_of(space, person, before)))
        shared = select(s.id).where(s.space == space, or_(s.author_id == person, s.id.in_(in_it)))
        sessions_with_others = select(s.id).where(
            s.id.in_(shared), *(s[name] == i[name] for name in ("space", "platform", "channel", "thread"))
        )
        answered = select(e.run_id).where(e.space == space, e.session_id.in_(shared))
        query = select(i.id).where(
            and_(
                i.space == space,
                i.author_id != person,
                or_(sessions_with_others.exists(), i.id.in_(answered)),
            )
        )
        return await self._db.column(query.order_by(i.seq))

    async def count(self, space: str, person: str, before: str) -> dict[str, int]:
        """How many rows of each table `delete` deletes, or empties of words; rows that lose only the name are not
        counted.
        """
        from sqlalchemy import func, select

        async with self._db.read() as connection:
            return {
                table.name: int(
                    await connection.scalar(
                        select(func.count())
                        .select_from(table)
                        .where(*_about(table, space, person, before, to_delete=True))
                    )
                    or 0
                )
                for table in _tables()
            }

    async def rows_about(self, space: str, person: str, before: str) -> Rows:
        """All rows about the person, without other people's words."""
        rows_by_table: Rows = {}
        async with self._db.read() as connection:
            for table in _tables():
                query = table.select().where(*_about(table, space, person, before))
                rows = await connection.execute(query.order_by(*table.primary_key.columns))
                rows_by_table[table.name] = [dict(row._mapping) for row in rows]
        return rows_by_table

    async def delete(self, space: str, person: str, before: str, rewrite: Callable[[str], str]) -> None:
        """Delete all data and every mention of the person's name, completely or not at all.

        `rewrite` returns a request's payload without the person. The engine's data of their runs stays.
        """
        from storage.ownership import going, ownership
        from storage.tables import inbox, metadata

        if not person:
            return
        # The inbox comes last: it says whose runs the others' are.
        tables = sorted(metadata.sorted_tables, key=lambda table: table is inbox)
        async with self._db.write() as connection:
            for table in tables:
                declared = ownership(table)
                if declared.goes_with:
                    of_person = table.c[declared.run].in_(_runs_of(space, person, before))
                    its_rows = (table.c.space == space, of_person, *going(table))
                    await connection.execute(table.delete().where(*its_rows))
                elif declared.to == "cache":
                    await connection.execute(table.delete().where(table.c.space == space))
            for table in tables:
                for rule in ownership(table).people:
                    where = _by(table, rule, space, person, before)
                    await _leave_out(connection, table, rule, where, rewrite)
        await self._db.scrub()


def _tables() -> Iterator[Table]:
    """The tables whose rows belong to people, except copies."""
    from storage.ownership import ownership
    from storage.tables import metadata

    for table in metadata.sorted_tables:
        declared = ownership(table)
        if (declared.people or declared.run) and not declared.copies:
            yield table


def _runs_of(space: str, person: str, before: str, *, later: bool = False) -> Select[str]:
    """The ids of the person's runs that came before, or (`later`) of that one and those after it."""
    from sqlalchemy import select

    from storage.tables import inbox

    at = select(inbox.c.seq).where(inbox.c.id == before).scalar_subquery()
    by_person = (inbox.c.space == space, inbox.c.author_id == person, inbox.c.author_id != "")
    return select(inbox.c.id).where(*by_person, inbox.c.seq >= at if later else inbox.c.seq < at)


def _about(
    table: Table, space: str, person: str, before: str, *, to_delete: bool = False
) -> tuple[ColumnElement[bool], ...]:
    """The rows of the table that are about the person: those that name the person, or that belong to one of their runs.

    `to_delete`: only rows that are deleted with the person or lose more than the name.
    """
    from sqlalchemy import false, or_

    from storage.ownership import ownership

    declared = ownership(table)
    rules = [rule for rule in declared.people if not to_delete or rule.then == "delete" or rule.rewritten]
    conditions = [_by(table, rule, space, person, before) for rule in rules]
    # A row that names its person is theirs, even if it is about another person's run.
    if declared.run and not declared.people and (declared.goes_with or declared.within or not to_delete):
        conditions.append(table.c[declared.run].in_(_runs_of(space, person, before)))
    return table.c.space == space, or_(false(), *conditions)


def _by(table: Table, rule: PersonRule, space: str, person: str, before: str) -> ColumnElement[bool]:
    from sqlalchemy import and_

    from storage.ownership import ownership

    named = [table.c.space == space, table.c[rule.column] == person, table.c[rule.column] != ""]
    named += [table.c[name] == value for name, value in rule.where.items()]
    if run := ownership(table).run:
        named.append(table.c[run].not_in(_runs_of(space, person, before, later=True)))
    return and_(*named)


async def _leave_out(
    connection: AsyncConnection,
    table: Table,
    rule: PersonRule,
    where: ColumnElement[bool],
    rewrite: Callable[[str], str],
) -> None:
    """Apply the rule to these rows."""
    from sqlalchemy import bindparam, select

    if rule.then == "delete":
        deletion = table.delete().where(where)
        if rule.held_by:
            holder, column = rule.held_by.split(".")
            still_referenced = table.metadata.tables[holder].c[column]
            (key,) = table.primary_key.columns
            deletion = deletion.where(key.not_in(select(still_referenced)))
        await connection.execute(deletion)
        if not rule.held_by:
            return
    for column in rule.rewritten:
        rows = (await connection.execute(select(table.c.id, table.c[column]).where(where))).all()
        if rows:
            anew = table.update().where(table.c.id == bindparam("of")).values({column: bindparam("to")})
            await connection.execute(anew, [{"of": id, "to": rewrite(stored)} for id, stored in rows])
    emptied = dict.fromkeys((rule.column, *rule.emptied), "")
    await connection.execute(table.update().where(where).values(emptied))
