"""What stories remember: their pieces by words and by vectors, searched as a branch has lived them.

Words are indexed in memory from the folded story, so that there is nothing to keep in step with the log; vectors are
kept in the database, under the nodes that they are of. Knows no prompt and no platform.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.events import Sorry
from bot.retrieval.language import detect, may_vote
from bot.retrieval.lexical import terms
from bot.works.story.memory.components import too_old
from bot.works.story.memory.index import Piece, Pieces, Reason, Told
from bot.works.story.memory.pieces import pieces_of
from bot.works.story.memory.ranking import Query, scored
from bot.works.story.memory.vectors import PieceVectors, packed
from storage.faults import StorageFault
from storage.story_vectors import NodeVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.embed import Embedder
    from bot.retrieval.embedding import Embedding
    from bot.works.story.log import Story
    from bot.works.story.memory.config import RecallConfig
    from storage.story_vectors import StoryVectors

KEPT = 16
"""Stories whose pieces stay in memory: 200,000 pieces take some 240 MB (docs/retrieval.md)."""

NEAREST = 200
"""So many of the nearest vectors vote."""

BATCH = 16
"""Pieces that are embedded at a time: somebody's question may wait for the model."""

LOADED = 5_000
"""Nodes whose vectors are read at a time: all of a long story at once would take twice the memory."""

TELLING = 0.1
"""A reason that adds less to a piece's score is not told."""

_SAMPLE = 20
"""Turns by which a story's language is told."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Recalled:
    """A piece that was found: of which node and turn, the turn's number in the branch, and what speaks for it."""

    node: str
    part: int
    turn: str
    number: int
    score: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class _Lived:
    """What a branch has lived through, as of the number `seq` of the log.

    `turns` are their ids in order; of each piece `turn_of` says which of them it is of.
    """

    seq: int
    told: Told
    nodes: list[str]
    turns: list[str]
    turn_of: NDArray[np.int32]


@dataclass(slots=True)
class _Indexed:
    """A story's pieces. `embedded` are the nodes whose vectors are in `vectors`."""

    pieces: Pieces
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    lived: dict[str, _Lived] = field(default_factory=dict)
    vectors: PieceVectors | None = None
    embedder: str = ""
    embedded: set[str] = field(default_factory=set)


class Memory:
    def __init__(self, vectors: StoryVectors, embedding: Embedding, by: RecallConfig) -> None:
        self._vectors = vectors
        self._embedding = embedding
        self._by = by
        self._stories: OrderedDict[tuple[str, str], _Indexed] = OrderedDict()

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
        by = by or self._by
        indexed = await self._index_of(space, id, story)
        async with indexed.lock:
            lived = await _live(indexed, branch, story)
            nearest: dict[int, float] = {}
            try:
                embedder = await self._embedder(indexed)
                if embedder is not None and by.meaning:
                    vectors = await self._loaded(space, id, indexed, embedder, lived)
                    vector = await asyncio.to_thread(embedder.query, query.text)
                    nearest = await asyncio.to_thread(vectors.nearest, vector, lived.told.pieces, NEAREST)
            except (Sorry, StorageFault) as fault:
                _log.warning("a story is searched by its words alone: %s", fault)
            texts = _Texts(story, lived)
            return await asyncio.to_thread(
                _ranked, lived, query, by, nearest, texts, count, frozenset(without)
            )

    async def learn(
        self,
        space: str,
        id: str,
        branch: str,
        story: Story,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Make the vectors that the branch's pieces lack: of so many nodes. `progress` is told of each and of them all.

        None where no model is at hand, or it does not speak the story's language. Raises Sorry, StorageFault.
        """
        indexed = await self._index_of(space, id, story)
        async with indexed.lock:
            lived = await _live(indexed, branch, story)
            embedder = await self._embedder(indexed)
            if embedder is None:
                return 0
            vectors = await self._loaded(space, id, indexed, embedder, lived)
            # The story may have gone on meanwhile: whoever brought what came has it learnt, too.
            missing = {node for node in lived.nodes if node not in indexed.embedded}
            texts = {
                node: (turn.act.author if node == turn.act.id else "", [piece.prefixed for piece in pieces])
                for turn in story.told
                if turn.act.id in missing or (turn.scene is not None and turn.scene.id in missing)
                for node, pieces in pieces_of(turn).items()
                if node in missing
            }
            for done, (node, (author, parts)) in enumerate(texts.items(), 1):
                batches = [parts[first : first + BATCH] for first in range(0, len(parts), BATCH)]
                made = [packed(await asyncio.to_thread(embedder.passages, batch)) for batch in batches]
                row = NodeVectors(node, node.rpartition("/")[0], author, b"".join(map(bytes, made)))
                await self._vectors.put(space, id, embedder.name, [row])
                _take(indexed, vectors, {node: row.vectors})
                if progress is not None:
                    progress(done, len(texts))
            return len(texts)

    async def _index_of(self, space: str, id: str, story: Story) -> _Indexed:
        if (space, id) not in self._stories:
            beginning = story.told[:_SAMPLE]
            texts = [str(story.settings.get("premise", "")), *(turn.act.text for turn in beginning)]
            texts += [turn.scene.text for turn in beginning if turn.scene is not None]
            language = await asyncio.to_thread(detect, "\n".join(texts))
            self._stories.setdefault((space, id), _Indexed(Pieces(language)))
            if len(self._stories) > KEPT:
                self._stories.popitem(last=False)
        self._stories.move_to_end((space, id))
        return self._stories[space, id]

    async def _embedder(self, indexed: _Indexed) -> Embedder | None:
        """The model whose vectors may vote on the story."""
        embedder = await self._embedding.get()
        if embedder is None or not may_vote(embedder.languages, None, indexed.pieces.language):
            return None
        if indexed.embedder != embedder.name:
            indexed.embedder, indexed.vectors = embedder.name, PieceVectors(embedder.dimensions)
            indexed.embedded.clear()
        return embedder

    async def _loaded(
        self, space: str, id: str, indexed: _Indexed, embedder: Embedder, lived: _Lived
    ) -> PieceVectors:
        """The story's vectors, with those of the branch that are kept. Raises StorageFault."""
        assert indexed.vectors is not None, "it is there with its embedder"
        wanted = [node for node in lived.nodes if node not in indexed.embedded]
        if len(wanted) > LOADED:
            indexed.vectors.reserve(len(indexed.pieces))
        for first in range(0, len(wanted), LOADED):
            some = wanted[first : first + LOADED]
            kept = await self._vectors.of(space, id, embedder.name, some)
            await asyncio.to_thread(_take, indexed, indexed.vectors, kept)
        return indexed.vectors


def _take(indexed: _Indexed, vectors: PieceVectors, kept: Mapping[str, bytes]) -> None:
    """Packed vectors by their nodes."""
    import numpy as np

    numbers = [number for node in kept for number in indexed.pieces.of(node) or ()]
    rows = b"".join(row for node, row in kept.items() if indexed.pieces.of(node))
    if numbers:
        vectors.add(numbers, np.frombuffer(rows, dtype=np.int8).reshape(len(numbers), -1))
    indexed.embedded.update(kept)


async def _live(indexed: _Indexed, branch: str, story: Story) -> _Lived:
    """The branch's pieces in their order; new ones are indexed. The caller holds the story's lock."""
    lived = indexed.lived.get(branch)
    if lived is None or lived.seq != story.seq:
        seq, turns = story.seq, story.told
        shown = [
            tuple(id for id in (turn.act.id, turn.scene.id if turn.scene is not None else "") if id)
            for turn in turns
        ]
        if story.forgotten:
            shown = [tuple(node for node in nodes if node not in story.forgotten) for nodes in shown]
        new: dict[str, list[Piece]] = {}
        for turn, nodes in zip(turns, shown, strict=True):
            if any(indexed.pieces.of(node) is None for node in nodes):
                # A turn without words has no pieces, and is looked at once, too.
                new.update({node: [] for node in nodes} | pieces_of(turn))
        ids, groups = [turn.id for turn in turns], [turn.act.group or turn.id for turn in turns]
        lived = await asyncio.to_thread(_lived, indexed.pieces, seq, ids, groups, shown, new)
        indexed.lived[branch] = lived
    return lived


def _lived(
    index: Pieces,
    seq: int,
    turns: list[str],
    groups: list[str],
    shown: list[tuple[str, ...]],
    new: dict[str, list[Piece]],
) -> _Lived:
    """`groups` are the scenes that the turns are of, `shown` their nodes; `new` pieces are added first."""
    import numpy as np

    for node, parts in new.items():
        index.add(node, parts)
    scene_numbers: dict[str, int] = {}
    nodes, numbers, scenes, turn_of = list[str](), list[int](), list[int](), list[int]()
    for at, group in enumerate(groups):
        scene = scene_numbers.setdefault(group, len(scene_numbers))
        for node in shown[at]:
            if its := index.of(node):
                nodes.append(node)
                numbers.extend(its)
                scenes.extend([scene] * len(its))
                turn_of.extend([at] * len(its))
    return _Lived(seq, index.told(numbers, scenes), nodes, turns, np.array(turn_of, dtype=np.int32))


def _ranked(
    lived: _Lived,
    query: Query,
    by: RecallConfig,
    nearest: dict[int, float],
    texts: _Texts,
    count: int,
    without: frozenset[str],
) -> list[Recalled]:
    import numpy as np

    told = lived.told
    if not lived.nodes:
        return []
    by_reason = scored(told, query, by, nearest, texts.scene_terms)
    scores = np.sum(list(by_reason.values()), axis=0)
    if by.age:
        scores[too_old(told.by_scene(scores), by)[told.scenes]] = 0.0
    if without:
        skipped = [at for at, turn in enumerate(lived.turns) if turn in without]
        scores[np.isin(lived.turn_of, skipped)] = 0.0
    likely = np.arange(len(scores))
    if count < len(scores):  # sorting them all would take most of a long story's search
        likely = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    recalled = []
    for place in map(int, likely[np.argsort(-scores[likely], kind="stable")][:count]):
        if scores[place] <= 0:
            break
        node, part = told.index.node_of(int(told.pieces[place]))
        at = int(lived.turn_of[place])
        reasons = tuple(reason for reason, added in by_reason.items() if added[place] >= TELLING)
        recalled.append(Recalled(node, part, lived.turns[at], at + 1, float(scores[place]), reasons))
    return recalled


@dataclass(frozen=True, slots=True)
class _Texts:
    """The words of a branch, read when they are asked for."""

    story: Story
    lived: _Lived

    def scene_terms(self, scene: int) -> list[str]:
        """A scene's terms in order."""
        turns = dict.fromkeys(self.lived.turn_of[self.lived.told.scenes == scene].tolist())
        told = (self.story.turns[self.lived.turns[at]] for at in turns)
        texts = (piece.text for turn in told for pieces in pieces_of(turn).values() for piece in pieces)
        return terms("\n".join(texts), self.lived.told.index.language)
