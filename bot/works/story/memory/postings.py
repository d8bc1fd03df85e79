"""Stores which pieces contain a term, how often, and whether with a capital: about a byte for each, read all at once.

Knows pieces only by number. Synchronous, and used by one thread at a time.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]
    Ints = NDArray[np.int32]

_CAPITAL: Final = 128
"""The format of a byte: the first bit says whether the term has a capital, the next two bits are a count of 1 to 3, the
last five the distance to the piece from the one before. With the distance 0 the count is added to the piece before.
With the count 0 the last five bits are a distance in units of _JUMP pieces, or of _LEAP if the first bit is set.
"""

_COUNT, _MOST, _STEP = 5, 3, 31
_JUMP, _LEAP = 32, 1024


class Postings:
    """The pieces that contain each term; pieces are added in ascending order."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._rows: list[bytearray] = []
        self._last = array("i")

    def __len__(self) -> int:
        return len(self._number)

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def add(self, term: str, piece: int, count: int, capital: bool) -> None:
        """Record that a piece contains the term `count` times; its number is larger than that of all earlier pieces."""
        if (at := self._number.get(term)) is None:
            at = self._number[term] = len(self._rows)
            self._rows.append(bytearray())
            self._last.append(-1)
        row, ahead = self._rows[at], piece - self._last[at]
        self._last[at] = piece
        while ahead >= _LEAP:
            leaps = min(_STEP, ahead // _LEAP)
            row.append(_CAPITAL | leaps)
            ahead -= leaps * _LEAP
        if ahead > _STEP:
            row.append(ahead // _JUMP)
            ahead %= _JUMP
        flag = _CAPITAL * capital
        row.append(flag | min(count, _MOST) << _COUNT | ahead)
        while (count := count - _MOST) > 0:
            row.append(flag | min(count, _MOST) << _COUNT)

    def of(self, term: str) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """The pieces that contain the term, how often each does, and whether with a capital."""
        import numpy as np

        at = self._number.get(term)
        row = np.frombuffer(self._rows[at] if at is not None else b"", dtype=np.uint8)
        counts, ahead, capitals = row >> _COUNT & _MOST, row & _STEP, row >= _CAPITAL
        jumps = np.flatnonzero(counts == 0)
        if len(jumps):
            ahead = ahead.astype(np.int32)
            ahead[jumps] *= np.where(capitals[jumps], _LEAP, _JUMP)
        pieces = np.cumsum(ahead, dtype=np.int32)
        pieces -= 1
        if len(jumps):
            kept = counts > 0
            pieces, counts, capitals = pieces[kept], counts[kept], capitals[kept]
        if (more := pieces[1:] == pieces[:-1]).any():
            first = np.flatnonzero(np.concatenate([[True], ~more]))
            totals = np.concatenate([[0], np.cumsum(counts, dtype=np.int32)])
            ends = np.append(first[1:], len(counts))
            return pieces[first], totals[ends] - totals[first], capitals[first]
        return pieces, counts.astype(np.int32), capitals
