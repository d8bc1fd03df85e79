"""The vectors of a story's pieces, compressed: the nearest of hundreds of thousands are found in milliseconds.

The database stores 4 bits of each number; memory holds the signs of most. The signs choose what is read from the
database and compared (docs/retrieval-lab.md has what that finds). Knows no model and no database. Synchronous.
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
"""How many vectors are compared with all their bits, and how many with the query's own numbers by their signs."""

FIRST = 16
"""All vectors are compared by their first signs alone, then one of so many by all signs."""

_SAMPLED = 65_536
"""From about so many vectors is estimated how many of all differ in how many signs."""

CROWD, CLOSEST = 512, 10
"""With how many vectors of all a candidate is compared, and how many of these count."""

_STEP: Final = 2
"""Bytes of a vector's step, in front of its numbers."""

_IN_A_BYTE = 4
"""The ones of so many words are counted in a byte: these are a vector's first signs."""

_KEPT_SIGNS = 5 / 6
"""Of the words of a vector's signs: where more candidates are read instead, no fewer of the nearest are found."""

_UNWANTED = 255
"""Stands for how far apart a vector is that must not be found. Of _IN_A_BYTE * 64 signs no more differ, unless the
vector is the opposite of the query's: all of them count as none, and the other signs tell it.
"""

_AT_ONCE = 16_384
"""How many signs are compared at a time: so many stay in a processor's cache."""


def coded(vectors: Floats) -> Bytes:
    """Vectors (n, dimensions) as bytes (n, width): the size of a step, then 4 bits of each number."""
    import numpy as np

    steps = (np.maximum(np.abs(vectors).max(axis=1), 1e-6) / 8).astype("<f2")
    numbers = np.floor(vectors / steps.astype(np.float32)[:, None])
    nibbles = np.full((len(vectors), (vectors.shape[1] + 1) // 2 * 2), 8, dtype=np.uint8)
    nibbles[:, : vectors.shape[1]] = np.clip(numbers, -8, 7) + 8
    return np.concatenate(
        [steps.view(np.uint8).reshape(-1, _STEP), nibbles[:, ::2] << 4 | nibbles[:, 1::2]], axis=1
    )


def decoded(rows: Bytes, dimensions: int) -> Floats:
    """The vectors (n, dimensions) of coded ones, nearly."""
    import numpy as np

    steps = np.ascontiguousarray(rows[:, :_STEP]).view("<f2").astype(np.float32)
    vectors = np.empty((len(rows), 2 * (rows.shape[1] - _STEP)), dtype=np.float32)
    vectors[:, ::2], vectors[:, 1::2] = rows[:, _STEP:] >> 4, rows[:, _STEP:] & 15
    vectors -= np.float32(7.5)
    vectors *= steps
    return vectors[:, :dimensions]


class PieceVectors:
    """The signs of vectors by the pieces' numbers (`index.Pieces`), one or more of each, in rows as they were added."""

    def __init__(self, width: int) -> None:
        """`width`: bytes of a coded vector."""
        import numpy as np

        self.width = width
        self._count = 0
        self._words = ceil(_KEPT_SIGNS * ((2 * (width - _STEP) + 63) // 64))
        self._first: list[NDArray[np.uint64]] = []
        self._rest: list[NDArray[np.uint64]] = []
        """In blocks of _AT_ONCE, which are never moved: what was larger would leave holes in memory. The first signs
        lie word by word, as all are read; the others vector by vector, as few are.
        """
        self._last_piece = 0
        self._piece = np.zeros(0, dtype=np.int32)
        self._every = 1
        """Each so many-th vector is also kept whole."""
        self._whole = np.zeros((0, width), dtype=np.uint8)

    def __len__(self) -> int:
        return self._count

    def add(self, numbers: Sequence[int] | NDArray[np.int64], rows: Bytes) -> None:
        """Coded vectors (n, width), each of the piece whose number stands in its place."""
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
        return decoded(
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
        apart = self._apart(signs)
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
        """Whether a piece is wanted, by number, up to the last one that has a vector."""
        import numpy as np

        lacking = self._last_piece + 1 - len(wanted)
        return np.pad(wanted, (0, lacking)) if lacking > 0 else wanted[: self._last_piece + 1]

    def _apart(self, signs: NDArray[np.uint64]) -> Bytes:
        """In how many of its first signs each vector differs."""
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
        """What the blocks have for the vectors in these rows, which ascend."""
        import numpy as np

        parts = np.split(rows, np.searchsorted(rows, np.arange(1, len(blocks)) * _AT_ONCE))
        return np.concatenate(
            [block.take(part % _AT_ONCE, axis) for block, part in zip(blocks, parts, strict=True)], axis
        )


def _bound(apart: Bytes, most: int) -> int:
    """How far apart the nearest are, about so many of them."""
    import numpy as np

    every = max(1, len(apart) // _SAMPLED)
    return min(_UNWANTED - 1, int(np.searchsorted(np.cumsum(np.bincount(apart[::every])), most / every)))


def _by_signs(query: Floats, codes: NDArray[np.uint64]) -> Floats:
    """The query's products with these signs (n, words), by tables of what a byte adds."""
    import numpy as np

    signs = np.ascontiguousarray(codes).view(np.uint8)
    every_byte = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32)
    table = np.einsum("wb,vb->wv", query.reshape(-1, 8), every_byte).reshape(-1)
    at = signs + np.arange(signs.shape[1], dtype=np.int32) * 256
    products: Floats = table[at].sum(axis=1)
    return products


def nearest(query: Floats, pieces: Ints, vectors: Floats, k: int) -> dict[int, tuple[float, int]]:
    """At most `k` pieces that are nearest to a unit vector, each with its cosine, and which of the vectors has it;
    `pieces`: that of each vector.
    """
    return _best(pieces, vectors @ query, k)


def outstanding(
    query: Floats, pieces: Ints, vectors: Floats, crowd: Floats, k: int
) -> dict[int, tuple[float, int]]:
    """At most `k` pieces that are nearer to a unit vector than most, each with by how much, and which vector is.

    A sentence that is near to everything ("She nodded.") would crowd out the others. So vectors are compared without
    what the `crowd` has in common, and from twice a cosine is taken the mean one with the vectors of it that are
    closest (CSLS: Conneau and others, ICLR 2018).
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
    """The best score of each of at most `k` pieces, and where it is, best first."""
    import numpy as np

    best = dict[int, tuple[float, int]]()
    for at in np.argsort(-scores, kind="stable").tolist():
        best.setdefault(int(pieces[at]), (float(scores[at]), at))
        if len(best) == k:
            break
    return best


def _words(flags: Bytes) -> NDArray[np.uint64]:
    """Ones and zeros (n, …) → words of 64 (n, words), filled up."""
    import numpy as np

    bits = np.packbits(flags.reshape(len(flags), -1), axis=1)
    padded = np.zeros((len(bits), (bits.shape[1] + 7) // 8 * 8), dtype=np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64)
