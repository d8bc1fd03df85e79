"""Takes back what a person asked: its words, its answers and what the answer offered, all of it or nothing.

Knows nothing of what a request asks: the payload that stays is the caller's.
"""

from __future__ import annotations

from storage.db import Database
from storage.inbox import UNFINISHED


class Withdrawals:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def withdraw(self, space: str, run: str, payload: str, title: str = "") -> bool:
        """Keep `payload` of the request, stopped unless it has ended, and no row of a table that goes with its run.

        A conversation of the same person and place that is called `title`, by the request's own words, loses
        its name. False, changing nothing, where this space has no such run.
        """
        from sqlalchemy import case

        from storage.ownership import ownership
        from storage.tables import inbox, metadata, sessions

        this_run = (inbox.c.space == space, inbox.c.id == run)
        unfinished = inbox.c.state.in_(UNFINISHED)
        async with self._db.write() as connection:
            row = (await connection.execute(inbox.select().where(*this_run))).one_or_none()
            if row is None:
                return False
            # In one with the words: a run without any must not be brought back by a crash.
            state = case((unfinished, "stopped"), else_=inbox.c.state)
            await connection.execute(inbox.update().where(*this_run).values(payload=payload, state=state))
            for table in metadata.sorted_tables:
                if (declared := ownership(table)).goes_with == "run":
                    rows_of_run = (table.c.space == space, table.c[declared.run] == run)
                    await connection.execute(table.delete().where(*rows_of_run))
                elif declared.blanked:  # what stays are the words of others, and of models
                    rows_of_run = (table.c.space == space, table.c[declared.run] == run)
                    has_person = table.c[declared.people[0].column] != ""
                    emptied = dict.fromkeys(declared.blanked, "")
                    await connection.execute(table.update().where(*rows_of_run, has_person).values(emptied))
            named = (
                sessions.c.space == space,
                sessions.c.platform == row.platform,
                sessions.c.channel == row.channel,
                sessions.c.thread == row.thread,
                sessions.c.author_id == row.author_id,
                sessions.c.title == title,
            )
            await connection.execute(sessions.update().where(*named).values(title=""))
        return True
