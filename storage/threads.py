"""Which of a platform's threads the bot holds, and which conversation each of them is.

A conversation that opens a thread has a name of its own before the thread exists; here the two are bound.
Knows no platform: every id is the caller's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from storage.db import Database

if TYPE_CHECKING:
    from sqlalchemy import BindParameter, ColumnElement

    Text = str | BindParameter[str]


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
        # Every run asks these: to build a statement costs more than to execute it.
        names = {"space": t.c.space, "channel": t.c.channel, "thread": t.c.thread}
        self._in_place = t.select().where(*(column == bindparam(name) for name, column in names.items()))
        held = _held(bindparam("of_space"), bindparam("of_thread"))
        self._held, self._let_go = t.select().where(*held), t.delete().where(*held)
        new = db.insert(t)
        moved = {"real": new.excluded.real, "free_chat": None, "explained": False}
        self._bind = new.on_conflict_do_update(index_elements=list(names), set_=moved)

    async def bind(self, space: str, channel: str, thread: str, real: str) -> None:
        """The conversation is in this real thread from now on. Binding again what is bound changes nothing."""
        held = {"of_space": space, "of_thread": real}
        new = {"space": space, "channel": channel, "thread": thread, "real": real, "explained": False}
        async with self._db.write() as connection:
            bound = (await connection.execute(self._held, held)).one_or_none()
            if bound is not None and (bound.channel, bound.thread) == (channel, thread):
                return
            await connection.execute(self._let_go, held)
            await connection.execute(self._bind, new)

    async def real(self, space: str, channel: str, thread: str) -> str | None:
        """The real thread that the conversation is in."""
        place = {"space": space, "channel": channel, "thread": thread}
        row = await self._db.row(self._in_place, ThreadRow, **place)
        return row.real if row else None

    async def held(self, space: str, real: str) -> ThreadRow | None:
        """What the bot holds in a real thread, "" for none; None where it holds nothing."""
        return await self._db.row(self._held, ThreadRow, of_space=space, of_thread=real) if real else None

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
        return await self._db.run(self._let_go, of_space=space, of_thread=real) == 1


def _held(space: Text, real: Text) -> tuple[ColumnElement[bool], ...]:
    from storage.tables import threads as t

    return t.c.space == space, t.c.real == real
