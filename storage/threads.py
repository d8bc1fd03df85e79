"""Which of a platform's threads the bot holds, and which conversation each of them is.

A conversation that opens a thread has a name of its own before the thread exists; here the two are bound.
Knows no platform: every id is the caller's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.db import Database

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """`thread` is the conversation's name in its `channel`, `real` the platform's id of the thread it is in.

    `free_chat`: plain text there is for the bot; None where nobody has chosen. `explained`: people were told once
    how to go on there.
    """

    space: str
    channel: str
    thread: str
    real: str
    free_chat: bool | None
    explained: bool


class Threads:
    """One real thread holds one conversation, and a conversation is in one real thread at most."""

    def __init__(self, db: Database) -> None:
        from sqlalchemy import bindparam

        from storage.tables import threads as t

        self._db = db
        # Every run asks this: to build a statement costs more than to execute it.
        names = {"space": t.c.space, "channel": t.c.channel, "thread": t.c.thread}
        self._in_place = t.select().where(*(column == bindparam(name) for name, column in names.items()))

    async def bind(self, space: str, channel: str, thread: str, real: str) -> None:
        """The conversation is in this real thread from now on. Binding again what is bound changes nothing."""
        from storage.tables import threads as t

        new = self._db.insert(t).values(
            space=space, channel=channel, thread=thread, real=real, explained=False
        )
        async with self._db.write() as connection:
            bound = (await connection.execute(t.select().where(*_held(space, real)))).one_or_none()
            if bound is not None and (bound.channel, bound.thread) == (channel, thread):
                return
            await connection.execute(t.delete().where(*_held(space, real)))
            await connection.execute(
                new.on_conflict_do_update(
                    index_elements=["space", "channel", "thread"],
                    set_={"real": real, "free_chat": None, "explained": False},
                )
            )

    async def real(self, space: str, channel: str, thread: str) -> str | None:
        """The real thread that the conversation is in."""
        place = {"space": space, "channel": channel, "thread": thread}
        row = await self._db.row(self._in_place, ThreadRow, **place)
        return row.real if row else None

    async def held(self, space: str, real: str) -> ThreadRow | None:
        """What the bot holds in a real thread; None where it holds nothing."""
        from storage.tables import threads as t

        return await self._db.row(t.select().where(*_held(space, real)), ThreadRow)

    async def set_free_chat(self, space: str, real: str, on: bool) -> bool:
        """Whether plain text there is for the bot; False, changing nothing, where it holds nothing."""
        from storage.tables import threads as t

        return await self._db.run(t.update().where(*_held(space, real)).values(free_chat=on)) == 1

    async def explained(self, space: str, real: str) -> bool:
        """True the first time it is asked of a thread that the bot holds, False ever after."""
        from storage.tables import threads as t

        first = t.update().where(*_held(space, real), ~t.c.explained).values(explained=True)
        return await self._db.run(first) == 1

    async def forget(self, space: str, real: str) -> bool:
        """The thread is gone; whether the bot held it."""
        from storage.tables import threads as t

        return await self._db.run(t.delete().where(*_held(space, real))) == 1


def _held(space: str, real: str) -> tuple[ColumnElement[bool], ...]:
    from storage.tables import threads as t

    return t.c.space == space, t.c.real == real
