"""The memory of stories: searches the pieces of a branch by words and by vectors.

Words are indexed in memory from the folded story, so that no second copy must follow the log; vectors are stored in
the database by node. Knows no prompt and no platform.
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
from bot.works.story.memory.index import BranchPieces, Pieces, Reason
from bot.works.story.memory.pieces import about, embedded, nodes_of, noted, noted_at, pieces_of
from bot.works.story.memory.ranking import Query, add_extracted, distinctive, scored, too_old
from bot.works.story.memory.vectors import (
    CONTENT_CHARS,
    LoreVectors,
    PieceVectors,
    by_meaning,
    likeness,
    packed,
)
from bot.works.story.world import state
from storage.faults import StorageFault
from storage.story_vectors import NodeVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embedding import Embedder, Embedding
    from bot.works.story.config import RecallConfig
    from bot.works.story.log.story import Story
    from bot.works.story.log.turn import Turn
    from storage.story_vectors import StoryVectors

T = TypeVar("T")

KEPT, KEPT_PIECES = 16, 400_000
"""How many stories' pieces stay in memory, and how many pieces in all: 200,000 take some 125 MB (docs/retrieval.md)."""

BRANCHES = 8
"""How many branches of a story stay in memory: each takes 5 MB for 200,000 pieces."""

NEAREST = 200
"""How many of the nearest vectors count."""

BATCH = 16
"""How many pieces are embedded at a time: somebody's question may wait for the model."""

LOADED = 1_000
"""For how many nodes vectors are read at a time: all of a long story at once would take twice the memory."""

QUERY_CHARS = 8_000
"""The longest part of a query that is used: each of its words is looked up."""

QUERIES = 32
"""How many queries' vectors stay in memory: a turn's is used for the lorebook, then for past scenes."""

PAUSE = 60.0
"""Seconds for which a model that failed is asked for no query's vector: words alone are searched meanwhile."""

TELLING = 0.1
"""A reason that adds less to a piece's score is left out."""

_SAMPLE = 20
"""How many turns a story's language is detected from; detected again whenever the story has doubled."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A piece that was found: its node and turn, the turn's number in the branch, its score and the reasons for it.

    `keyword`: its scene contains a distinctive word of the query.
    """

    node: str
    part: int
    turn: str
    number: int
    score: float
    reasons: tuple[Reason, ...]
    keyword: bool = False


@dataclass(frozen=True, slots=True)
class _History:
    """A branch's pieces in order, as `story` was at the node `seq`.

    `turns`: the ids of the branch's turns in order; `turn_of`: for each piece, the place of its turn there. `scenes`:
    the numbers of the scenes that a chat log names. `noted`: the pieces extracted from turns; `noted_of`: for each the
    place of the turn that it was extracted from; `noted_for`: of the turn that it describes.
    """

    story: ref[Story]
    seq: int
    pieces: BranchPieces
    turns: list[str]
    turn_of: NDArray[np.int32]
    scenes: dict[str, int]
    noted: BranchPieces
    noted_of: NDArray[np.int32]
    noted_for: NDArray[np.int32]
    chapters: list[tuple[int, str]]
    """As `state.titles` has them."""


_ASKED, _THERE = 1, 2


@dataclass(slots=True)
class _Indexed:
    """A story's pieces, used by one thread at a time: see `alone`. Its language was detected when it had `sampled`
    turns.

    `state`: for each node of `pieces`, whether its vectors were read (_ASKED), and whether they are in `vectors`
    (_THERE).
    """

    pieces: Pieces
    sampled: int = 1
    waiting: asyncio.Lock = field(default_factory=asyncio.Lock)
    working: Lock = field(default_factory=Lock)
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)
    histories: OrderedDict[str, _History] = field(default_factory=OrderedDict)
    vectors: PieceVectors | None = None
    embedder: str = ""
    state: bytearray = field(default_factory=bytearray)
    lore: LoreVectors = field(default_factory=LoreVectors)

    async def alone(self, call: Callable[[], T]) -> T:
        """Run `call` in a thread, after all earlier calls have ended, also those whose callers were cancelled."""

        def work() -> T:
            with self.working:
                return call()

        async with self.waiting:
            return await asyncio.to_thread(work)

    def below(self, state: int, history: _History) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The nodes of a branch with a lower state, in the order they were added, and the places of their turns."""
        import numpy as np

        self.state.extend(bytes(len(self.pieces.nodes) - len(self.state)))
        nodes = np.concatenate([history.pieces.nodes(), history.noted.nodes()])
        turns = np.concatenate([history.turn_of, history.noted_of])
        places = np.flatnonzero(np.array(self.state)[nodes] < state)
        unique, first = np.unique(nodes[places], return_index=True)
        return unique, turns[places[first]]

    def batches(self, nodes: NDArray[np.int32]) -> Iterator[slice]:
        """Slices of `nodes`, each with about BATCH pieces."""
        first = size = 0
        for at, node in enumerate(nodes.tolist(), 1):
            size += len(self.pieces.pieces(node))
            if size >= BATCH or at == len(nodes):
                yield slice(first, at)
                first, size = at, 0

    def take(self, nodes: Iterable[int], vectors: Mapping[str, bytes], without: int) -> None:
        """Take in packed `vectors` of these nodes, by the nodes' ids; `without`: the state of a node without usable
        ones.
        """
        import numpy as np

        ranges, rows = list[range](), list[bytes]()
        for node in nodes:
            pieces, row = self.pieces.pieces(node), vectors.get(self.pieces.nodes[node], b"")
            self.state[node] = without
            if (
                row and pieces and self.vectors is None
            ):  # the dimensions of a service's model are known by its vectors only
                self.vectors = PieceVectors(len(row) // len(pieces))
                self.vectors.reserve(len(self.pieces))
            if self.vectors is not None and row and len(row) == len(pieces) * self.vectors.dimensions:
                self.state[node] = _THERE
                ranges.append(pieces)
                rows.append(row)
        if self.vectors is not None and ranges:
            self.vectors.add(
                np.concatenate([np.arange(pieces.start, pieces.stop) for pieces in ranges]),
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
        """The pieces of a story's branch that match the query best, best first; none of the turns `without`.

        `story` is the branch as it stands: nothing else is found. `by` takes the place of the configuration.
        """
        by, apart = by or self._by, frozenset(without)
        query = replace(query, text=query.text[:QUERY_CHARS], context=query.context[:QUERY_CHARS])
        indexed = await self._index_of(space, id, story)
        history = await _history(indexed, branch, story)
        vector: NDArray[np.float32] | None = None
        try:
            if by.meaning and (embedder := await self._embedder(indexed)) is not None:
                vector = await self._vector(embedder, query.text)
                if vector is not None:
                    await self._load(space, id, indexed, embedder.name, history)
        except (UserError, StorageFault) as fault:
            _log.warning("a story is searched by its words alone: %s", fault)

        def ranked() -> list[Recalled]:
            nearest: dict[int, float] = {}
            if vector is not None and indexed.vectors is not None:
                nearest = indexed.vectors.nearest(vector, history.pieces.numbers, NEAREST)
                nearest |= indexed.vectors.nearest(vector, history.noted.numbers, NEAREST)
            return _ranked(history, query, by, nearest, story.turns, count, apart)

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
        """Make the missing vectors of the branch's pieces, or of its first `until` turns; returns for how many nodes.

        `progress` is called with the nodes done, and all of them. Makes none without a model for the story's language,
        nor while another call does: that one also makes those of pieces added meanwhile. Raises UserError,
        StorageFault.
        """
        indexed, learnt = await self._index_of(space, id, story), 0
        embedder = await self._embedder(indexed)
        if embedder is None or indexed.learning.locked():
            return 0
        async with indexed.learning:
            while True:
                history = await _history(indexed, branch, story)
                await self._load(space, id, indexed, embedder.name, history)
                lacking, places = await indexed.alone(partial(indexed.below, _THERE, history))
                if until is not None:
                    lacking, places = lacking[places < until], places[places < until]
                if not len(lacking):
                    return learnt
                most = learnt + len(lacking)
                for some in indexed.batches(lacking):
                    nodes = lacking[some].tolist()
                    await self._embed(
                        space, id, indexed, embedder, nodes, story, history, places[some].tolist()
                    )
                    self._paused = 0.0
                    learnt += len(nodes)
                    if progress is not None:
                        progress(learnt, most)

    async def lore(
        self, space: str, id: str, story: Story, text: str, count: int, least: float = 0.0
    ) -> list[str]:
        """The ids of at most `count` entries of the lorebook that are nearest to the text in meaning, nearest first.

        Each has a cosine of at least `least`; 0 means the model's own threshold. None without a model, and no entries
        whose vectors have not been made yet.
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
        """Make the missing vectors of the lorebook's entries; returns how many. Raises UserError, StorageFault."""
        indexed = await self._index_of(space, id, story)
        embedder = await self._embedder(indexed)
        if embedder is None or indexed.learning.locked():
            return 0
        entries = by_meaning(story)
        async with indexed.learning:
            await self._load_lore(space, id, indexed, embedder.name, list(entries))
            lacking = [node for node in entries if node not in indexed.lore.numbers]
            contents = {node: str(story.lore[entries[node]]["content"])[:CONTENT_CHARS] for node in lacking}
            for first in range(0, len(lacking), BATCH):
                some = lacking[first : first + BATCH]
                texts = [contents[node] for node in some]
                rows = packed(await asyncio.to_thread(embedder.passages, texts))
                vectors = {node: bytes(row) for node, row in zip(some, rows, strict=True)}
                # The author is empty: an entry's run says whose words it is made of.
                node_vectors = [
                    NodeVectors(node, node.rpartition("/")[0], "", row) for node, row in vectors.items()
                ]
                await self._vectors.put(space, id, embedder.name, node_vectors)
                await indexed.alone(partial(indexed.lore.take, some, vectors))
        return len(lacking)

    async def _load_lore(
        self, space: str, id: str, indexed: _Indexed, embedder: str, nodes: Sequence[str]
    ) -> None:
        """Load the stored vectors of the entries. Raises StorageFault."""
        unasked = [node for node in nodes if node not in indexed.lore.asked]
        if unasked:
            vectors = await self._vectors.of(space, id, embedder, unasked)
            await indexed.alone(partial(indexed.lore.take, unasked, vectors))

    async def _embed(
        self,
        space: str,
        id: str,
        indexed: _Indexed,
        embedder: Embedder,
        nodes: Sequence[int],
        story: Story,
        history: _History,
        places: Sequence[int],
    ) -> None:
        """Make and store the vectors of some nodes; `places`: of their turns in the branch."""
        rows, path = [], history.turns
        for node, at in zip(nodes, places, strict=True):
            name, turn = indexed.pieces.nodes[node], story.turns[path[at]]
            texts = embedded(story, path, at, state.title_at(history.chapters, at)).get(name, [])
            # What was extracted from an edited scene contains its author's words, too.
            author = turn.act.author if name == turn.act.id or turn.scene is None else turn.scene.author
            rows.append((name, author, texts))
        every = [text for _, _, texts in rows for text in texts]
        parts = [every[first : first + BATCH] for first in range(0, len(every), BATCH)]
        packed_vectors = [
            bytes(row) for part in parts for row in packed(await asyncio.to_thread(embedder.passages, part))
        ]
        vectors = iter(packed_vectors)
        node_vectors = [
            NodeVectors(name, name.rpartition("/")[0], author, b"".join(islice(vectors, len(texts))))
            for name, author, texts in rows
            if texts  # otherwise another version counts by now
        ]
        await self._vectors.put(space, id, embedder.name, node_vectors)
        by_node = {row.node_id: row.vectors for row in node_vectors}
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
            len(self._stories) > KEPT
            or sum(len(indexed.pieces) for indexed in self._stories.values()) > KEPT_PIECES
        ):
            self._stories.popitem(last=False)
        return indexed

    async def _embedder(self, indexed: _Indexed) -> Embedder | None:
        """The model, if it knows the story's language."""
        embedder = await self._embedding.get()
        if embedder is None or not may_vote(embedder.languages, None, indexed.pieces.language):
            return None
        if indexed.embedder != embedder.name:
            indexed.embedder, indexed.vectors, indexed.lore = embedder.name, None, LoreVectors()
            indexed.state.clear()
        return embedder

    async def _vector(self, embedder: Embedder, text: str) -> NDArray[np.float32] | None:
        """A query's vector; None where the model fails or is late, and for PAUSE seconds after that."""
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

    async def _load(self, space: str, id: str, indexed: _Indexed, embedder: str, history: _History) -> None:
        """Load the stored vectors of the branch. Raises StorageFault."""
        unasked, _ = await indexed.alone(partial(indexed.below, _ASKED, history))
        for first in range(0, len(unasked), LOADED):
            nodes = unasked[first : first + LOADED].tolist()
            names = [indexed.pieces.nodes[node] for node in nodes]
            vectors = await self._vectors.of(space, id, embedder, names)
            await indexed.alone(partial(indexed.take, nodes, vectors, _ASKED))


def _sample(story: Story) -> list[str]:
    """Texts from the whole story, evenly spread."""
    turns = story.current_turns[:: -(-story.length // _SAMPLE) or 1]
    scenes = [turn.scene.text for turn in turns if turn.scene is not None]
    return [str(story.settings.get("premise", "")), *(turn.act.text for turn in turns), *scenes]


async def _history(indexed: _Indexed, branch: str, story: Story) -> _History:
    """The branch's pieces in order; pieces that are new since the last call are indexed."""
    before, unchanged = indexed.histories.get(branch), 0
    if (
        before is not None and before.story() is story
    ):  # otherwise it was folded anew: words may have been withdrawn
        if before.seq == story.seq:
            return before
        unchanged = min(len(before.turns), story.unchanged_since(before.seq))
    path, seq = story.path[: story.length], story.seq

    def update() -> _History:
        # A turn that changes while it is read has changed since `seq`, and is read once more the next time.
        history = _built(indexed.pieces, before, unchanged, story, path, seq)
        indexed.histories[branch] = history
        indexed.histories.move_to_end(branch)
        if len(indexed.histories) > BRANCHES:
            indexed.histories.popitem(last=False)
        return history

    return await indexed.alone(update)


def _built(
    index: Pieces, before: _History | None, unchanged: int, story: Story, path: list[str], seq: int
) -> _History:
    """The history of the turns of the path; that of the first `unchanged` ones is copied from `before`."""
    import numpy as np

    main_row, noted_row, noted_for = _Row(), _Row(), array("i")
    scene_numbers: dict[str, int] = {}
    if before is not None and unchanged:
        main_row.copy(before.pieces, before.turn_of, unchanged)
        noted_row.copy(before.noted, before.noted_of, unchanged)
        noted_for.frombytes(before.noted_for[: len(noted_row.numbers)].tobytes())
        scene_numbers = before.scenes
    scene = max(main_row.scenes, default=-1)
    scene_numbers = {name: number for name, number in scene_numbers.items() if number <= scene}
    chapters = state.titles(story, path)
    for at in range(unchanged, len(path)):
        turn, own, chapter = story.turns[path[at]], list[int](), state.title_at(chapters, at)
        place_and_time = about(turn, chapter)
        nodes = [node for node in nodes_of(turn) if node not in story.forgotten]
        if any(index.of(node, place_and_time) is None for node in nodes):
            for node, parts in pieces_of(turn, chapter).items():
                index.add(node, parts)
        for node in nodes:
            own.extend(index.of(node, place_and_time) or ())
        if own:
            group = turn.act.group
            number = scene_numbers.setdefault(group, scene + 1) if group else scene + 1
            scene = max(scene, number)
            main_row.add(own, number, at)
            if nodes_of(turn)[-1] in nodes:  # otherwise the node it was extracted from is forgotten
                source, parts = noted(turn, chapter)
                places, turns = (
                    (noted_at(turn, at), turn.extracted.turns) if turn.extracted and parts else ([], 1)
                )
                # Nothing extracted from a forgotten line, and no summary that includes it.
                lost = {place for place in range(max(0, at - turns + 1), at) if _lost(story, path[place])}
                entries = [
                    (piece, place)
                    for piece, place in zip(index.add(source, parts) if parts else (), places, strict=True)
                    if not (place in lost or (place == at and lost))
                ]
                noted_row.add([piece for piece, _ in entries], number, at)
                noted_for.extend(place for _, place in entries)
    turn_of, noted_of = (np.array(row.turns, dtype=np.int32) for row in (main_row, noted_row))
    for_turns = np.array(noted_for, dtype=np.int32)
    fields = main_row.of(index), path, turn_of, scene_numbers, noted_row.of(index), noted_of, for_turns
    return _History(ref(story), seq, *fields, chapters)


def _lost(story: Story, turn: str) -> bool:
    return story.turns[turn].act.id in story.forgotten


@dataclass(slots=True)
class _Row:
    """Columns of pieces while they are collected: their numbers, scenes and turns."""

    numbers: array[int] = field(default_factory=lambda: array("i"))
    scenes: array[int] = field(default_factory=lambda: array("i"))
    turns: array[int] = field(default_factory=lambda: array("i"))

    def copy(self, branch: BranchPieces, turn_of: NDArray[np.int32], unchanged: int) -> None:
        """Copy the pieces of the first `unchanged` turns."""
        pieces = int(turn_of.searchsorted(unchanged))
        for new, old in ((self.numbers, branch.numbers), (self.scenes, branch.scenes), (self.turns, turn_of)):
            new.frombytes(old[:pieces].tobytes())

    def add(self, pieces: Sequence[int], scene: int, turn: int) -> None:
        self.numbers.extend(pieces)
        self.scenes.extend([scene] * len(pieces))
        self.turns.extend([turn] * len(pieces))

    def of(self, index: Pieces) -> BranchPieces:
        return BranchPieces(index, self.numbers, self.scenes)


def _ranked(
    history: _History,
    query: Query,
    by: RecallConfig,
    nearest: dict[int, float],
    turns: Mapping[str, Turn],
    count: int,
    without: frozenset[str],
) -> list[Recalled]:
    import numpy as np

    branch = history.pieces
    if not len(branch.numbers):
        return []

    def terms_of(place: int) -> list[str]:
        node, part = branch.index.node_of(int(branch.numbers[place]))
        pieces = pieces_of(turns[history.turns[history.turn_of[place]]]).get(node, [])
        return terms(pieces[part].text, branch.index.language) if part < len(pieces) else []

    by_reason = scored(branch, query, by, nearest, terms_of)
    if by.events and len(history.noted.numbers):
        add_extracted(
            by_reason, history.turn_of, history.noted.scores(query.text, by, nearest), history.noted_for, by
        )
    scores = np.sum(list(by_reason.values()), axis=0)
    if by.age:
        scores[too_old(branch.by_scene(scores), by)[branch.scenes]] = 0.0
    query_terms = content_terms(query.text, branch.index.language)
    with_keyword = np.zeros(branch.scene_count, dtype=np.bool_)
    for scenes in distinctive(branch, query_terms, branch.names(), by).values():
        with_keyword[scenes] = True
    recalled = list[Recalled]()
    for place in _best_first(scores, count):
        if scores[place] <= 0 or len(recalled) == count:
            break
        at = int(history.turn_of[place])
        if history.turns[at] not in without:
            node, part = branch.index.node_of(int(branch.numbers[place]))
            reasons = tuple(reason for reason, added in by_reason.items() if added[place] >= TELLING)
            keyword = bool(with_keyword[branch.scenes[place]])
            recalled.append(
                Recalled(node, part, history.turns[at], at + 1, float(scores[place]), reasons, keyword)
            )
    return recalled


def _best_first(scores: NDArray[np.float32], count: int) -> Iterator[int]:
    """The places in the order of their scores; sorting all of them would take most of the time of a search."""
    import numpy as np

    ranked = 0
    while ranked < len(scores):
        likely = np.arange(len(scores))
        if count < len(scores):
            likely = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
        likely = likely[np.argsort(-scores[likely], kind="stable")]
        yield from likely[ranked:].tolist()
        ranked, count = len(likely), 8 * count
