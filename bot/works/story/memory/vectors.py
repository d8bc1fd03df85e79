"""The vectors of a story's pieces, compressed: finds the nearest of hundreds of thousands in milliseconds.

The database stores 4 bits of each number; memory holds only the signs of most vectors. The signs choose which vectors
are read from the database and compared (docs/retrieval-lab.md has the recall). Knows no model and no database.
Synchronous.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Final

from bot.retrieval.embedding import unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Floats = NDArray[np.float32]
    Ints = NDArray[np.int32]
    Rows = NDArray[np.intp]

CANDIDATES, SHORTLIST = 900, 4_000
"""How many vectors are compared with all their bits, and how many by their signs with the query's own numbers."""

FIRST = 16
"""All vectors are compared by their first signs alone, then one in FIRST of them by all signs."""

_SAMPLED = 65_536
"""The number of vectors from which the distribution of differing signs is estimated, about."""

CROWD, CLOSEST = 512, 10
"""The number of vectors of all with which a candidate is compared, and how many of the closest count."""

_STEP: Final = 2
"""The bytes of a vector's step, in front of its numbers."""

_IN_A_BYTE = 4
"""The differing bits in this many words fit into a byte: these words are a vector's first signs."""

_KEPT_SIGNS = 5 / 6
"""The share of a vector's sign words that is kept: reading more candidates instead finds as many of the nearest."""

_UNWANTED = 255
"""The distance that marks a vector as unwanted. _IN_A_BYTE * 64 signs allow one more, only for a vector opposite to the
query's: all of its signs count as none, and its other signs give it away.
"""

_AT_ONCE = 16_384
"""How many signs are compared at a time: this many stay in a processor's cache."""


def encode(vectors: Floats) -> Bytes:
    """Encode vectors (n, dimensions) as bytes (n, width): the size of a step, then 4 bits of each number."""
    import numpy as np

    steps = (np.maximum(np.abs(vectors).max(axis=1), 1e-6) / 8).astype("<f2")
    numbers = np.floor(vectors / steps.astype(np.float32)[:, None])
    nibbles = np.full((len(vectors), (vectors.shape[1] + 1) // 2 * 2), 8, dtype=np.uint8)
    nibbles[:, : vectors.shape[1]] = np.clip(numbers, -8, 7) + 8
    return np.concatenate(
        [steps.view(np.uint8).reshape(-1, _STEP), nibbles[:, ::2] << 4 | nibbles[:, 1::2]], axis=1
    )


def decode(rows: Bytes, dimensions: int) -> Floats:
    """Decode vectors to (n, dimensions), approximately."""
    import numpy as np

    steps = np.ascontiguousarray(rows[:, :_STEP]).view("<f2").astype(np.float32)
    vectors = np.empty((len(rows), 2 * (rows.shape[1] - _STEP)), dtype=np.float32)
    vectors[:, ::2], vectors[:, 1::2] = rows[:, _STEP:] >> 4, rows[:, _STEP:] & 15
    vectors -= np.float32(7.5)
    vectors *= steps
    return vectors[:, :dimensions]


class PieceVectors:
    """The signs of vectors by the numbers of their pieces (`index.Pieces`), one or more for each piece, in rows in the
    order of their addition.
    """

    def __init__(self, width: int) -> None:
        """`width`: the bytes of a coded vector."""
        import numpy as np

        self.width = width
        self._count = 0
        self._words = ceil(_KEPT_SIGNS * ((2 * (width - _STEP) + 63) // 64))
        self._first: list[NDArray[np.uint64]] = []
        self._rest: list[NDArray[np.uint64]] = []
        """Blocks of _AT_ONCE rows, which are never moved, since larger ones would leave holes in memory. The first
        signs are stored word by word, as all are read; the others vector by vector, as few are read.
        """
        self._last_piece = 0
        self._piece = np.zeros(0, dtype=np.int32)
        self._every = 1
        """Every so many rows a vector is also kept whole."""
        self._whole = np.zeros((0, width), dtype=np.uint8)

    def __len__(self) -> int:
        return self._count

    def add(self, numbers: Sequence[int] | NDArray[np.int64], rows: Bytes) -> None:
        """Add coded vectors (n, width), each with the number of its piece at the same index."""
        import numpy as np

        first, self._count = self._count, self._count + len(numbers)
        if self._count > len(self._piece):
            more = max(self._count, len(self._piece) * 9 // 8) - len(self._piece)
            self._piece = np.concatenate([self._piece, np.zeros(more, np.int32)])
        self._piece[first : self._count] = numbers
        self._last_piece = max(self._last_piece, int(np.max(numbers, initial=0)))
        in_first = min(self._words, _IN_A_BYTE)
        while len(self._first) * _AT_ONCE < self._count:
            self._first.append(np.zeros((in_first, _AT_ONCE), dtype=np.uint64))
            self._rest.append(np.zeros((_AT_ONCE, self._words - in_first), dtype=np.uint64))
        codes = rows[:, _STEP:]
        signs = _words(np.stack([codes >> 7, codes >> 3 & 1], axis=2))[:, : self._words]
        for block in range(first // _AT_ONCE, len(self._first)):
            start = max(first, block * _AT_ONCE)
            end = min(self._count, (block + 1) * _AT_ONCE)
            at, some = start - block * _AT_ONCE, signs[start - first : end - first]
            self._first[block][:, at : at + len(some)] = some[:, :in_first].T
            self._rest[block][at : at + len(some)] = some[:, in_first:]
        self._whole = np.concatenate([self._whole, rows[-first % self._every :: self._every]])
        while len(self._whole) > 8 * CROWD:
            self._every, self._whole = 2 * self._every, self._whole[::2].copy()

    def pieces(self, rows: Rows) -> Ints:
        """The pieces of the vectors in these rows."""
        return self._piece[rows]

    def crowd(self, wanted: NDArray[np.bool_], dimensions: int) -> Floats:
        """At most CROWD vectors of the wanted pieces, evenly spread."""
        import numpy as np

        kept = np.arange(len(self._whole)) * self._every
        rows = np.flatnonzero(self._known(wanted)[self._piece[kept]])
        return decode(
            self._whole[rows[np.linspace(0, len(rows) - 1, min(CROWD, len(rows)), dtype=np.intp)]], dimensions
        )

    def likely(self, query: Floats, wanted: NDArray[np.bool_]) -> Rows:
        """The rows of at most CANDIDATES vectors of the wanted pieces that are likely to be near."""
        import numpy as np

        if not self._count:
            return np.zeros(0, dtype=np.intp)
        count, every = self._count, bool((wanted := self._known(wanted)).all())
        if not every:
            wanted = wanted[self._piece[:count]]
            count = int(np.count_nonzero(wanted))
        if count <= CANDIDATES:
            return np.arange(count) if every else np.flatnonzero(wanted)
        padded = np.zeros(self._words * 64, dtype=np.float32)
        padded[: len(query)] = query[: len(padded)]
        signs = _words((padded >= 0).astype(np.uint8)[None])[0]
        apart = self._sign_distances(signs)
        if not every:
            apart[~wanted] = _UNWANTED
        rows = np.flatnonzero(apart <= _bound(apart, max(SHORTLIST, count // FIRST)))
        if len(rows) > SHORTLIST:
            more = np.bitwise_count(self._of(self._rest, rows, 0) ^ signs[_IN_A_BYTE:])
            all_apart = apart[rows].astype(np.uint16)
            for column in more.T:
                all_apart += column
            rows = np.sort(rows[np.argpartition(all_apart, SHORTLIST)[:SHORTLIST]])
        codes = np.concatenate([self._of(self._first, rows, 1).T, self._of(self._rest, rows, 0)], axis=1)
        by_signs = _by_signs(padded, codes)
        best = np.argpartition(-by_signs, min(CANDIDATES, len(rows) - 1))[:CANDIDATES]
        return rows[best]

    def _known(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether each piece is wanted, by number, up to the last one that has a vector."""
        import numpy as np

        lacking = self._last_piece + 1 - len(wanted)
        return np.pad(wanted, (0, lacking)) if lacking > 0 else wanted[: self._last_piece + 1]

    def _sign_distances(self, signs: NDArray[np.uint64]) -> Bytes:
        """The number of differing first signs of each vector."""
        import numpy as np

        apart = np.zeros(self._count, dtype=np.uint8)
        differing = np.empty(_AT_ONCE, dtype=np.uint64)
        counted = np.empty(_AT_ONCE, dtype=np.uint8)
        for number, block in enumerate(self._first):
            some = apart[number * _AT_ONCE : (number + 1) * _AT_ONCE]
            size = len(some)
            for word, bits in zip(block, signs, strict=False):
                np.bitwise_xor(word[:size], bits, out=differing[:size])
                np.bitwise_count(differing[:size], out=counted[:size])
                some += counted[:size]
        return apart

    def _of(self, blocks: Sequence[NDArray[np.uint64]], rows: Rows, axis: int) -> NDArray[np.uint64]:
        """The contents of the blocks for the vectors in these rows, which are in ascending order."""
        import numpy as np

        parts = np.split(rows, np.searchsorted(rows, np.arange(1, len(blocks)) * _AT_ONCE))
        return np.concatenate(
            [block.take(part % _AT_ONCE, axis) for block, part in zip(blocks, parts, strict=True)], axis
        )


def _bound(apart: Bytes, most: int) -> int:
    """The distance within which about `most` of the nearest lie."""
    import numpy as np

    every = max(1, len(apart) // _SAMPLED)
    return min(_UNWANTED - 1, int(np.searchsorted(np.cumsum(np.bincount(apart[::every])), most / every)))


def _by_signs(query: Floats, codes: NDArray[np.uint64]) -> Floats:
    """The query's products with these signs (n, words), by tables with the sum for each byte."""
    import numpy as np

    signs = np.ascontiguousarray(codes).view(np.uint8)
    every_byte = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
    table = np.einsum("wb,vb->wv", query.reshape(-1, 8), every_byte).reshape(-1)
    at = signs + np.arange(signs.shape[1], dtype=np.int32) * 256
    products: Floats = table[at].sum(axis=1)
    return products


def nearest(query: Floats, pieces: Ints, vectors: Floats, k: int) -> dict[int, tuple[float, int]]:
    """At most `k` pieces closest to a unit vector, each with its cosine and the index of the matching vector; `pieces`
    has the piece of each vector.
    """
    return _best(pieces, vectors @ query, k)


def outstanding(
    query: Floats, pieces: Ints, vectors: Floats, crowd: Floats, k: int
) -> dict[int, tuple[float, int]]:
    """At most `k` pieces that are closer to a unit vector than most, each with the margin and the index of the vector.

    A sentence that is close to everything ("She nodded.") would crowd out the others. So vectors are compared without
    what they share with the `crowd`, and the mean cosine with their closest vectors of the crowd is subtracted from
    twice the cosine (CSLS: Conneau and others, ICLR 2018).
    """
    import numpy as np

    if not len(pieces):
        return {}
    mean = crowd.mean(axis=0) if len(crowd) > CLOSEST else np.zeros(len(query), dtype=np.float32)
    vectors = unit(vectors - mean)
    alike = vectors @ unit(crowd - mean).T
    closest = min(CLOSEST, alike.shape[1])
    alike.partition(alike.shape[1] - closest, axis=1)
    return _best(pieces, 2 * (vectors @ query) - alike[:, -closest:].mean(axis=1), k)


def _best(pieces: Ints, scores: Floats, k: int) -> dict[int, tuple[float, int]]:
    """The best score of each of at most `k` pieces with its index, best first."""
    import numpy as np

    best = dict[int, tuple[float, int]]()
    for at in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(int(pieces[at]), (float(scores[at]), at))
        if len(best) == k:
            break
    return best


def _words(flags: Bytes) -> NDArray[np.uint64]:
    """Pack ones and zeros (n, …) into words of 64 bits (n, words), padded."""
    import numpy as np

    bits = np.packbits(flags.reshape(len(flags), -1), axis=1)
    padded = np.zeros((len(bits), (bits.shape[1] + 7) // 8 * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64)
