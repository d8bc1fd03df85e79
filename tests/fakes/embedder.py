"""Cheap embedders in this process: counts of letter triples, so that similar texts have similar vectors.

Knows neither the library nor its settings:

letters = Letters("openai:one")
    resources.embedding.load = letters.load     loads them by name
    letters.asked                           (embedder, question) in order
    letters.hold(), letters.go()            hold passages, and release them; `held`: some wait
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from zlib import crc32

from bot.events import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.retrieval.confidence import Likeness
    from bot.retrieval.embedding import Embedder


class Letters:
    """Embedders with these names, and no others."""

    def __init__(self, *names: str, languages: Mapping[str, frozenset[str]] | None = None) -> None:
        """`languages` has the languages of embedders that do not know all."""
        self._names = names
        self.languages = languages or {}
        self.asked: list[tuple[str, str]] = []
        self.held = threading.Event()
        self._going = threading.Event()
        self._going.set()

    def hold(self) -> None:
        self._going.clear()

    def go(self) -> None:
        self._going.set()

    def wait(self) -> None:
        """Wait while passages are held."""
        if not self._going.is_set():
            self.held.set()
            self._going.wait(60)

    def load(self, name: str) -> Embedder:
        if name not in self._names:
            raise UserError("embedding.key_missing", model=name)
        return _Letters(name, self)


class _Letters:
    dimensions = 96
    languages: frozenset[str] | None
    likeness: Likeness | None = None

    def __init__(self, name: str, letters: Letters) -> None:
        self.name = name
        self.languages = letters.languages.get(name)
        self._letters = letters

    def passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self._letters.wait()
        return self._made(texts)

    def _made(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for at in range(len(text) - 2):
                row[crc32(text[at : at + 3].lower().encode()) % self.dimensions] += 1.0
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.maximum(norms, 1e-9), dtype=np.float32)

    def query(self, text: str) -> NDArray[np.float32]:
        self._letters.asked.append((self.name, text))
        vector: NDArray[np.float32] = self._made([text])[0]
        return vector
