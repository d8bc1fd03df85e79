"""The ledger of spending: every paid call first reserves an estimate, if the caps allow it, then settles.

Knows no prices, and only the caps it is given. While a call is in progress, its row holds the usage so far; after a
crash `settle_killed` settles it with that at the next start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from storage.db import Database, new_id

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Select
    from sqlalchemy.ext.asyncio import AsyncConnection

Settled = Literal["settled", "stopped", "failed"]
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
Capped = Literal["run", "space", "run_tokens", "space_tokens"]
Whose = Literal["person", "channel", "space"]
Per = Literal["day", "month"]
_IN_TOKENS: dict[Capped, Capped] = {"run": "run_tokens", "space": "space_tokens"}


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One paid call, or the `calls` of an old run. Dollars are None where the model's price is not known."""

    id: str
    space: str
    run_id: str
    step: str
    author_id: str
    model: str
    state: Literal["reserved", "settled", "stopped", "failed"]
    estimate_tokens: int
    estimate_usd: Decimal | None
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: Decimal | None
    created_at: datetime
    settled_at: datetime | None
    calls: int = 1
    work: str = ""
    process: str = ""
    channel: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over calls; the `reserved_*` ones over calls not settled (yet, or ever).

    `unpriced` counts the calls whose dollars are not known and so are in no sum.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: Decimal
    reserved_calls: int
    reserved_tokens: int
    reserved_usd: Decimal
    unpriced: int


@dataclass(frozen=True, slots=True)
class Share:
    """What one person has spent on one kind of work, "" if the request is no longer stored."""

    author_id: str
    work: str
    totals: Totals


@dataclass(frozen=True, slots=True)
class Group:
    """What one person has spent on one day in UTC, such as "2026-11-29", on one work, with one model, in one channel.

    A field is "" if it is no longer known.
    """

    day: str
    author_id: str
    work: str
    model: str
    channel: str
    totals: Totals


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most dollars or tokens that all calls of a person, a channel (`of` is its id) or the space may use since
    `since`, the beginning of the day or month."""

    whose: Whose
    of: str
    per: Per
    since: datetime
    usd: Decimal | None = None
    tokens: int | None = None

    @property
    def kind(self) -> str:
        """Such as "person_day"."""
        return f"{self.whose}_{self.per}"


@dataclass(frozen=True, slots=True)
class Caps:
    """The most dollars and tokens that a run may use, and its space since `since`; None for no cap. `allowances` are
    caps besides these."""

    run_usd: Decimal | None
    space_usd: Decimal | None
    since: datetime
    run_tokens: int | None = None
    space_tokens: int | None = None
    allowances: Sequence[Allowance] = ()


@dataclass(frozen=True, slots=True)
class UsedSoFar:
    """What a call under way has used so far; dollars are None where the model's price is not known."""

    space: str
    entry: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: Decimal | None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the answers of a session have cost; `title` may be ""."""

    title: str
    totals: Totals


class OverCap(Exception):
    """The call might use more than the cap leaves; nothing was reserved. `spent` is without this call.

    Both are dollars, or tokens where `kind` says so. `allowance` is the one that leaves too little, if it is one.
    """

    def __init__(
        self, kind: Capped, spent: Decimal, cap: Decimal, allowance: Allowance | None = None
    ) -> None:
        super().__init__(f"{spent} of {cap} are spent: {kind}")
        self.kind, self.spent, self.cap, self.allowance = kind, spent, cap, allowance


class Ledger:
    def __init__(self, db: Database) -> None:
        from sqlalchemy import bindparam, case, func, select

        from storage.processes import is_ownerless
        from storage.tables import ledger as t

        self._db = db
        # Prepared once, because every model call uses them and building a statement costs more than executing it.
        self._reserve = t.insert()
        reserved = (t.c.space == bindparam("of_space"), t.c.id == bindparam("entry"), t.c.state == "reserved")
        self._settle = t.update().where(*reserved)
        self._progress = self._settle.values(
            {name: bindparam(f"now_{name}") for name in (*_TOKENS, "cost_usd")}
        )
        self._reserve_again = self._settle.values(
            estimate_tokens=t.c.estimate_tokens + bindparam("more_tokens"),
            estimate_usd=t.c.estimate_usd + bindparam("more_usd", type_=t.c.estimate_usd.type),
        )
        self._settle_killed = (
            t.update()
            .where(
                t.c.state == "reserved",
                t.c.input_tokens + t.c.cache_read_tokens + t.c.cache_write_tokens > 0,
                is_ownerless(t.c.process, bindparam("gone")),
            )
            .values(state="stopped", settled_at=bindparam("now"))
        )
        # The cost of settled calls, and the estimate of calls that are not settled.
        usd = case((t.c.state == "reserved", t.c.estimate_usd), else_=t.c.cost_usd)
        used = case((t.c.state == "reserved", t.c.estimate_tokens), else_=sum(t.c[name] for name in _TOKENS))
        # Calls known to be free pass every cap and count against none.
        tokens = case((usd == 0, 0), else_=used)
        sums = func.coalesce(func.sum(usd), 0, type_=t.c.cost_usd.type), func.coalesce(func.sum(tokens), 0)
        spent = select(*sums).where(t.c.space == bindparam("space"))
        self._spent: dict[str, Select[Any]] = {
            "run": spent.where(t.c.run_id == bindparam("run")),
            "space": spent.where(t.c.created_at >= bindparam("since")),
        }
        since = self._spent["space"]
        self._used: dict[Whose, Select[Any]] = {
            "person": since.where(t.c.author_id == bindparam("of")),
            "channel": since.where(t.c.channel == bindparam("of")),
            "space": since,
        }

    async def reserve(
        self,
        space: str,
        run_id: str,
        step: str,
        author_id: str,
        model: str,
        estimate_tokens: int,
        estimate_usd: Decimal | None,
        caps: Caps | None = None,
        *,
        input_tokens: int = 0,
        cache_write_tokens: int = 0,
        input_usd: Decimal | None = None,
        channel: str = "",
    ) -> str:
        """Reserve an estimate before the call. Returns the entry's id.

        Of the estimate, `input_tokens`, `cache_write_tokens` and `input_usd` are for reading the prompt: they are what
        the call costs if a crash comes before any of the answer. Raises OverCap, and reserves nothing, if settled and
        reserved usage together with this call exceed a cap. Unknown dollars count as nothing; a call that is known to
        be free is not refused.
        """
        row = {
            "id": new_id(),
            "space": space,
            "run_id": run_id,
            "step": step,
            "author_id": author_id,
            "model": model,
            "state": "reserved",
            "estimate_tokens": estimate_tokens,
            "estimate_usd": estimate_usd,
            "input_tokens": input_tokens,
            "output_tokens": 0,
            "cache_read_tokens": 0,
            "cache_write_tokens": cache_write_tokens,
            "cost_usd": input_usd,
            "created_at": datetime.now(UTC),
            "process": self._db.process,
            "channel": channel,
        }
        capped = caps if estimate_usd != 0 else None
        # One after another; otherwise two calls at once would both fit into room for one.
        async with self._db.write(alone=f"ledger {space}" if capped else "") as connection:
            if capped is not None:
                await self._check(connection, space, run_id, estimate_tokens, estimate_usd, capped)
            await connection.execute(self._reserve, row)
        return str(row["id"])

    async def reserve_again(
        self, space: str, run_id: str, entry: str, tokens: int, usd: Decimal | None, caps: Caps
    ) -> None:
        """Reserve the same again for the entry's call, because it is repeated. Raises OverCap."""
        async with self._db.write(alone=f"ledger {space}") as connection:
            if usd != 0:
                await self._check(connection, space, run_id, tokens, usd, caps)
            parameters = {"of_space": space, "entry": entry, "more_tokens": tokens, "more_usd": usd}
            await connection.execute(self._reserve_again, parameters)

    async def _check(
        self,
        connection: AsyncConnection,
        space: str,
        run_id: str,
        estimate_tokens: int,
        estimate_usd: Decimal | None,
        caps: Caps,
    ) -> None:
        parameters = {"space": space, "run": run_id, "since": caps.since}
        limits: dict[Capped, tuple[Decimal | None, int | None]] = {
            "run": (caps.run_usd, caps.run_tokens),
            "space": (caps.space_usd, caps.space_tokens),
        }
        for kind, (usd, tokens) in limits.items():
            if usd is None and tokens is None:
                continue
            spent, used = (await connection.execute(self._spent[kind], parameters)).one()
            if usd is not None and spent + (estimate_usd or 0) > usd:
                raise OverCap(kind, spent, usd)
            if tokens is not None and used + estimate_tokens > tokens:
                raise OverCap(_IN_TOKENS[kind], Decimal(used), Decimal(tokens))
        for allowance in caps.allowances:
            parameters = {"space": space, "since": allowance.since}
            parameters |= {} if allowance.whose == "space" else {"of": allowance.of}
            spent, used = (await connection.execute(self._used[allowance.whose], parameters)).one()
            if allowance.usd is not None and spent + (estimate_usd or 0) > allowance.usd:
                raise OverCap("space", spent, allowance.usd, allowance)
            if allowance.tokens is not None and used + estimate_tokens > allowance.tokens:
                raise OverCap("space_tokens", Decimal(used), Decimal(allowance.tokens), allowance)

    async def used(self, space: str, allowance: Allowance) -> tuple[Decimal, int]:
        """Dollars and tokens that count against an allowance: what calls have used since, or may still use."""
        scope = {} if allowance.whose == "space" else {"of": allowance.of}
        query = self._used[allowance.whose]
        usd, tokens = (await self._db.execute(query, space=space, since=allowance.since, **scope)).one()
        return usd, int(tokens)

    async def spent(self, space: str, since: datetime) -> tuple[Decimal, int]:
        """Dollars and tokens that the space's calls have used since, or may still use, as its caps count them."""
        usd, tokens = (await self._db.execute(self._spent["space"], space=space, since=since)).one()
        return usd, int(tokens)

    async def settle(
        self,
        space: str,
        entry: str,
        *,
        input_tokens: int,
        output_tokens: int,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
        cost_usd: Decimal | None,
        state: Settled = "settled",
    ) -> None:
        """Replace the estimate by the real usage. An entry is settled once; later calls change nothing."""
        await self._db.run(
            self._settle,
            of_space=space,
            entry=entry,
            state=state,
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            cache_read_tokens=cache_read_tokens,
            cache_write_tokens=cache_write_tokens,
            cost_usd=cost_usd,
            settled_at=datetime.now(UTC),
        )

    async def progress(self, calls: Sequence[UsedSoFar]) -> None:
        """Note what calls in progress have used so far. Does not change settled entries."""
        rows = [
            {
                "of_space": call.space,
                "entry": call.entry,
                "now_input_tokens": call.input_tokens,
                "now_output_tokens": call.output_tokens,
                "now_cache_read_tokens": call.cache_read_tokens,
                "now_cache_write_tokens": call.cache_write_tokens,
                "now_cost_usd": call.cost_usd,
            }
            for call in calls
        ]
        async with self._db.write() as connection:
            await connection.execute(self._progress, rows)

    async def settle_killed(self, process: str = "") -> int:
        """Settle the unfinished calls of this process, or of one that has ended, by their last noted usage. Returns how
        many. Call it before this process makes calls. Calls of releases that noted nothing keep their estimate.
        """
        async with self._db.write() as connection:
            values = {"now": datetime.now(UTC), "gone": process}
            killed = await connection.execute(self._settle_killed, values)
        return int(killed.rowcount)

    async def totals(self, space: str, since: datetime, *, author_id: str | None = None) -> Totals:
        """Sums over the calls begun at `since` or later, of one author if given."""
        from sqlalchemy import select

        from storage.tables import ledger

        query = select(*_sums()).where(ledger.c.space == space, ledger.c.created_at >= since)
        if author_id is not None:
            query = query.where(ledger.c.author_id == author_id)
        return Totals(*(await self._db.execute(query)).one())

    async def shares(self, space: str, since: datetime, *, author_id: str | None = None) -> list[Share]:
        """Those sums for each person and kind of work, in no order; of one author if given."""
        from sqlalchemy import and_, func, select

        from storage.tables import inbox, ledger

        work = func.coalesce(inbox.c.work, ledger.c.work)
        on_run = and_(inbox.c.id == ledger.c.run_id, inbox.c.space == ledger.c.space)
        query = (
            select(ledger.c.author_id, work, *_sums())
            .select_from(ledger.outerjoin(inbox, on_run))
            .where(ledger.c.space == space, ledger.c.created_at >= since)
            .group_by(ledger.c.author_id, work)
        )
        if author_id is not None:
            query = query.where(ledger.c.author_id == author_id)
        rows = await self._db.execute(query)
        return [Share(author, work, Totals(*sums)) for author, work, *sums in rows]

    async def groups(self, space: str, since: datetime, *, author_id: str | None = None) -> list[Group]:
        """The sums of `totals` by day, person, work, model and channel, in this order; of one author if given."""
        from sqlalchemy import and_, func, select

        from storage.tables import inbox, ledger

        at, of_work = ledger.c.created_at, func.coalesce(inbox.c.work, ledger.c.work)
        by = (self._db.day(at), ledger.c.author_id, of_work, ledger.c.model, ledger.c.channel)
        on_run = and_(inbox.c.id == ledger.c.run_id, inbox.c.space == ledger.c.space)
        query = (
            select(*(column.label(f"by_{n}") for n, column in enumerate(by)), *_sums())
            .select_from(ledger.outerjoin(inbox, on_run))
            .where(ledger.c.space == space, at >= since)
            .group_by(*(f"by_{n}" for n in range(len(by))))
            .order_by(*(f"by_{n}" for n in range(len(by))))
        )
        if author_id is not None:
            query = query.where(ledger.c.author_id == author_id)
        return [
            Group(day, author, work, model, channel, Totals(*sums))
            for day, author, work, model, channel, *sums in await self._db.execute(query)
        ]

    async def conversation(
        self, space: str, platform: str, channel: str, thread: str, *, author_id: str | None = None
    ) -> Conversation | None:
        """The cost of all answers in the place's active session, only for one author's questions if given; None if
        there is no session or nothing was billed."""
        from sqlalchemy import and_, func, select

        from storage.sessions import active_at
        from storage.tables import exchanges, ledger, sessions

        answered = and_(exchanges.c.run_id == ledger.c.run_id, exchanges.c.space == ledger.c.space)
        query = (
            select(func.max(sessions.c.title), *_sums())
            .select_from(ledger.join(exchanges, answered).join(sessions))
            .where(*active_at(space, platform, channel, thread), ledger.c.space == space)
        )
        if author_id is not None:
            query = query.where(ledger.c.author_id == author_id)
        title, *sums = (await self._db.execute(query)).one()
        totals = Totals(*sums)
        return Conversation(title, totals) if totals.calls else None

    async def entries(self, space: str, run_id: str) -> list[LedgerRow]:
        """A run's calls, oldest first."""
        from storage.tables import ledger

        query = (
            ledger.select().where(ledger.c.space == space, ledger.c.run_id == run_id).order_by(ledger.c.id)
        )
        return await self._db.rows(query, LedgerRow)


def _sums() -> list[ColumnElement[Any]]:
    """The fields of Totals, in order."""
    from sqlalchemy import and_, case, func, or_

    from storage.tables import ledger

    c = ledger.c
    reserved = c.state == "reserved"
    unpriced = or_(and_(reserved, c.estimate_usd.is_(None)), and_(~reserved, c.cost_usd.is_(None)))
    return [
        func.coalesce(func.sum(c.calls), 0),
        *(func.coalesce(func.sum(case((~reserved, c[name]), else_=0)), 0) for name in _TOKENS),
        func.coalesce(func.sum(case((~reserved, c.cost_usd))), 0, type_=c.cost_usd.type),
        func.coalesce(func.sum(case((reserved, c.calls), else_=0)), 0),
        func.coalesce(func.sum(case((reserved, c.estimate_tokens), else_=0)), 0),
        func.coalesce(func.sum(case((reserved, c.estimate_usd))), 0, type_=c.cost_usd.type),
        func.coalesce(func.sum(case((unpriced, c.calls), else_=0)), 0),
    ]
