"""What stories remember: their pieces by words and by vectors, searched as a branch has lived them.

Words are indexed in memory from the folded story, so that there is nothing to keep in step with the log; vectors are
kept in the database, under the nodes that they are of. Knows no prompt and no platform.
"""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from threading import Lock
from typing import TYPE_CHECKING, TypeVar
from weakref import ref

from bot.events import UserError
from bot.retrieval.language import detect, may_vote
from bot.retrieval.lexical import content_terms, terms
from bot.waiting import in_own_thread
from bot.works.story import state
from bot.works.story.memory.components import distinctive, too_old
from bot.works.story.memory.index import Pieces, Reason, Told
from bot.works.story.memory.lore import CONTENT_CHARS, LoreVectors, by_meaning, likeness
from bot.works.story.memory.pieces import about, embedded, nodes_of, noted, noted_at, pieces_of
from bot.works.story.memory.ranking import Query, scored, speaking_for
from bot.works.story.memory.vectors import PieceVectors, packed
from storage.faults import StorageFault
from storage.story_vectors import NodeVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embed import Embedder
    from bot.retrieval.embedding import Embedding
    from bot.works.story.log import Story, Turn
    from bot.works.story.memory.config import RecallConfig
    from storage.story_vectors import StoryVectors

T = TypeVar("T")

KEPT, KEPT_PIECES = 16, 400_000
"""Stories whose pieces stay in memory, and the pieces of all these: 200,000 take some 125 MB (docs/retrieval.md)."""

BRANCHES = 8
"""Of a story, whose pieces stay in order: of 200,000 pieces that takes 5 MB a branch."""

NEAREST = 200
"""So many of the nearest vectors vote."""

BATCH = 16
"""Pieces that are embedded at a time: somebody's question may wait for the model."""

LOADED = 1_000
"""Nodes whose vectors are read at a time: all of a long story at once would take twice the memory."""

QUERY_CHARS = 8_000
"""Of a query: as much as says what is asked for. Each of its words is looked up."""

QUERIES = 32
"""Whose vectors are kept in memory: a turn's is asked for by its lorebook, and then by its past."""

PAUSE = 60.0
"""Seconds for which a model that failed is asked for no query: until it makes vectors again, words do."""

TELLING = 0.1
"""A reason that adds less to a piece's score is not told."""

_SAMPLE = 20
"""Turns by which a story's language is told: once more whenever the story has twice as many as the last time."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A piece that was found: of which node and turn, the turn's number in the branch, and what speaks for it.

    `keyword`: a word of the query that tells scenes apart stands in its scene.
    """

    node: str
    part: int
    turn: str
    number: int
    score: float
    reasons: tuple[Reason, ...]
    keyword: bool = False


@dataclass(frozen=True, slots=True)
class _Lived:
    """What a branch has lived through, as `story` was at the node `seq`.

    `turns` are the ids of its turns in order; of each piece `turn_of` says which of them it is of. `scenes` are the
    numbers of the scenes that a chat log names. `noted` are the pieces of what was found in turns, `noted_of` theirs,
    and `noted_for` those for which they speak.
    """

    story: ref[Story]
    seq: int
    told: Told
    turns: list[str]
    turn_of: NDArray[np.int32]
    scenes: dict[str, int]
    noted: Told
    noted_of: NDArray[np.int32]
    noted_for: NDArray[np.int32]
    chapters: list[tuple[int, str]]
    """As `state.titles` has them."""


_ASKED, _THERE = 1, 2


@dataclass(slots=True)
class _Indexed:
    """A story's pieces, which one thread at a time works on: see `alone`. Its language was told by `sampled` turns.

    `state` says of each node of `pieces` whether its vectors were asked for, and are in `vectors`.
    """

    pieces: Pieces
    sampled: int = 1
    waiting: asyncio.Lock = field(default_factory=asyncio.Lock)
    working: Lock = field(default_factory=Lock)
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)
    lived: OrderedDict[str, _Lived] = field(default_factory=OrderedDict)
    vectors: PieceVectors | None = None
    embedder: str = ""
    state: bytearray = field(default_factory=bytearray)
    lore: LoreVectors = field(default_factory=LoreVectors)

    async def alone(self, call: Callable[[], T]) -> T:
        """Call it in a thread, after those that are at work: also those whose callers were cancelled meanwhile."""

        def work() -> T:
            with self.working:
                return call()

        async with self.waiting:
            return await asyncio.to_thread(work)

    def below(self, state: int, lived: _Lived) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The nodes of a branch whose state is less, in the order in which they came, and the places of their turns."""
        import numpy as np

        self.state.extend(bytes(len(self.pieces.nodes) - len(self.state)))
        nodes = np.concatenate([lived.told.nodes(), lived.noted.nodes()])
        turns = np.concatenate([lived.turn_of, lived.noted_of])
        places = np.flatnonzero(np.array(self.state)[nodes] < state)
        found, first = np.unique(nodes[places], return_index=True)
        return found, turns[places[first]]

    def batches(self, nodes: NDArray[np.int32]) -> Iterator[slice]:
        """Some nodes at a time: not many more pieces than are embedded at once."""
        first = size = 0
        for at, node in enumerate(nodes.tolist(), 1):
            size += len(self.pieces.pieces(node))
            if size >= BATCH or at == len(nodes):
                yield slice(first, at)
                first, size = at, 0

    def take(self, nodes: Iterable[int], kept: Mapping[str, bytes], without: int) -> None:
        """Packed vectors of these nodes by their ids. `without` is the state of one that has none, or others'."""
        import numpy as np

        taken, rows = list[range](), list[bytes]()
        for node in nodes:
            pieces, row = self.pieces.pieces(node), kept.get(self.pieces.nodes[node], b"")
            self.state[node] = without
            if (
                row and pieces and self.vectors is None
            ):  # a service's model tells its dimensions with its vectors
                self.vectors = PieceVectors(len(row) // len(pieces))
                self.vectors.reserve(len(self.pieces))
            if self.vectors is not None and row and len(row) == len(pieces) * self.vectors.dimensions:
                self.state[node] = _THERE
                taken.append(pieces)
                rows.append(row)
        if self.vectors is not None and taken:
            self.vectors.add(
                np.concatenate([np.arange(one.start, one.stop) for one in taken]),
                np.frombuffer(b"".join(rows), dtype=np.int8).reshape(-1, self.vectors.dimensions),
            )


class Memory:
    def __init__(
        self, vectors: StoryVectors, embedding: Embedding, by: RecallConfig, *, waits: float = 3.0
    ) -> None:
        """`waits`: seconds that a search waits for its query's vector."""
        self._vectors = vectors
        self._embedding = embedding
        self._by = by
        self._waits = waits
        self._paused = 0.0
        self._stories: OrderedDict[tuple[str, str], _Indexed] = OrderedDict()
        self._queries: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    async def recall(
        self,
        space: str,
        id: str,
        branch: str,
        story: Story,
        query: Query,
        count: int,
        without: Collection[str] = (),
        by: RecallConfig | None = None,
    ) -> list[Recalled]:
        """The pieces of a story's branch that tell most about the query, best first; none of the turns `without`.

        `story` is the branch as it stands: what it does not tell is not found. `by` stands in for the configuration.
        """
        by, apart = by or self._by, frozenset(without)
        query = replace(query, text=query.text[:QUERY_CHARS], context=query.context[:QUERY_CHARS])
        indexed = await self._index_of(space, id, story)
        lived = await _live(indexed, branch, story)
        vector: NDArray[np.float32] | None = None
        try:
            if by.meaning and (embedder := await self._embedder(indexed)) is not None:
                vector = await self._vector(embedder, query.text)
                if vector is not None:
                    await self._load(space, id, indexed, embedder.name, lived)
        except (UserError, StorageFault) as fault:
            _log.warning("a story is searched by its words alone: %s", fault)

        def ranked() -> list[Recalled]:
            nearest: dict[int, float] = {}
            if vector is not None and indexed.vectors is not None:
                nearest = indexed.vectors.nearest(vector, lived.told.pieces, NEAREST)
                nearest |= indexed.vectors.nearest(vector, lived.noted.pieces, NEAREST)
            return _ranked(lived, query, by, nearest, story.turns, count, apart)

        return await indexed.alone(ranked)

    async def learn(
        self,
        space: str,
        id: str,
        branch: str,
        story: Story,
        progress: Callable[[int, int], None] | None = None,
        until: int | None = None,
    ) -> int:
        """Make the vectors that the branch's pieces lack: of so many nodes. `progress` is told how many of them all.

        Of the first `until` turns, if that is given.

        None where no model is at hand, or it does not speak the story's language; and where somebody is at it, who
        then makes those of what has come meanwhile, too. Raises UserError, StorageFault.
        """
        indexed, learnt = await self._index_of(space, id, story), 0
        embedder = await self._embedder(indexed)
        if embedder is None or indexed.learning.locked():
            return 0
        async with indexed.learning:
            while True:
                lived = await _live(indexed, branch, story)
                await self._load(space, id, indexed, embedder.name, lived)
                missing, places = await indexed.alone(partial(indexed.below, _THERE, lived))
                if until is not None:
                    missing, places = missing[places < until], places[places < until]
                if not len(missing):
                    return learnt
                most = learnt + len(missing)
                for some in indexed.batches(missing):
                    nodes = missing[some].tolist()
                    await self._embed(
                        space, id, indexed, embedder, nodes, story, lived, places[some].tolist()
                    )
                    self._paused = 0.0
                    learnt += len(nodes)
                    if progress is not None:
                        progress(learnt, most)

    async def lore(
        self, space: str, id: str, story: Story, text: str, count: int, least: float = 0.0
    ) -> list[str]:
        """The ids of at most so many entries of the lorebook that are nearest to the text in meaning, nearest first.

        Each has a cosine of at least `least`, by 0 of what is right for the model. None without a model, and of entries
        that nobody has learnt yet.
        """
        indexed = await self._index_of(space, id, story)
        try:
            if (embedder := await self._embedder(indexed)) is None or not (entries := by_meaning(story)):
                return []
            if (vector := await self._vector(embedder, text[:QUERY_CHARS])) is None:
                return []
            await self._load_lore(space, id, indexed, embedder.name, list(entries))
        except (UserError, StorageFault) as fault:
            _log.warning("a lorebook is searched by its keywords alone: %s", fault)
            return []
        least = least or likeness(embedder.name)
        nearest = await indexed.alone(partial(indexed.lore.nearest, vector, list(entries), count, least))
        return [entries[node] for node in nearest]

    async def learn_lore(self, space: str, id: str, story: Story) -> int:
        """Make the vectors that the entries of the lorebook lack: of so many. Raises UserError, StorageFault."""
        indexed = await self._index_of(space, id, story)
        embedder = await self._embedder(indexed)
        if embedder is None or indexed.learning.locked():
            return 0
        entries = by_meaning(story)
        async with indexed.learning:
            await self._load_lore(space, id, indexed, embedder.name, list(entries))
            missing = [node for node in entries if node not in indexed.lore.numbers]
            contents = {node: str(story.lore[entries[node]]["content"])[:CONTENT_CHARS] for node in missing}
            for first in range(0, len(missing), BATCH):
                some = missing[first : first + BATCH]
                made = packed(await asyncio.to_thread(embedder.passages, [contents[node] for node in some]))
                kept = {node: bytes(row) for node, row in zip(some, made, strict=True)}
                # Whose words an entry is made of its run says.
                rows = [NodeVectors(node, node.rpartition("/")[0], "", row) for node, row in kept.items()]
                await self._vectors.put(space, id, embedder.name, rows)
                await indexed.alone(partial(indexed.lore.take, some, kept))
        return len(missing)

    async def _load_lore(
        self, space: str, id: str, indexed: _Indexed, embedder: str, nodes: Sequence[str]
    ) -> None:
        """Have those of the entries' vectors in memory that are kept. Raises StorageFault."""
        wanted = [node for node in nodes if node not in indexed.lore.asked]
        if wanted:
            kept = await self._vectors.of(space, id, embedder, wanted)
            await indexed.alone(partial(indexed.lore.take, wanted, kept))

    async def _embed(
        self,
        space: str,
        id: str,
        indexed: _Indexed,
        embedder: Embedder,
        nodes: Sequence[int],
        story: Story,
        lived: _Lived,
        places: Sequence[int],
    ) -> None:
        """Make and keep the vectors of some nodes, each of the turn of its place in the branch."""
        rows, path = [], lived.turns
        for node, at in zip(nodes, places, strict=True):
            name, turn = indexed.pieces.nodes[node], story.turns[path[at]]
            texts = embedded(story, path, at, state.title_at(lived.chapters, at)).get(name, [])
            # What was found in an edited scene is made of its author's words, too.
            author = turn.act.author if name == turn.act.id or turn.scene is None else turn.scene.author
            rows.append((name, author, texts))
        every = [text for _, _, texts in rows for text in texts]
        parts = [every[first : first + BATCH] for first in range(0, len(every), BATCH)]
        made = [
            bytes(row) for part in parts for row in packed(await asyncio.to_thread(embedder.passages, part))
        ]
        vectors = iter(made)
        kept = [
            NodeVectors(name, name.rpartition("/")[0], author, b"".join(islice(vectors, len(texts))))
            for name, author, texts in rows
            if texts  # else another version counts by now
        ]
        await self._vectors.put(space, id, embedder.name, kept)
        by_node = {row.node_id: row.vectors for row in kept}
        await indexed.alone(partial(indexed.take, nodes, by_node, _THERE))

    async def _index_of(self, space: str, id: str, story: Story) -> _Indexed:
        indexed = self._stories.get((space, id))
        if indexed is None or story.length >= 2 * indexed.sampled:
            language = await asyncio.to_thread(detect, "\n".join(_sample(story)))
            indexed = self._stories.get((space, id))
            if indexed is None or indexed.pieces.language != language:
                indexed = self._stories[space, id] = _Indexed(Pieces(language))
            indexed.sampled = max(indexed.sampled, story.length)
        self._stories.move_to_end((space, id))
        while len(self._stories) > 1 and (
            len(self._stories) > KEPT or sum(len(one.pieces) for one in self._stories.values()) > KEPT_PIECES
        ):
            self._stories.popitem(last=False)
        return indexed

    async def _embedder(self, indexed: _Indexed) -> Embedder | None:
        """The model whose vectors may vote on the story."""
        embedder = await self._embedding.get()
        if embedder is None or not may_vote(embedder.languages, None, indexed.pieces.language):
            return None
        if indexed.embedder != embedder.name:
            indexed.embedder, indexed.vectors, indexed.lore = embedder.name, None, LoreVectors()
            indexed.state.clear()
        return embedder

    async def _vector(self, embedder: Embedder, text: str) -> NDArray[np.float32] | None:
        """Of a query; None where the model fails or is late, and for a while after that."""
        loop, key = asyncio.get_running_loop(), (embedder.name, text)
        if key in self._queries:
            return self._queries[key]
        if loop.time() < self._paused:
            return None
        try:
            async with asyncio.timeout(self._waits):
                vector = await in_own_thread(partial(copy_context().run, embedder.query, text))
        except (UserError, TimeoutError) as fault:
            _log.warning("stories are searched by their words alone: %s", str(fault) or "its model is late")
            self._paused = loop.time() + PAUSE
            return None
        self._queries[key] = vector
        if len(self._queries) > QUERIES:
            self._queries.popitem(last=False)
        return vector

    async def _load(self, space: str, id: str, indexed: _Indexed, embedder: str, lived: _Lived) -> None:
        """Have those of the branch's vectors in memory that are kept. Raises StorageFault."""
        wanted, _ = await indexed.alone(partial(indexed.below, _ASKED, lived))
        for first in range(0, len(wanted), LOADED):
            nodes = wanted[first : first + LOADED].tolist()
            names = [indexed.pieces.nodes[node] for node in nodes]
            kept = await self._vectors.of(space, id, embedder, names)
            await indexed.alone(partial(indexed.take, nodes, kept, _ASKED))


def _sample(story: Story) -> list[str]:
    """Texts from all over the story."""
    turns = story.told[:: -(-story.length // _SAMPLE) or 1]
    scenes = [turn.scene.text for turn in turns if turn.scene is not None]
    return [str(story.settings.get("premise", "")), *(turn.act.text for turn in turns), *scenes]


async def _live(indexed: _Indexed, branch: str, story: Story) -> _Lived:
    """The branch's pieces in their order; of what has changed since the last time, new ones are indexed."""
    before, unchanged = indexed.lived.get(branch), 0
    if (
        before is not None and before.story() is story
    ):  # else it was folded anew: words may have been withdrawn
        if before.seq == story.seq:
            return before
        unchanged = min(len(before.turns), story.unchanged_since(before.seq))
    path, seq = story.path[: story.length], story.seq

    def lived() -> _Lived:
        # A turn that changes while it is read has changed since `seq`, and is read once more the next time.
        made = _lived(indexed.pieces, before, unchanged, story, path, seq)
        indexed.lived[branch] = made
        indexed.lived.move_to_end(branch)
        if len(indexed.lived) > BRANCHES:
            indexed.lived.popitem(last=False)
        return made

    return await indexed.alone(lived)


def _lived(
    index: Pieces, before: _Lived | None, unchanged: int, story: Story, path: list[str], seq: int
) -> _Lived:
    """What the turns of the path tell. The first `unchanged` ones are told as `before` has them."""
    import numpy as np

    told, noted_ones, noted_for = _Row(), _Row(), array("i")
    named: dict[str, int] = {}
    if before is not None and unchanged:
        told.copy(before.told, before.turn_of, unchanged)
        noted_ones.copy(before.noted, before.noted_of, unchanged)
        noted_for.frombytes(before.noted_for[: len(noted_ones.numbers)].tobytes())
        named = before.scenes
    scene = max(told.scenes, default=-1)
    named = {name: number for name, number in named.items() if number <= scene}
    chapters = state.titles(story, path)
    for at in range(unchanged, len(path)):
        turn, own, chapter = story.turns[path[at]], list[int](), state.title_at(chapters, at)
        known = about(turn, chapter)
        nodes = [node for node in nodes_of(turn) if node not in story.forgotten]
        if any(index.of(node, known) is None for node in nodes):
            for node, parts in pieces_of(turn, chapter).items():
                index.add(node, parts)
        for node in nodes:
            own.extend(index.of(node, known) or ())
        if own:
            group = turn.act.group
            number = named.setdefault(group, scene + 1) if group else scene + 1
            scene = max(scene, number)
            told.add(own, number, at)
            if nodes_of(turn)[-1] in nodes:  # else what it was found in is forgotten
                found, parts = noted(turn, chapter)
                places, turns = (
                    (noted_at(turn, at), turn.extracted.turns) if turn.extracted and parts else ([], 1)
                )
                # Nothing that a forgotten line told, and no summary with it.
                lost = {place for place in range(max(0, at - turns + 1), at) if _lost(story, path[place])}
                kept = [
                    (piece, place)
                    for piece, place in zip(index.add(found, parts) if parts else (), places, strict=True)
                    if not (place in lost or (place == at and lost))
                ]
                noted_ones.add([piece for piece, _ in kept], number, at)
                noted_for.extend(place for _, place in kept)
    turn_of, noted_of = (np.array(row.turns, dtype=np.int32) for row in (told, noted_ones))
    for_turns = np.array(noted_for, dtype=np.int32)
    made = told.of(index), path, turn_of, named, noted_ones.of(index), noted_of, for_turns
    return _Lived(ref(story), seq, *made, chapters)


def _lost(story: Story, turn: str) -> bool:
    return story.turns[turn].act.id in story.forgotten


@dataclass(slots=True)
class _Row:
    """Pieces in a row, as they are put together: their numbers, scenes and turns."""

    numbers: array[int] = field(default_factory=lambda: array("i"))
    scenes: array[int] = field(default_factory=lambda: array("i"))
    turns: array[int] = field(default_factory=lambda: array("i"))

    def copy(self, told: Told, turn_of: NDArray[np.int32], unchanged: int) -> None:
        """Those of the first turns."""
        pieces = int(turn_of.searchsorted(unchanged))
        for new, old in ((self.numbers, told.pieces), (self.scenes, told.scenes), (self.turns, turn_of)):
            new.frombytes(old[:pieces].tobytes())

    def add(self, pieces: Sequence[int], scene: int, turn: int) -> None:
        self.numbers.extend(pieces)
        self.scenes.extend([scene] * len(pieces))
        self.turns.extend([turn] * len(pieces))

    def of(self, index: Pieces) -> Told:
        import numpy as np

        return index.told(np.array(self.numbers, dtype=np.int32), np.array(self.scenes, dtype=np.int32))


def _ranked(
    lived: _Lived,
    query: Query,
    by: RecallConfig,
    nearest: dict[int, float],
    turns: Mapping[str, Turn],
    count: int,
    without: frozenset[str],
) -> list[Recalled]:
    import numpy as np

    told = lived.told
    if not len(told.pieces):
        return []

    def terms_of(place: int) -> list[str]:
        node, part = told.index.node_of(int(told.pieces[place]))
        pieces = pieces_of(turns[lived.turns[lived.turn_of[place]]]).get(node, [])
        return terms(pieces[part].text, told.index.language) if part < len(pieces) else []

    by_reason = scored(told, query, by, nearest, terms_of)
    if by.events and len(lived.noted.pieces):
        speaking_for(
            by_reason, lived.turn_of, lived.noted.scores(query.text, by, nearest), lived.noted_for, by
        )
    scores = np.sum(list(by_reason.values()), axis=0)
    if by.age:
        scores[too_old(told.by_scene(scores), by)[told.scenes]] = 0.0
    asked = content_terms(query.text, told.index.language)
    with_keyword = np.zeros(told.scene_count, dtype=np.bool_)
    for scenes in distinctive(told, asked, told.names(), by).values():
        with_keyword[scenes] = True
    recalled = list[Recalled]()
    for place in _best_first(scores, count):
        if scores[place] <= 0 or len(recalled) == count:
            break
        at = int(lived.turn_of[place])
        if lived.turns[at] not in without:
            node, part = told.index.node_of(int(told.pieces[place]))
            reasons = tuple(reason for reason, added in by_reason.items() if added[place] >= TELLING)
            keyword = bool(with_keyword[told.scenes[place]])
            recalled.append(
                Recalled(node, part, lived.turns[at], at + 1, float(scores[place]), reasons, keyword)
            )
    return recalled


def _best_first(scores: NDArray[np.float32], count: int) -> Iterator[int]:
    """The places in the order of their scores; to sort them all would take most of a long story's search."""
    import numpy as np

    told = 0
    while told < len(scores):
        likely = np.arange(len(scores))
        if count < len(scores):
            likely = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
        likely = likely[np.argsort(-scores[likely], kind="stable")]
        yield from likely[told:].tolist()
        told, count = len(likely), 8 * count
