"""The stories of places: finds them by place, folds their logs, and caches the result.

Knows no platform and no model.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from weakref import WeakValueDictionary

from bot.events import Place, Request, UserError
from bot.works.story.log.nodes import OF_ALL, SHARED_UP_TO_CUT, Kind, lineage
from bot.works.story.log.story import Story, cut_at, folded
from bot.works.story.log.turn import Excerpt
from storage.keys import key_of
from storage.stories import BranchRow, Node, PlaceRow, Spot, Stories, StoryRow

WRITTEN = ("start", "zero", "act", "say", "continue", "end", "retry")
"""The verbs for which the writer writes a scene."""
TAKEN_AWAY = "story.taken_away"
KEPT, KEPT_CHARS = 64, 40_000_000
"""How many folded branches stay in memory, and how many characters of nodes they have in total."""
PAST = 8
"""How many earlier states of branches stay in memory: a turn's run reads the same ones several times."""


@dataclass(frozen=True, slots=True)
class PlayedStory:
    """The story and the branch that are played in a place."""

    row: StoryRow
    branch: str
    story: Story
    place: PlaceRow | None = None
    """The thread's row; None before it is stored."""


@dataclass(slots=True)
class _Folded:
    withdrawn: int
    story: Story
    chars: int
    """The characters of its nodes."""
    writes: int
    """How many transactions may have written when it was read."""


def logs_of(stories: Stories) -> Logs:
    """The logs of this storage, with their cache."""
    if (logs := _LOGS.get(stories)) is None:
        logs = _LOGS[stories] = Logs(stories)
    return logs


class Logs:
    def __init__(self, stories: Stories, *, chars: int = KEPT_CHARS) -> None:
        """`chars`: see KEPT_CHARS; past states get half as much."""
        self.stories = stories
        self._chars = chars
        self._folded: OrderedDict[tuple[str, str], _Folded] = OrderedDict()
        self._past: OrderedDict[tuple[str, str, int, int], _Folded] = OrderedDict()
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    def drop(self, space: str) -> None:
        """Drop what is cached of the space, "" for all of them."""
        for branch in [key for key in self._folded if space in ("", key[0])]:
            del self._folded[branch]
        for at in [key for key in self._past if space in ("", key[0])]:
            del self._past[at]

    async def here(self, place: Place, run: str = "", node: str = "") -> PlayedStory | None:
        """What is played in this place, as it was before this run appended to it, since a run is repeated after a
        crash.

        With `node`: before the run appended that node. Raises StorageFault.
        """
        if (row_and_branch := await self.stories.played(Spot(*place.key))) is None:
            return None
        row, played = row_and_branch
        own = await self.stories.of_run(place.space, run) if run else []
        own = [row for row in own if node in ("", row.id)]
        at = own[0].seq - 1 if own else None
        story = await self.story(place.space, row.id, played.branch_id, at)
        return PlayedStory(row, played.branch_id, story, played)

    async def played(self, request: Request) -> PlayedStory:
        """What is played where the request comes from. Raises UserError if nothing is."""
        played = await self.here(request.place, request.id)
        if played is None:
            raise UserError("story.none_here")
        return played

    async def open_to(self, request: Request) -> list[StoryRow]:
        """The stories open to the person who asks, the last played first: those with the requested code or title, or
        else with the text in their titles; without a request, all. Raises UserError if none matches.
        """
        place, folded = request.place, key_of(request.text)
        rows = list(await self.stories.open_to(place.space, request.author.id, spot(place)))
        if not folded:
            return rows
        matching = [row for row in rows if folded in (row.alias, row.title.casefold())]
        matching = matching or [row for row in rows if folded in row.title.casefold()]
        if not matching:
            raise UserError("story.no_story", name=request.text.strip())
        return matching

    async def writable(self, request: Request, *, asks: bool = True) -> PlayedStory:
        """Like `played`, for a request that changes the story.

        Raises UserError if nothing is played, and TAKEN_AWAY if another thread has begun to play it: the error has the
        branch, and the run that began it there, "" for none, so that the work can offer ways to continue if `asks`
        (`choices.played_elsewhere`).
        """
        played = await self.played(request)
        if played.place is None or not played.place.away:
            return played
        if not asks:
            raise UserError(TAKEN_AWAY)
        player = await self.stories.player(played.place)
        run = player.run_id if player is not None else ""
        raise UserError(TAKEN_AWAY, run=run, branch=played.branch, story=played.row.id)

    async def story(self, space: str, story: str, branch: str, at: int | None = None) -> Story:
        """A branch as it is now, or as it was at the node `at`.

        Do not change it, and finish reading it before the next await: later turns are added to the same object.
        """
        async with self._turns.setdefault((space, branch), asyncio.Lock()):
            folded = await self._current(space, story, branch)
        if at is None or folded.story.seq == at:
            return folded.story
        key = (space, branch, at, folded.withdrawn)  # the cache must not return withdrawn words
        if (past := self._past.get(key)) is None:
            past = self._past[key] = await self._anew(space, story, branch, folded.withdrawn, at)
            folded.story.share(past.story)
        self._past.move_to_end(key)
        _shorten(self._past, PAST, self._chars // 2)
        return past.story

    async def _current(self, space: str, story: str, branch: str) -> _Folded:
        # It stays in the cache meanwhile: a fork uses it, and a cancelled call must not lose it.
        folded, writes = self._folded.get((space, branch)), self.stories.writes
        if folded is not None and folded.writes == writes:
            self._folded.move_to_end((space, branch))
            return folded
        after = folded.story.seq if folded is not None else None
        withdrawn, nodes = await self.stories.news(space, story, branch, after)
        if folded is None or folded.withdrawn != withdrawn:
            folded = await self._anew(space, story, branch, withdrawn)
        else:  # its past does not change
            folded.writes = writes
            for node in nodes:
                folded.story.add(node)
                folded.chars += len(node.body)
        self._folded[space, branch] = folded
        self._folded.move_to_end((space, branch))
        _shorten(self._folded, KEPT, self._chars)
        return folded

    async def copy(self, space: str, story: str, branch: str) -> Story:
        """A copy of a branch as it is now, for use in a thread."""
        return (await self._anew(space, story, branch, 0)).story

    async def _anew(
        self, space: str, story: str, branch: str, withdrawn: int, at: int | None = None
    ) -> _Folded:
        writes = self.stories.writes
        branches = {row.id: row for row in await self.stories.branches(space, story)}
        parts = lineage(branches, branch, at)
        nodes = await self.stories.nodes(space, story, [(part.branch, part.until) for part in parts])
        chars = sum(len(node.body) for node in nodes)
        fold = await asyncio.to_thread(folded, parts, nodes) if len(nodes) > 200 else folded(parts, nodes)
        return _Folded(withdrawn, fold, chars, writes)

    async def searched(self, space: str, scene: str) -> tuple[list[Excerpt] | None, list[str] | None]:
        """The past scenes and the lorebook's entries close in meaning that the writer of a version was given; None
        where no search was made.

        Only another version needs them, so they are not kept with the story.
        """
        node = await self.stories.node(space, scene)
        body = json.loads(node.body) if node is not None and node.body else {}
        recalled, lore = body.get("recalled"), body.get("lore")
        if recalled is not None:
            recalled = [Excerpt(tuple(turns), start, chars) for turns, start, chars in recalled]
        return recalled, lore

    async def append(self, played: PlayedStory, *nodes: Node) -> int:
        """Append to the branch that is played (nodes of all branches go to none); returns the number of the last node.

        Raises KeyError for a deleted story.
        """
        seq, space, story = 0, played.row.space, played.row.id
        for branch in ("", played.branch):
            if own := [node for node in nodes if (node.kind in OF_ALL) == (branch == "")]:
                seq = await self.stories.append(space, story, branch, own)
        return seq

    async def record(
        self, played: PlayedStory, request: Request, kind: Kind, body: Mapping[str, Any], *, turn: str = ""
    ) -> None:
        """Append a person's words or settings as the request's node; its kind is its key."""
        await self.append(played, node(request.id, kind, kind, body, turn=turn, author=request.author.id))

    async def fork(self, played: PlayedStory, id: str, name: str, turn: str, author: str) -> BranchRow:
        """Make a branch after `turn`, "" for before the first; has no effect if the branch exists.

        Raises ValueError if the turn is not on this branch.
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
        parent = self._folded.get((row.space, played.branch))
        # Before the next await, since the parent may continue.
        begun = parent.story.branched(turn) if parent is not None and parent.story is story else None
        await self.stories.fork(branch)
        if parent is not None and begun is not None and (row.space, id) not in self._folded:
            if begun.shared_at > branch.cut:
                begun = await self._set_back(branch, begun)
            if begun is not None:
                self._folded[row.space, id] = _Folded(parent.withdrawn, begun, parent.chars, writes=-1)
                _shorten(self._folded, KEPT, self._chars)
        return branch

    async def _set_back(self, branch: BranchRow, story: Story) -> Story | None:
        """The story without the settings after the cut; None if its log has to be folded for that."""
        if story.cards:  # stop cards withdraw settings
            return None
        branches = {row.id: row for row in await self.stories.branches(branch.space, branch.story_id)}
        parts = lineage(branches, branch.id)
        on_branches = [(part.branch, part.until) for part in parts]
        kinds = SHARED_UP_TO_CUT | OF_ALL
        nodes = await self.stories.nodes(branch.space, branch.story_id, on_branches, kinds)
        story.set_as(folded(parts, nodes))
        return story


class Unwritten(Logs):
    """Logs for trying a verb: everything it would append is dropped."""

    async def append(self, played: PlayedStory, *nodes: Node) -> int:
        return played.story.seq


def _shorten(kept: OrderedDict[Any, _Folded], most: int, chars: int) -> None:
    """Drop the least recently used branches, but never the last one, until at most `most` with at most `chars`
    characters are left.
    """
    while len(kept) > 1 and (len(kept) > most or sum(fold.chars for fold in kept.values()) > chars):
        kept.popitem(last=False)


def spot(place: Place) -> Spot:
    return Spot(*place.key)


def node(
    run: str, key: str, kind: Kind, body: Mapping[str, Any], *, turn: str = "", author: str = ""
) -> Node:
    """A node of a run; its id is made from the run's id and `key`, so that a repeated run appends it once.

    A turn's first act is the turn itself. `author` wrote the words in the body, "" for a model.
    """
    id = f"{run}/{key}"
    return Node(
        id, kind, turn or (id if kind == "act" else ""), run, author, json.dumps(body, ensure_ascii=False)
    )


_LOGS: WeakValueDictionary[Stories, Logs] = WeakValueDictionary()
