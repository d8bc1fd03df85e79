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

        from storage.belonging import belonging
        from storage.tables import inbox, metadata, sessions

        mine = (inbox.c.space == space, inbox.c.id == run)
        unfinished = inbox.c.state.in_(UNFINISHED)
        async with self._db.write() as connection:
            row = (await connection.execute(inbox.select().where(*mine))).one_or_none()
            if row is None:
                return False
            # In one with the words: a run without any must not be brought back by a crash.
            state = case((unfinished, "stopped"), else_=inbox.c.state)
            await connection.execute(inbox.update().where(*mine).values(payload=payload, state=state))
            for kept in metadata.sorted_tables:
                if (declared := belonging(kept)).goes_with == "run":
                    its = (kept.c.space == space, kept.c[declared.run] == run)
                    await connection.execute(kept.delete().where(*its))
                elif declared.blanked:  # what stays are the words of others, and of models
                    its = (kept.c.space == space, kept.c[declared.run] == run)
                    theirs = kept.c[declared.people[0].column] != ""
                    emptied = dict.fromkeys(declared.blanked, "")
                    await connection.execute(kept.update().where(*its, theirs).values(emptied))
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
