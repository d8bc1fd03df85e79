"""Stores vectors on disk between runs, by their text, so that a benchmark embeds a text only once.

Uses no data set. A cache is valid for one model's files only: empty the folder when they change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bot.retrieval.embedding import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class CachedVectors:
    """An embedder that first looks in its folder; without a folder it stores nothing."""

    def __init__(self, model: Embedder, folder: Path | None) -> None:
        self.name, self.dimensions, self.languages = model.name, model.dimensions, model.languages
        self.likeness = model.likeness
        self._model = model
        self._file = folder / f"{model.name.replace(':', '-')}.npz" if folder else None
        self._kept: dict[str, Vectors] = {}
        if self._file is not None and self._file.is_file():
            with np.load(self._file) as stored:
                self._kept = dict(zip(stored["keys"].tolist(), stored["vectors"], strict=True))

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._made("P", texts, self._model.passages)

    def query(self, text: str) -> Vectors:
        vector: Vectors = self.queries([text])[0]
        return vector

    def queries(self, texts: Sequence[str]) -> Vectors:
        return self._made("Q", texts, lambda missing: np.stack([self._model.query(text) for text in missing]))

    def _made(self, kind: str, texts: Sequence[str], make: Callable[[Sequence[str]], Vectors]) -> Vectors:
        keys = [key(kind, text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._kept}
        if missing:
            self._kept.update(zip(missing, make(list(missing.values())), strict=True))
            if self._file is not None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                np.savez(
                    self._file, keys=np.array(list(self._kept)), vectors=np.stack(list(self._kept.values()))
                )
        return np.stack([self._kept[key] for key in keys])


def key(kind: str, text: str) -> str:
    """The key of a passage ("P") or a question ("Q")."""
    return hashlib.sha256(f"{kind}:{text}".encode()).hexdigest()
