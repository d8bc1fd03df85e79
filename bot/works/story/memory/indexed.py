"""A story's pieces in memory, with their vectors and the histories of its branches; used by one thread at a time."""

from __future__ import annotations

import asyncio
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from bot.works.story.memory.history import History, build
from bot.works.story.memory.index import Pieces
from bot.works.story.memory.lore_vectors import LoreVectors
from bot.works.story.memory.vectors import PieceVectors, decode, nearest, outstanding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.log.story import Story

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int32]

T = TypeVar("T")

BRANCHES = 8
"""How many branches of a story stay in memory: each takes 3 MB for 200,000 pieces."""

NEAREST = 200
"""The maximum number of nearest pieces that count."""

BATCH = 16
"""How many pieces are embedded at a time, since somebody's question may be waiting for the model."""

ASKED, THERE = 1, 2


@dataclass(frozen=True, slots=True)
class Candidates:
    """Vectors that may be close to a query's: their pieces, the numbers of their nodes, and their positions in these.

    `crowd` are other vectors for comparison; `width` is the size of an encoded vector in bytes.
    """

    pieces: Ints
    nodes: Ints
    places: Ints
    crowd: Floats
    width: int


class Near(NamedTuple):
    """How close a piece is to a query, and the index of its closest sentence; None for a line of a chat log, which is
    compared as a whole.
    """

    score: float
    sentence: int | None


@dataclass(slots=True)
class StoryIndex:
    """A story's pieces, used by one of the `threads` at a time (`in_thread`).

    `of_lines` says that the story began as a chat log. Its language was detected when it had `sampled` turns. `state`
    says for each node of `pieces` whether its vectors were read from the database (ASKED), and are in `vectors`
    (THERE), from the row in `rows` on.
    """

    pieces: Pieces
    threads: Executor
    of_lines: bool = False
    sampled: int = 1
    waiting: asyncio.Lock = field(default_factory=asyncio.Lock)
    working: Lock = field(default_factory=Lock)
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)
    histories: OrderedDict[str, History] = field(default_factory=OrderedDict)
    vectors: PieceVectors | None = None
    embedder: str = ""
    state: bytearray = field(default_factory=bytearray)
    rows: array[int] = field(default_factory=lambda: array("i"))
    lore: LoreVectors = field(default_factory=LoreVectors)

    async def in_thread(self, call: Callable[[], T]) -> T:
        """Run `call` in a thread, after all earlier calls have ended, including those whose callers were cancelled."""

        def work() -> T:
            with self.working:
                return call()

        async with self.waiting:
            return await asyncio.get_running_loop().run_in_executor(self.threads, work)

    def nodes_below(self, state: int, history: History) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The nodes of a branch with a lower state, in the order of their addition, and the indexes of their turns."""
        import numpy as np

        more = bytes(len(self.pieces.nodes) - len(self.state))
        self.state.extend(more)
        self.rows.extend(more)
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

    def add_vectors(self, nodes: Iterable[int], vectors: Mapping[str, bytes], without: int) -> None:
        """Index the stored `vectors` of these nodes, by node id; a node without usable ones gets the state `without`.

        A stored value begins with one byte for each of the node's pieces, its number of vectors; then come the coded
        vectors.
        """
        import numpy as np

        numbers, rows, first = list["NDArray[np.int64]"](), list[bytes](), len(self.vectors or ())
        for node in nodes:
            pieces, stored = self.pieces.pieces(node), vectors.get(self.pieces.nodes[node], b"")
            counts, row = stored[: len(pieces)], stored[len(pieces) :]
            self.state[node] = without
            if not row or not (count := sum(counts)):
                continue
            if self.vectors is None:  # only a vector shows how many dimensions a service's model has
                self.vectors = PieceVectors(len(row) // count)
            if len(row) == count * self.vectors.width:
                self.state[node], self.rows[node] = THERE, first
                first += count
                numbers.append(np.repeat(np.arange(pieces.start, pieces.stop), list(counts)))
                rows.append(row)
        if self.vectors is not None and numbers:
            coded = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, self.vectors.width)
            self.vectors.add(np.concatenate(numbers), coded)

    def likely(self, query: Floats, history: History) -> list[Candidates]:
        """The vectors that may be close to a query's: among the branch's pieces, and among those extracted from
        them.
        """
        import numpy as np

        found = list[Candidates]()
        for branch in (history.pieces, history.noted):
            if self.vectors is None or not len(branch.numbers):
                continue
            wanted, crowd = branch.membership(), np.zeros((0, len(query)), dtype=np.float32)
            if not self.of_lines:
                crowd = self.vectors.crowd(wanted, len(query))
            rows = self.vectors.likely(query, wanted)
            near = self.vectors.pieces(rows)
            nodes = self.pieces.nodes_of(near)
            places = (rows - np.frombuffer(self.rows, dtype=np.int32)[nodes]).astype(np.int32)
            found.append(Candidates(near, nodes, places, crowd, self.vectors.width))
        return found

    def nearest(
        self, query: Floats, likely: Iterable[Candidates], stored: Mapping[str, bytes]
    ) -> dict[int, Near]:
        """The closeness of the nearest pieces, by piece. `stored`: the vectors of their nodes, by node id.

        Lines of a chat log are compared by cosine, which finds more of them (docs/retrieval-lab.md).
        """
        import numpy as np

        near: dict[int, Near] = {}
        for candidates in likely:
            nodes, of_node = np.unique(candidates.nodes, return_inverse=True)
            blobs = [stored.get(self.pieces.nodes[node], b"") for node in nodes.tolist()]
            ends = np.cumsum([len(blob) for blob in blobs], dtype=np.int64)
            first = np.concatenate([[0], ends])[of_node] + self.pieces.sizes(candidates.nodes)
            first += candidates.places * candidates.width
            available = np.flatnonzero(first + candidates.width <= ends[of_node])
            joined = np.frombuffer(b"".join(blobs), dtype=np.uint8)
            coded = joined[first[available, None] + np.arange(candidates.width)]
            pieces, vectors = candidates.pieces[available], decode(coded, len(query))
            if self.of_lines:
                best = nearest(query, pieces, vectors, NEAREST)
            else:
                best = outstanding(query, pieces, vectors, candidates.crowd, NEAREST)
            for piece, (score, at) in best.items():
                node, place = int(candidates.nodes[available[at]]), int(candidates.places[available[at]])
                before = piece - self.pieces.pieces(node).start
                counts = stored[self.pieces.nodes[node]][:before]
                near[piece] = Near(score, None if self.of_lines else place - sum(counts))
        return near

    async def history(self, branch: str, story: Story) -> History:
        """The branch's pieces in order; new pieces are indexed first."""
        before, unchanged = self.histories.get(branch), 0
        # A story that was folded again is a new object: words may have been withdrawn.
        if before is not None and before.story() is story:
            if before.seq == story.seq:
                return before
            unchanged = min(len(before.turns), story.unchanged_since(before.seq))
        path, seq = story.path[: story.length], story.seq

        def update() -> History:
            # If a turn changes while it is read, its change is later than `seq`, and the next call reads it again.
            history = build(self.pieces, before, unchanged, story, path, seq)
            self.histories[branch] = history
            self.histories.move_to_end(branch)
            if len(self.histories) > BRANCHES:
                self.histories.popitem(last=False)
            return history

        return await self.in_thread(update)
