"""Titles that a text names in full: the way from one passage to the next of a question in two hops.

Knows titles as sets of terms and entries by number; not what the caller makes of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from bot.retrieval.lexical import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.postings import Postings

_LEAST = 1.2  # a title's weight, in words that stand in one chunk alone; below it its words are too common
_FULL = 2.0


class Bridges:
    """Which titles a set of terms names."""

    def __init__(self, titled: Iterable[tuple[str, int, str]], postings: Postings) -> None:
        """From (title, entry, language) triples; what stands in parentheses is no part of a name."""
        import numpy as np

        rows: list[int] = []
        columns: list[int] = []
        targets: list[int] = []
        sizes: list[int] = []
        for title, entry, language in titled:
            words = {postings.number(language, term) for term in terms(title.split("(")[0], language)}
            numbers = [number for number in words if number is not None]
            if words and len(numbers) == len(words):
                rows += [len(targets)] * len(numbers)
                columns += numbers
                targets.append(entry)
                sizes.append(len(numbers))
        self._row = np.array(rows, dtype=np.int32)
        self._column = np.array(columns, dtype=np.int32)
        self._worth = np.zeros(len(targets), dtype=np.float32)
        np.add.at(self._worth, self._row, postings.weights()[self._column])
        self._targets = targets
        self._sizes = np.array(sizes, dtype=np.int32)
        self._terms = postings.terms
        self._unit = float(np.log1p(postings.size))

    def named(self, held: NDArray[np.int32]) -> Iterator[tuple[int, float]]:
        """(entry, 0..1) of each title whose terms are all among these; the rarer its words, the more."""
        import numpy as np

        if not self._targets:
            return
        present = np.zeros(self._terms, dtype=bool)
        present[held] = True
        whole = np.bincount(self._row[present[self._column]], minlength=len(self._targets)) == self._sizes
        for at in np.flatnonzero(whole & (self._worth >= _LEAST * self._unit)):
            yield self._targets[at], min(1.0, float(self._worth[at]) / (_FULL * self._unit))
