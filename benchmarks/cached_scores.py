"""Stores rerankers' scores on disk between runs, by question and text; a score costs as much as a passage's vector.

Uses no data set. A cache is valid for one model's files only: empty the folder when they change.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.cached_vectors import key
from bot.retrieval.rerank import ColBERT, Reranker

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CachedScores:
    """A reranker that first looks in its folder, without a time limit; `save` stores new scores."""

    def __init__(self, model: Reranker, folder: Path | None) -> None:
        self.name, self.languages = model.name, model.languages
        self._model = model
        self._file = folder / f"scores-{model.name}.npz" if folder else None
        self._kept: dict[str, float] = {}
        self.seconds = 0.0
        """Seconds spent on new scores; `made` is their number."""
        self.made = 0
        if self._file is not None and self._file.is_file():
            with np.load(self._file) as stored:
                self._kept = dict(zip(stored["keys"].tolist(), stored["scores"].tolist(), strict=True))

    def scores(self, question: str, texts: Sequence[str], budget_s: float = 1e9) -> list[float]:
        keys = [key("R", f"{question}\0{text}") for text in texts]
        missing = [at for at, key in enumerate(keys) if key not in self._kept]
        if missing:
            began = time.perf_counter()
            scores = self._model.scores(question, [texts[at] for at in missing], budget_s)
            self.seconds += time.perf_counter() - began
            self.made += len(scores)
            self._kept.update(zip((keys[at] for at in missing), scores, strict=True))
        return [self._kept[key] for key in keys]

    def save(self) -> None:
        if self._file is not None and self.made:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            np.savez(
                self._file,
                keys=np.array(list(self._kept)),
                scores=np.array(list(self._kept.values()), dtype=np.float32),
            )


class CachedTokens(ColBERT):
    """ColBERT with the passages' token vectors cached in memory, in half precision."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._kept: dict[str, NDArray[np.float16]] = {}

    @property
    def bytes(self) -> int:
        return sum(tokens.nbytes for tokens in self._kept.values())

    def _tokens(self, text: str, mark: int) -> NDArray[np.float32]:
        if mark != self._passage:
            return super()._tokens(text, mark)
        if text not in self._kept:
            self._kept[text] = super()._tokens(text, mark).astype(np.float16)
        return self._kept[text].astype(np.float32)
