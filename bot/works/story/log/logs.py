"""Finds the story that is played in a place, folds its log into a `Story`, and caches that."""

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
from bot.works.story.log.story import Story, cut_at, fold
from bot.works.story.log.turn import Excerpt
from storage.name_keys import name_key
from storage.stories import BranchRow, Node, PlaceRow, Spot, Stories, StoryRow

WRITING_VERBS = ("start", "zero", "act", "say", "continue", "end", "retry")
"""The verbs for which the writer writes a scene."""
TAKEN_AWAY = "story.taken_away"
CACHED, CACHED_CHARS = 64, 40_000_000
"""How many folded branches stay in memory, and how many characters of nodes they have in total."""
CACHED_PAST = 8
"""How many earlier states of branches stay in memory, since a turn's run reads the same ones several times."""


@dataclass(frozen=True, slots=True)
class PlayedStory:
    """The story and the branch that are played in a place."""

    row: StoryRow
    branch: str
    story: Story
    place: PlaceRow | None = None
    """The row of the place; None if the story is not read by its place."""

    @property
    def table(self) -> Place | None:
        """The place where the story is played."""
        if (row := self.place) is None:
            return None
        return Place(row.platform, row.space, row.channel, row.thread)


@dataclass(slots=True)
class _Folded:
    """A story in the cache."""

    withdrawn: int
    """How many of the story's nodes had lost their words when it was read."""
    story: Story
    chars: int
    """The total length of its nodes' bodies."""
    writes: int
    """The value of `Stories.writes` when it was read."""


def logs_of(stories: Stories) -> Logs:
    """The one `Logs` of this storage, so that all who read it share a cache."""
    if (logs := _LOGS.get(stories)) is None:
        logs = _LOGS[stories] = Logs(stories)
    return logs


class Logs:
    """Reads the logs of stories, and appends to them."""

    def __init__(self, stories: Stories, *, chars: int = CACHED_CHARS) -> None:
        """`chars` is the size of the cache, besides which earlier states get half as much."""
        self.stories = stories
        self._chars = chars
        self._folded: OrderedDict[tuple[str, str], _Folded] = OrderedDict()
        self._past: OrderedDict[tuple[str, str, int, int], _Folded] = OrderedDict()
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    def drop(self, space: str) -> None:
        """Drop the cached stories of a space, "" for all spaces."""
        for branch_key in [key for key in self._folded if space in ("", key[0])]:
            del self._folded[branch_key]
        for past_key in [key for key in self._past if space in ("", key[0])]:
            del self._past[past_key]

    async def played_in(self, place: Place, run: str = "", node: str = "") -> PlayedStory | None:
        """The story that is played in this place; None for none. Raises StorageFault.

        With `run`, it is as it was before that run appended to it, or before it appended `node`: a run that is
        repeated after a crash must see what it saw at first.
        """
        if (played := await self.stories.played(spot(place))) is None:
            return None
        row, place_row = played
        nodes = await self.stories.of_run(place.space, run) if run else []
        nodes = [appended for appended in nodes if node in ("", appended.id)]
        at = nodes[0].seq - 1 if nodes else None
        story = await self.story(place.space, row.id, place_row.branch_id, at)
        return PlayedStory(row, place_row.branch_id, story, place_row)

    async def played(self, request: Request) -> PlayedStory:
        """The story that is played where the request comes from. Raises UserError if there is none."""
        played = await self.played_in(request.place, request.id)
        if played is None:
            raise UserError("story.none_here")
        return played

    async def open_to(self, request: Request) -> list[StoryRow]:
        """The stories that the request's author may open, the last played first. Raises UserError if none matches.

        The request's text selects those with this code or title, or else those whose title contains it.
        """
        place, name = request.place, name_key(request.text)
        rows = list(await self.stories.open_to(place.space, request.author.id, spot(place)))
        if not name:
            return rows
        matching = [row for row in rows if name in (row.alias, row.title.casefold())]
        matching = matching or [row for row in rows if name in row.title.casefold()]
        if not matching:
            raise UserError("story.no_story", name=request.text.strip())
        return matching

    async def writable(self, request: Request, *, asks: bool = True) -> PlayedStory:
        """Like `played`, for a request that changes the story.

        Raises UserError: TAKEN_AWAY if another thread has begun to play the branch. If `asks`, the error has the
        story, the branch and the run that began it there ("" for none), for the buttons of
        `choices.played_elsewhere`.
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

        Callers must not change it, and must read it before their next await: later turns are added to the same object.
        """
        async with self._locks.setdefault((space, branch), asyncio.Lock()):
            present = await self._present(space, story, branch)
        if at is None or present.story.seq == at:
            return present.story
        key = (space, branch, at, present.withdrawn)  # the cache must not return withdrawn words
        if (past := self._past.get(key)) is None:
            past = self._past[key] = await self._fold(space, story, branch, present.withdrawn, at)
            present.story.share(past.story)
        self._past.move_to_end(key)
        _evict(self._past, CACHED_PAST, self._chars // 2)
        return past.story

    async def _present(self, space: str, story: str, branch: str) -> _Folded:
        # It stays in the cache during the awaits: a fork uses it, and a cancelled call must not lose it.
        folded, writes = self._folded.get((space, branch)), self.stories.writes
        if folded is not None and folded.writes == writes:
            self._folded.move_to_end((space, branch))
            return folded
        after = folded.story.seq if folded is not None else None
        withdrawn, nodes = await self.stories.news(space, story, branch, after)
        if folded is None or folded.withdrawn != withdrawn:
            folded = await self._fold(space, story, branch, withdrawn)
        else:
            folded.writes = writes
            for node in nodes:
                folded.story.add(node)
                folded.chars += len(node.body)
        self._folded[space, branch] = folded
        self._folded.move_to_end((space, branch))
        _evict(self._folded, CACHED, self._chars)
        return folded

    async def copy(self, space: str, story: str, branch: str) -> Story:
        """A copy of a branch as it is now, for use in a thread."""
        return (await self._fold(space, story, branch, 0)).story

    async def _fold(
        self, space: str, story: str, branch: str, withdrawn: int, at: int | None = None
    ) -> _Folded:
        """Read and fold a branch's whole log, up to the node `at`."""
        writes = self.stories.writes
        branches = {row.id: row for row in await self.stories.branches(space, story)}
        parts = lineage(branches, branch, at)
        nodes = await self.stories.nodes(space, story, [(part.branch, part.until) for part in parts])
        chars = sum(len(node.body) for node in nodes)
        read = await asyncio.to_thread(fold, parts, nodes) if len(nodes) > 200 else fold(parts, nodes)
        return _Folded(withdrawn, read, chars, writes)

    async def searches_of(self, space: str, scene: str) -> tuple[list[Excerpt] | None, list[str] | None]:
        """What searches found for the writer of the version `scene`: the excerpts of the past, and the ids of lorebook
        entries close in meaning; None for a search that was not made.

        Only another version of the scene needs them, so they are not part of `Story`.
        """
        node = await self.stories.node(space, scene)
        body = json.loads(node.body) if node is not None and node.body else {}
        excerpts, lore = body.get("recalled"), body.get("lore")
        if excerpts is not None:
            excerpts = [Excerpt(tuple(turns), start, chars) for turns, start, chars in excerpts]
        return excerpts, lore

    async def append(self, played: PlayedStory, *nodes: Node) -> int:
        """Append to the branch that is played, or to the whole story for nodes of OF_ALL; returns the number of the
        last node.

        Raises KeyError for a deleted story.
        """
        seq, space, story = 0, played.row.space, played.row.id
        for branch in ("", played.branch):
            if added := [node for node in nodes if (node.kind in OF_ALL) == (branch == "")]:
                seq = await self.stories.append(space, story, branch, added)
        return seq

    async def record(
        self, played: PlayedStory, request: Request, kind: Kind, body: Mapping[str, Any], *, turn: str = ""
    ) -> None:
        """Append a node with a person's words or settings, whose key is its kind."""
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
        # Copied before the next await, since turns may be added to the parent then.
        copy = parent.story.branched(turn) if parent is not None and parent.story is story else None
        await self.stories.fork(branch)
        if parent is not None and copy is not None and (row.space, id) not in self._folded:
            if copy.settings_seq > branch.cut:
                copy = await self._with_settings_at_cut(branch, copy)
            if copy is not None:
                self._folded[row.space, id] = _Folded(parent.withdrawn, copy, parent.chars, writes=-1)
                _evict(self._folded, CACHED, self._chars)
        return branch

    async def _with_settings_at_cut(self, branch: BranchRow, story: Story) -> Story | None:
        """The story with its settings as they were at the branch's cut; None if only folding the log can tell."""
        if story.stop_cards:  # they withdraw settings
            return None
        branches = {row.id: row for row in await self.stories.branches(branch.space, branch.story_id)}
        parts = lineage(branches, branch.id)
        ranges = [(part.branch, part.until) for part in parts]
        kinds = SHARED_UP_TO_CUT | OF_ALL
        nodes = await self.stories.nodes(branch.space, branch.story_id, ranges, kinds)
        story.take_settings(fold(parts, nodes))
        return story


class Unwritten(Logs):
    """Logs for trying a verb: everything it would append is dropped."""

    async def append(self, played: PlayedStory, *nodes: Node) -> int:
        return played.story.seq


def _evict(cache: OrderedDict[Any, _Folded], most: int, chars: int) -> None:
    """Drop the least recently used stories until at most `most` with at most `chars` characters are left.

    The last one always stays.
    """
    while len(cache) > 1 and (len(cache) > most or sum(entry.chars for entry in cache.values()) > chars):
        cache.popitem(last=False)


def spot(place: Place) -> Spot:
    """The place as the storage names it."""
    return Spot(*place.key)


def node(
    run: str, key: str, kind: Kind, body: Mapping[str, Any], *, turn: str = "", author: str = ""
) -> Node:
    """A node of a run. Its id consists of the run's id and `key`, so that a repeated run appends it only once.

    An "act" without `turn` begins a turn with the node's own id. `author` wrote the words in the body, "" for a model.
    """
    id = f"{run}/{key}"
    return Node(
        id, kind, turn or (id if kind == "act" else ""), run, author, json.dumps(body, ensure_ascii=False)
    )


_LOGS: WeakValueDictionary[Stories, Logs] = WeakValueDictionary()
