"""Divides numbered things evenly among the processes that share a database and have joined.

Does not know what they are. The advisory locks of the leases show which process has which, so a killed process has
none.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from storage.advisory_locks import CLAIM, MEMBER, PROCESS, lock_holders

if TYPE_CHECKING:
    from storage.db import Database
    from storage.lease import Lease

LEFT_S: Final = 10.0
"""After so long a number that nobody has is taken by any process, also by one that has its share."""


class Share:
    """The share of this process. `join`, then `look` now and then; `give` one away if `surplus` is set."""

    def __init__(
        self, database: Database, lease: Lease, name: str, count: int, only: Sequence[int] = ()
    ) -> None:
        """Numbers from 0 to `count` - 1. With `only`, this process takes those and no others, and gives none away."""
        self.name = name
        self.count = count
        self.numbers: set[int] = set()
        self.surplus = False
        """Whether another process has two less than this one, and nothing else is free."""
        self.members = 1
        """How many processes have joined, as far as the last look told."""
        self._database = database
        self._lease = lease
        self._only = only
        self._free_since: dict[int, float] = {}
        self._given_at: dict[int, float] = {}

    async def join(self) -> None:
        """Take part in sharing, as long as the lease is kept."""
        await self._lease.join(self.name)

    async def leave(self) -> None:
        """Stop sharing: the others then take at once what this process gives. Do not `look` afterwards."""
        await self._lease.part(self.name)

    async def look(self) -> set[int]:
        """Take free numbers up to this process's share; returns the new ones. Raises StorageFault."""
        names = {part_name(self.name, number): number for number in self._only or range(self.count)}
        if not (me := self._lease.backend):
            self.surplus = False
            return set()
        holders = await lock_holders(self._database.execute, CLAIM, names)
        owners = {names[name]: pids[0] for name, pids in holders.items()}
        members = set(
            (await lock_holders(self._database.execute, MEMBER, [self.name])).get(self.name, ())
        ) | {me}
        self.members = len(members)
        now = asyncio.get_running_loop().time()
        free = [number for number in names.values() if number not in owners and number not in self.numbers]
        self._free_since = {number: self._free_since.get(number, now) for number in free}
        of_each = Counter(dict.fromkeys(members, 0))
        of_each.update(owner for owner in owners.values() if owner in members)
        mine = len(self.numbers)
        fair = -(-self.count // len(members))
        if self._only:
            claims, self.surplus = free, False
        else:
            # Processes that look at the same time begin at different numbers.
            first = sorted(members).index(me) * fair
            available = [number for number in free if now - self._given_at.get(number, -math.inf) >= LEFT_S]
            next_numbers = sorted(available, key=lambda number: (number - first) % self.count)[
                : max(0, fair - mine)
            ]
            abandoned = {number for number, since in self._free_since.items() if now - since > LEFT_S}
            claims = sorted(abandoned.union(next_numbers))
            most = max(of_each.values())
            givers = [member for member, n in of_each.items() if n == most]
            least = min(of_each.values())
            self.surplus = not free and me == min(givers) and most - least >= 2
        claimed = await self._lease.try_claim([part_name(self.name, number) for number in claims])
        gained = {names[name] for name in claimed}
        self.numbers |= gained
        return gained

    async def give(self, number: int) -> None:
        """Release the number, so that another process can take it."""
        self.numbers.discard(number)
        self._given_at[number] = asyncio.get_running_loop().time()
        self.surplus = False
        await self._lease.unclaim(part_name(self.name, number))

    async def elsewhere(self, number: int) -> bool:
        """Whether another process has it. Raises StorageFault."""
        name = part_name(self.name, number)
        return any(
            pid != self._lease.backend
            for pid in (await lock_holders(self._database.execute, CLAIM, [name])).get(name, ())
        )

    async def turn(self, what: str, every_s: float) -> None:
        """Return when it is this process's turn for something that none may do sooner than so many seconds after
        another has. One that is killed while it waits holds nobody up. Raises StorageFault.
        """
        from sqlalchemy import text

        parameters = {"name": f"{self.name}.{what}", "every_s": every_s}
        while not await self._database.column(text(_TAKE_TURN), **parameters):
            wait = await self._database.column(text(_NEXT_TURN), **parameters)
            await asyncio.sleep(max([0.0, *wait]))


# The mark holds the moment of the last turn.
_NOW = "extract(epoch FROM clock_timestamp())"
_TAKE_TURN = (
    f"INSERT INTO marks (name, value, updated_at) VALUES (:name, CAST({_NOW} AS text), clock_timestamp())"
    f" ON CONFLICT (name) DO UPDATE SET updated_at = clock_timestamp(), value = CAST({_NOW} AS text)"
    f" WHERE CAST(marks.value AS float8) + :every_s <= {_NOW} RETURNING name"
)
_NEXT_TURN = f"SELECT CAST(value AS float8) + :every_s - {_NOW} FROM marks WHERE name = :name"


def part_name(name: str, number: int) -> str:
    """The name of a part; the first part has the name of the whole, as before there were parts."""
    return f"{name}.{number}" if number else name


async def agreed(database: Database, lease: Lease, name: str, own: int) -> tuple[int, bool]:
    """The number of parts that the other processes use, otherwise `own`; and whether there are other processes. Raises
    StorageFault.
    """
    count, others = await agreed_on(database, lease, f"{name}.parts.", str(own))
    return int(count), others


async def agreed_on(database: Database, lease: Lease, prefix: str, own: str) -> tuple[str, bool]:
    """The value that the other processes have agreed on under a prefix of marks, otherwise `own`; and whether any other
    process has. Raises StorageFault.
    """
    from sqlalchemy import select

    from storage.tables import marks as t

    async with database.write(alone=prefix) as connection:
        rows = await connection.execute(
            select(t.c.name, t.c.value).where(t.c.name.startswith(prefix, autoescape=True))
        )
        values = {row.name.removeprefix(prefix): str(row.value) for row in rows}
        alive = await lock_holders(connection.execute, PROCESS, values)
        dead = [prefix + process for process in values if process not in alive]
        await connection.execute(t.delete().where(t.c.name.in_([*dead, prefix + lease.id])))
        others = [values[process] for process in alive if process != lease.id]
        value = others[0] if others else own
        ours = {"name": prefix + lease.id, "value": value, "updated_at": datetime.now(UTC)}
        await connection.execute(t.insert().values(ours))
    return value, bool(others)
