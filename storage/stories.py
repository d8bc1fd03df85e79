"""Stores stories: their branches, the logs of what happened in them, and which branch a thread plays.

Knows nothing of what a node says: `kind` and `body` are the caller's, the body being JSON, or "" once its words were
withdrawn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from storage.db import Database
from storage.story_cards import CardRow, StoryCards

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement

ALIAS = 6
"""Characters of an id's end by which people name a story or a branch."""
ROWS = 1_000
"""How many rows are inserted at a time."""


@dataclass(frozen=True, slots=True)
class StoryRow:
    id: str
    space: str
    title: str
    author_id: str
    created_at: datetime
    updated_at: datetime
    offered: bool = False
    """Whether it was imported and nobody has opened it yet."""

    @property
    def alias(self) -> str:
        return self.id[-ALIAS:]


@dataclass(frozen=True, slots=True)
class BranchRow:
    """The first branch of a story has the story's own id and no `parent`.

    A branch leaves its parent after `turn` ("" for before the first one). It shares decisions about those turns up to
    the node `until`, and settings, cast and lore up to the node `cut`.
    """

    id: str
    space: str
    story_id: str
    name: str
    parent: str
    turn: str
    cut: int
    until: int
    author_id: str
    created_at: datetime

    @property
    def alias(self) -> str:
        return self.id[-ALIAS:]


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One event of a story. `turn` is the turn it is about, "" for none; `author_id` is "" for a model's words."""

    seq: int
    id: str
    space: str
    story_id: str
    branch_id: str
    kind: str
    turn: str
    run_id: str
    author_id: str
    body: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    kind: str
    turn: str
    run_id: str
    author_id: str
    body: str


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a story is played: a thread of a platform."""

    space: str
    platform: str
    channel: str
    thread: str


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """A thread that has played a branch since the run `run_id`, or, if `away`, played it until another thread took it
    over.
    """

    space: str
    platform: str
    channel: str
    thread: str
    story_id: str
    branch_id: str
    run_id: str
    away: bool

    @property
    def spot(self) -> Spot:
        return Spot(self.space, self.platform, self.channel, self.thread)


class Stories:
    def __init__(self, db: Database) -> None:
        from sqlalchemy import and_, bindparam, func, literal_column, select

        from storage.tables import stories as s
        from storage.tables import story_nodes as n
        from storage.tables import story_places as p

        self._db = db
        self.cards = StoryCards(db)
        # Prepared once, because every turn uses them and building a statement costs more than executing it.
        in_place = [p.c[field.name] == bindparam(f"in_{field.name}") for field in fields(Spot)]
        in_this_place = (p.c[field.name] == bindparam(field.name) for field in fields(Spot))
        self._played = select(s, p).join_from(p, s).where(*in_this_place)
        played = (p.c.story_id == bindparam("of_story"), p.c.branch_id == bindparam("of_branch"))
        elsewhere = (p.c.space == bindparam("in_space"), *played, ~and_(*in_place))
        self._elsewhere = p.select().where(*elsewhere)
        self._taken = p.update().where(*elsewhere).values(away=True)
        new_place = db.insert(p)
        moved = {name: new_place.excluded[name] for name in ("story_id", "branch_id", "run_id", "away")}
        key = ["space", "platform", "channel", "thread"]
        self._play = new_place.on_conflict_do_update(index_elements=key, set_=moved)
        of_run = (n.c.space == bindparam("in_space"), n.c.run_id == bindparam("of_run"))
        self._of_run = n.select().where(*of_run).order_by(n.c.seq)
        this_story = (s.c.space == bindparam("in_space"), s.c.id == bindparam("of_story"))
        self._opened = s.update().where(*this_story).values(offered=False)
        self._touch = s.update().where(*this_story).values(updated_at=bindparam("now"))
        new = db.insert(n)
        self._append = new.on_conflict_do_update(
            index_elements=["id"], set_={"body": new.excluded.body}, where=n.c.body != ""
        ).returning(n.c.seq)
        of_story = (n.c.space == bindparam("in_space"), n.c.story_id == bindparam("of_story"))
        blank = select(func.count()).select_from(n).where(*of_story, n.c.body == literal_column("''"))
        self._withdrawn = blank
        # One statement reads at one moment, and returns a row even if the branch has no news.
        withdrawn = select(blank.scalar_subquery().label("withdrawn")).subquery()
        branches = n.c.branch_id.in_((bindparam("of_branch"), ""))
        added = and_(*of_story, branches, n.c.seq > bindparam("after"))
        self._news = select(withdrawn, n).select_from(withdrawn.outerjoin(n, added)).order_by(n.c.seq)

    async def create(self, spot: Spot, id: str, title: str, author_id: str) -> None:
        """Create a story with its first branch, played in this thread. Calling it again has no effect."""
        from storage.tables import stories, story_branches

        now = datetime.now(UTC)
        story = StoryRow(id, spot.space, title, author_id, now, now)
        branch = BranchRow(id, spot.space, id, "", "", "", 0, 0, author_id, now)
        async with self._db.write() as connection:
            for table, row in ((stories, asdict(story)), (story_branches, asdict(branch))):
                await connection.execute(self._db.insert(table).values(row).on_conflict_do_nothing())
        await self.play(spot, id, id, id)

    async def play(self, spot: Spot, story: str, branch: str, run: str) -> list[PlaceRow]:
        """Let this thread play that branch, and no other thread; returns the threads that played it until now."""
        place = {f"in_{name}": value for name, value in asdict(spot).items()}
        parameters = {"of_story": story, "of_branch": branch}
        now = {"story_id": story, "branch_id": branch, "run_id": run, "away": False}
        async with self._db.write() as connection:
            await connection.execute(self._opened, {"in_space": spot.space, "of_story": story})
            await connection.execute(self._taken, {**place, **parameters})
            await connection.execute(self._play, {**asdict(spot), **now})
            rows = await connection.execute(self._elsewhere, {**place, **parameters})
            return [PlaceRow(**row._mapping) for row in rows]

    async def played(self, spot: Spot) -> tuple[StoryRow, PlaceRow] | None:
        """The story that this thread plays, and how."""
        row = (await self._db.execute(self._played, **asdict(spot))).one_or_none()
        return _placed(row) if row else None

    async def seated(self, space: str, author_id: str, limit: int) -> list[tuple[StoryRow, PlaceRow]]:
        """Stories to whose log this person has added, each with a place where it is played; last played first."""
        from sqlalchemy import select

        from storage.tables import stories, story_nodes

        added = select(story_nodes.c.story_id).where(
            story_nodes.c.space == space, story_nodes.c.author_id == author_id
        )
        return await self.played_last(limit, stories.c.space == space, stories.c.id.in_(added))

    async def played_last(self, limit: int, *which: ColumnElement[bool]) -> list[tuple[StoryRow, PlaceRow]]:
        """The stories, of all spaces, that were played last, each with a place where it is played."""
        from sqlalchemy import select

        from storage.tables import stories, story_places

        query = (
            select(stories, story_places)
            .join_from(story_places, stories)
            .where(*which, ~story_places.c.away)
            .order_by(stories.c.updated_at.desc(), story_places.c.branch_id.desc())
            .limit(limit)
        )
        return [_placed(row) for row in await self._db.execute(query)]

    async def player(self, place: PlaceRow) -> PlaceRow | None:
        """The place that now plays the branch of an `away` place; None if no thread plays it."""
        from storage.tables import story_places

        same_branch = [
            story_places.c[name] == getattr(place, name) for name in ("space", "story_id", "branch_id")
        ]
        result = await self._db.execute(story_places.select().where(*same_branch, ~story_places.c.away))
        row = result.first()
        return PlaceRow(**row._mapping) if row else None

    async def story(self, space: str, id: str) -> StoryRow | None:
        from storage.tables import stories as table

        query = table.select().where(table.c.space == space, table.c.id == id)
        return await self._db.row(query, StoryRow)

    async def all(self, space: str, limit: int = 1_000) -> list[StoryRow]:
        """The stories of a space, the last played first."""
        from storage.tables import stories as table

        query = table.select().where(table.c.space == space).order_by(table.c.updated_at.desc()).limit(limit)
        return await self._db.rows(query, StoryRow)

    async def open_to(
        self, space: str, author_id: str, spot: Spot | None = None, limit: int = 1_000
    ) -> list[StoryRow]:
        """The stories that this person may open, the last played first: those they began or took a turn in, imported
        ones that nobody has opened yet, and the one played at the spot. Not all stories of a channel, because it may
        have private threads.
        """
        from sqlalchemy import or_, select

        from storage.tables import stories as table
        from storage.tables import story_nodes, story_places

        acted = select(story_nodes.c.story_id).where(
            story_nodes.c.space == space,
            story_nodes.c.author_id == author_id,
            story_nodes.c.kind.in_(("act", "intent")),
        )
        may = [table.c.author_id == author_id, table.c.offered, table.c.id.in_(acted)]
        if spot is not None:
            in_place = [story_places.c[name] == value for name, value in asdict(spot).items()]
            may.append(table.c.id.in_(select(story_places.c.story_id).where(*in_place)))
        query = table.select().where(table.c.space == space, or_(*may))
        return await self._db.rows(query.order_by(table.c.updated_at.desc()).limit(limit), StoryRow)

    async def load(self, space: str, story: str) -> tuple[StoryRow, list[BranchRow], list[NodeRow]] | None:
        """A story with its branches, oldest first, and all their nodes, read at one moment."""
        from storage.tables import stories, story_branches, story_nodes

        of_story = [
            (table.c.space == space, table.c.story_id == story) for table in (story_branches, story_nodes)
        ]
        branches = story_branches.select().where(*of_story[0])
        nodes = story_nodes.select().where(*of_story[1])
        async with self._db.read() as connection:
            query = stories.select().where(stories.c.space == space, stories.c.id == story)
            row = (await connection.execute(query)).one_or_none()
            if row is None:
                return None
            ordered_branches = branches.order_by(story_branches.c.created_at, story_branches.c.id)
            return (
                StoryRow(**row._mapping),
                [BranchRow(**row._mapping) for row in await connection.execute(ordered_branches)],
                [NodeRow(*row) for row in await connection.execute(nodes.order_by(story_nodes.c.seq))],
            )

    async def import_story(
        self,
        story: StoryRow,
        branches: Sequence[BranchRow],
        nodes: Sequence[NodeRow],
        bodies: Callable[[Sequence[int]], Mapping[str, str]],
        cards: Sequence[CardRow] = (),
    ) -> None:
        """Store a whole imported story, or nothing of it.

        Its nodes get numbers in their order, whatever their `seq` is; a branch's `cut` and `until` are places among
        them, 0 for before the first. `bodies` is given the number at each place, 0 at the place 0, and gives the
        bodies that hold such numbers, by their nodes' ids.
        """
        from sqlalchemy import bindparam, select

        from storage.tables import stories, story_branches, story_cards, story_nodes

        rows = [asdict(node) for node in nodes]
        for row in rows:
            del row["seq"]
        numbers = select(story_nodes.c.seq).where(
            story_nodes.c.space == story.space, story_nodes.c.story_id == story.id
        )
        async with self._db.write() as connection:
            await connection.execute(stories.insert().values(asdict(story)))
            for first in range(0, len(rows), ROWS):
                await connection.execute(story_nodes.insert(), rows[first : first + ROWS])
            result = await connection.execute(numbers.order_by(story_nodes.c.seq))
            seqs = [0, *result.scalars()]
            branch_rows = [replace(row, cut=seqs[row.cut], until=seqs[row.until]) for row in branches]
            await connection.execute(story_branches.insert(), [asdict(row) for row in branch_rows])
            if reworded := bodies(seqs):
                anew = story_nodes.update().where(story_nodes.c.id == bindparam("of"))
                words = [{"of": id, "to": body} for id, body in reworded.items()]
                await connection.execute(anew.values(body=bindparam("to")), words)
            for card in cards:
                await connection.execute(
                    story_cards.insert().values({**asdict(card), "size": len(card.file)})
                )

    async def branches(self, space: str, story: str) -> list[BranchRow]:
        """The branches of a story, oldest first."""
        from storage.tables import story_branches as table

        query = table.select().where(table.c.space == space, table.c.story_id == story)
        return await self._db.rows(query.order_by(table.c.created_at, table.c.id), BranchRow)

    async def fork(self, branch: BranchRow) -> None:
        """Store a new branch. Calling it again has no effect."""
        from storage.tables import story_branches

        new = self._db.insert(story_branches).values(asdict(branch))
        await self._db.run(new.on_conflict_do_nothing())

    async def append(self, space: str, story: str, branch: str, nodes: Sequence[Node]) -> int:
        """Append nodes in this order; returns the number of the last one.

        If a node exists already, because its run is repeated after a crash, it gets the new body, unless its words were
        withdrawn meanwhile. Raises KeyError if the space has no such story.
        """
        from sqlalchemy import select

        from storage.tables import story_nodes

        now, seq = datetime.now(UTC), 0
        of_story = {"space": space, "story_id": story, "branch_id": branch, "created_at": now}
        async with self._db.write() as connection:
            # This also locks the story: otherwise on Postgres numbers would not be in the order in which others see
            # them.
            parameters = {"in_space": space, "of_story": story, "now": now}
            if (await connection.execute(self._touch, parameters)).rowcount != 1:
                raise KeyError(story)
            for node in nodes:
                inserted = await connection.execute(self._append, {**asdict(node), **of_story})
                if (number := inserted.scalar_one_or_none()) is None:  # it was withdrawn
                    query = select(story_nodes.c.seq).where(story_nodes.c.id == node.id)
                    number = (await connection.execute(query)).scalar_one()
                seq = number
        return seq

    async def erase(self, space: str, bodies: Mapping[str, str]) -> None:
        """Replace the bodies of nodes, by id, with these without words; "" for a withdrawn one."""
        from storage.tables import story_nodes as table

        async with self._db.write() as connection:
            for id, body in bodies.items():
                this_node = (table.c.space == space, table.c.id == id)
                await connection.execute(table.update().where(*this_node).values(body=body))

    async def nodes(
        self,
        space: str,
        story: str,
        branches: Sequence[tuple[str, int | None]],
        kinds: Collection[str] = (),
    ) -> list[NodeRow]:
        """The nodes of these branches, of each up to its number (None: all), and those of no branch, "".

        These are of the whole story. `kinds`: of these alone; all where none is named.
        """
        from sqlalchemy import and_, or_

        from storage.tables import story_nodes as table

        parts: list[ColumnElement[bool]] = [table.c.branch_id == ""]
        for branch, until in branches:
            part = table.c.branch_id == branch
            parts.append(part if until is None else and_(part, table.c.seq <= until))
        on_branches = [table.c.space == space, table.c.story_id == story, or_(*parts)]
        if kinds:
            on_branches.append(table.c.kind.in_(sorted(kinds)))
        rows = await self._db.execute(table.select().where(*on_branches).order_by(table.c.seq))
        return [NodeRow(*row) for row in rows]

    async def node(self, space: str, id: str) -> NodeRow | None:
        from storage.tables import story_nodes as table

        query = table.select().where(table.c.space == space, table.c.id == id)
        row = (await self._db.execute(query)).one_or_none()
        return NodeRow(*row) if row else None

    async def turn_ending(self, space: str, end: str) -> NodeRow | None:
        """The act whose id has this ending; None if there is none or more than one."""
        from storage.tables import story_nodes as table

        acts = table.select().where(
            table.c.space == space, table.c.kind == "act", table.c.id.endswith(end, autoescape=True)
        )
        rows = (await self._db.execute(acts.limit(2))).all()
        return NodeRow(*rows[0]) if len(rows) == 1 else None

    async def of_run(self, space: str, run: str) -> list[NodeRow]:
        """The nodes that a run has appended."""
        return [NodeRow(*row) for row in await self._db.execute(self._of_run, in_space=space, of_run=run)]

    @property
    def writes(self) -> int:
        """See `Database.writes`."""
        return self._db.writes

    async def news(self, space: str, story: str, branch: str, after: int | None) -> tuple[int, list[NodeRow]]:
        """How many nodes of a story have lost their words, and the branch's nodes after the node `after` (None: none).

        If the first number has changed, the story must be read again.
        """
        parameters = {"in_space": space, "of_story": story}
        if after is None:
            return int((await self._db.execute(self._withdrawn, **parameters)).scalar_one()), []
        rows = (await self._db.execute(self._news, **parameters, of_branch=branch, after=after)).all()
        return rows[0][0], [NodeRow(*row[1:]) for row in rows if row.seq is not None]


def _placed(row: Sequence[Any]) -> tuple[StoryRow, PlaceRow]:
    width = len(fields(StoryRow))
    return StoryRow(*row[:width]), PlaceRow(*row[width:])
