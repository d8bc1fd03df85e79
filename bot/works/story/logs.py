"""Stories as their threads play them: found by their place, folded from their logs, and kept folded.

Knows no platform and no model. This process is the only one that appends.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from weakref import WeakValueDictionary

from bot.events import Place, Request, UserError
from bot.works.story.nodes import OF_ALL, Kind, Part, lineage
from bot.works.story.story import Story, cut_at, folded
from storage.stories import BranchRow, Node, PlaceRow, Spot, Stories, StoryRow

WRITTEN = ("start", "zero", "act", "say", "continue", "retry")
"""The verbs that have the writer write."""
KEPT = 64
"""Branches that stay folded."""
PAST, PAST_TURNS = 8, 200_000
"""Branches as they stood earlier that stay folded, and their turns: one turn's run asks for the same several times."""


@dataclass(frozen=True, slots=True)
class Played:
    """What a thread plays: the story as it stands on that branch."""

    row: StoryRow
    branch: str
    story: Story
    place: PlaceRow | None = None
    """Of the thread; None where it has only just begun to play it."""


@dataclass(frozen=True, slots=True)
class Away:
    """A branch that another thread plays, since the run `run`; "" where by now none does."""

    run: str
    branch: str


class TakenAway(Exception):
    """The thread's branch is played in another one."""

    def __init__(self, away: Away) -> None:
        super().__init__(away.branch)
        self.away = away


@dataclass(slots=True)
class _Folded:
    parts: list[Part]
    withdrawn: int
    story: Story


class Logs:
    def __init__(self, stories: Stories) -> None:
        self.stories = stories
        self._folded: OrderedDict[tuple[str, str], _Folded] = OrderedDict()
        self._past: OrderedDict[tuple[str, str, int, int], Story] = OrderedDict()
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self.writing: dict[str, set[str]] = {}
        """By the turn whose scene is being written: the runs that do."""

    @contextmanager
    def being_written(self, turn: str, run: str) -> Iterator[None]:
        """The run writes the turn's scene in here."""
        self.writing.setdefault(turn, set()).add(run)
        try:
            yield
        finally:
            self.writing[turn].discard(run)
            if not self.writing[turn]:
                del self.writing[turn]

    async def here(self, place: Place, run: str = "", node: str = "") -> Played | None:
        """What is played in this place; as it stood before this run appended to it, which a crash has it do again.

        With `node`: before it appended that one. Raises StorageFault.
        """
        if (row_and_branch := await self.stories.played(spot(place))) is None:
            return None
        row, played = row_and_branch
        own = await self.stories.of_run(place.space, run) if run else []
        own = [one for one in own if node in ("", one.id)]
        at = own[0].seq - 1 if own else None
        story = await self.story(place.space, row.id, played.branch_id, at)
        return Played(row, played.branch_id, story, played)

    async def played(self, request: Request) -> Played:
        """What is played where the request comes from. Raises UserError where nothing is."""
        played = await self.here(request.place, request.id)
        if played is None:
            raise UserError("story.none_here")
        return played

    async def going_on(self, request: Request) -> Played:
        """The same for a request that is to change something in it.

        Raises UserError where nothing is played, and TakenAway where another thread plays it by now.
        """
        played = await self.played(request)
        if played.place is not None and played.place.away:
            player = await self.stories.player(played.place)
            raise TakenAway(Away(player.run_id if player is not None else "", played.branch))
        return played

    async def story(self, space: str, story: str, branch: str, at: int | None = None) -> Story:
        """A branch as it stands now, or as it stood at the node `at`.

        It is not to be changed, and to be read before the next await: later turns are added to the same object.
        """
        async with self._turns.setdefault((space, branch), asyncio.Lock()):
            known = await self._current(space, story, branch)
        if at is None or known.story.seq == at:
            return known.story
        key = (space, branch, at, known.withdrawn)  # what was withdrawn since is told no more
        if (past := self._past.get(key)) is None:
            past = self._past[key] = await self._anew(space, story, branch, at)
        self._past.move_to_end(key)
        while len(self._past) > 1 and (
            len(self._past) > PAST or sum(len(one.turns) for one in self._past.values()) > PAST_TURNS
        ):
            self._past.popitem(last=False)
        return past

    async def _current(self, space: str, story: str, branch: str) -> _Folded:
        known = self._folded.pop((space, branch), None)
        after = known.story.seq if known is not None else None
        withdrawn, added = await self.stories.news(space, story, branch, after)
        if known is None or known.withdrawn != withdrawn:
            parts = await self._parts(space, story, branch)
            known = _Folded(parts, withdrawn, await self._fold(space, story, parts))
        else:  # of its past nothing changes any more
            for node in added:
                known.story.add(node)
        self._folded[space, branch] = known
        if len(self._folded) > KEPT:
            self._folded.popitem(last=False)
        return known

    async def copy(self, space: str, story: str, branch: str) -> Story:
        """A branch as it stands now, as an object of its own: for a thread."""
        return await self._fold(space, story, await self._parts(space, story, branch))

    async def _anew(self, space: str, story: str, branch: str, at: int) -> Story:
        return await self._fold(space, story, await self._parts(space, story, branch, at))

    async def _parts(self, space: str, story: str, branch: str, at: int | None = None) -> list[Part]:
        branches = {row.id: row for row in await self.stories.branches(space, story)}
        return lineage(branches, branch, at)

    async def _fold(self, space: str, story: str, parts: list[Part]) -> Story:
        nodes = await self.stories.nodes(space, story, [(part.branch, part.until) for part in parts])
        return await asyncio.to_thread(folded, parts, nodes) if len(nodes) > 200 else folded(parts, nodes)

    async def append(self, played: Played, *nodes: Node) -> int:
        """Append to the branch that is played, or to none what is of all: the number of the last node.

        Raises KeyError for a deleted story.
        """
        seq, space, story = 0, played.row.space, played.row.id
        for branch in ("", played.branch):
            if own := [node for node in nodes if (node.kind in OF_ALL) == (branch == "")]:
                seq = await self.stories.append(space, story, branch, own)
        return seq

    async def fork(self, played: Played, id: str, name: str, turn: str, author: str) -> BranchRow:
        """A branch that leaves this one behind `turn`, "" for before the first; again the same does nothing.

        Raises ValueError where the turn is not of this branch.
        """
        story, row = played.story, played.row
        if turn:
            story.path.index(turn)
        branch = BranchRow(
            id,
            row.space,
            row.id,
            name,
            played.branch,
            turn,
            cut_at(story, turn),
            story.seq,
            author,
            datetime.now(UTC),
        )
        await self.stories.fork(branch)
        return branch


def spot(place: Place) -> Spot:
    return Spot(place.space, place.platform, place.channel, place.thread)


def node(
    run: str, key: str, kind: Kind, body: Mapping[str, Any], *, turn: str = "", author: str = ""
) -> Node:
    """A node of a run; its id is made from the run's and `key`, so that a repeated run appends it once.

    A turn's first act is the turn itself. `author` is whose words the body holds, "" for a model's.
    """
    id = f"{run}/{key}"
    return Node(
        id, kind, turn or (id if kind == "act" else ""), run, author, json.dumps(body, ensure_ascii=False)
    )
