"""The vectors of a story's pieces, held small: a query finds its nearest among hundreds of thousands in milliseconds.

The database has a vector as bytes, 1 per dimension. In memory it is 4 bits per dimension: what sets it apart from the
mean of those that came first, in 16 steps. The first of the bits, its signs, choose candidates, and all four rank them.
docs/retrieval.md has how many of the nearest are found so. Knows no model and no database. Synchronous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

CANDIDATES = 20
"""So many times the vectors wanted are chosen by their signs."""

_REACH = 3.2
"""Standard deviations to either side that the 16 steps cover; of 2.4 to 4.0 this found most of the nearest."""

_BITS = 4
_AT_ONCE = 1_024
"""Vectors that are brought into bits at a time: as floats they take eight times as much."""


def packed(vectors: Floats) -> NDArray[np.int8]:
    """Unit vectors (n, dimensions) as bytes; each is scaled by its own largest number."""
    import numpy as np

    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9)
    bytes_: NDArray[np.int8] = np.rint(vectors / largest * 127).astype(np.int8)
    return bytes_


class PieceVectors:
    """The vectors of pieces by their numbers (`index.Pieces`); a piece without one is never near."""

    def __init__(self, dimensions: int) -> None:
        import numpy as np

        self.dimensions = dimensions
        width = (dimensions + 63) // 64 * 8  # in bytes, of one bit of each dimension
        self._centre: Floats | None = None
        self._signs = np.zeros((width // 8, 0), dtype=np.uint64)
        self._rest = np.zeros((0, (_BITS - 1) * width), dtype=np.uint8)
        self._scale = np.zeros((2, 0), dtype=np.float32)
        """What the centre and one step are worth in it, brought to length 1; 0 for a piece without a vector."""

    def add(self, numbers: Sequence[int] | NDArray[np.int64], vectors: NDArray[np.int8]) -> None:
        """The packed vectors (n, dimensions) of these pieces."""
        import numpy as np

        places = np.asarray(numbers, dtype=np.int64)
        if not len(places):
            return
        if (needed := int(places.max()) + 1) > self._size:
            self.reserve(max(needed, self._size * 5 // 4))
        for first in range(0, len(places), _AT_ONCE):
            unit = vectors[first : first + _AT_ONCE].astype(np.float32)
            unit /= np.maximum(np.sqrt(np.einsum("ij,ij->i", unit, unit)), 1e-9)[:, None]
            if self._centre is None:
                self._centre = unit.mean(axis=0)
            self._set(places[first : first + _AT_ONCE], unit - self._centre)

    @property
    def _size(self) -> int:
        return self._scale.shape[1]

    def _set(self, places: NDArray[np.int64], apart: Floats) -> None:
        import numpy as np

        half = 2 ** (_BITS - 1)
        spread = np.sqrt(np.einsum("ij,ij->i", apart, apart) / self.dimensions)
        step = np.maximum(spread * (_REACH / half), 1e-9)
        steps = np.clip(np.floor(apart / step[:, None]), -half, half - 1) + 0.5
        made = self._centre + step[:, None] * steps
        # An outlier is cut, which shortens the vector: brought to length 1 it errs by a third as much at most.
        length = np.sqrt(np.einsum("ij,ij->i", made, made))
        codes = (steps + (half - 0.5)).astype(np.uint8)
        planes = [_bits(codes >> bit & 1) for bit in reversed(range(_BITS))]
        self._signs[:, places] = planes[0].view(np.uint64).T
        self._rest[places] = np.concatenate(planes[1:], axis=1)
        self._scale[:, places] = 1 / length, step / length

    def reserve(self, count: int) -> None:
        """Make room for the pieces of the numbers below `count`, at once instead of by and by."""
        import numpy as np

        if (more := count - self._size) > 0:
            self._signs = np.concatenate([self._signs, np.zeros((len(self._signs), more), np.uint64)], axis=1)
            self._rest = np.concatenate([self._rest, np.zeros((more, self._rest.shape[1]), np.uint8)])
            self._scale = np.concatenate([self._scale, np.zeros((2, more), np.float32)], axis=1)

    def nearest(self, query: Floats, pieces: NDArray[np.int32], k: int) -> dict[int, float]:
        """At most `k` of these pieces that are nearest to a unit vector, each with its cosine similarity, nearly."""
        import numpy as np

        pieces = pieces[pieces < self._size]
        pieces = pieces[self._scale[0][pieces] > 0]
        if not len(pieces) or self._centre is None:
            return {}
        if len(pieces) > CANDIDATES * k:
            signs = _bits((query >= self._centre)[None].astype(np.uint8)).view(np.uint64)[0]
            apart = np.zeros(len(pieces), dtype=np.uint16)
            for word, bits in enumerate(signs):
                apart += np.bitwise_count(self._signs[word][pieces] ^ bits)
            pieces = pieces[np.argpartition(apart, CANDIDATES * k)[: CANDIDATES * k]]
        cosines = self._cosines(query, pieces)
        best = np.argsort(-cosines, kind="stable")[:k]
        return {int(pieces[at]): float(cosines[at]) for at in best}

    def _cosines(self, query: Floats, pieces: NDArray[np.int32]) -> Floats:
        """By tables of what each byte of bits adds to the product, so that no vector is made of them."""
        import numpy as np

        assert self._centre is not None, "there are vectors"
        signs = np.ascontiguousarray(self._signs[:, pieces].T).view(np.uint8)
        planes = np.concatenate([signs, self._rest[pieces]], axis=1)
        width = signs.shape[1]
        padded = np.zeros(width * 8, dtype=np.float32)
        padded[: self.dimensions] = query
        every_byte = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
        of_bytes = np.einsum("wb,vb->wv", padded.reshape(width, 8), every_byte)  # (width, 256)
        weights = 2.0 ** np.arange(_BITS - 1, -1, -1, dtype=np.float32)
        table = (weights[:, None, None] * of_bytes).reshape(-1)
        rows = np.arange(planes.shape[1], dtype=np.int32) * 256
        products = table[planes + rows].sum(axis=1) - (2 ** (_BITS - 1) - 0.5) * query.sum()
        centre, step = self._scale[:, pieces]
        cosines: Floats = (centre * (query @ self._centre) + step * products).astype(np.float32)
        return cosines


def _bits(flags: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """0s and 1s (n, dimensions) → (n, bytes), filled up to words of 64 bits."""
    import numpy as np

    bits = np.packbits(flags, axis=1)
    padded = np.zeros((len(bits), (bits.shape[1] + 7) // 8 * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded
