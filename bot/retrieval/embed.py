"""Texts into vectors: what an embedder is, and the one that comes along.

Synchronous: callers hop to a thread. Knows no index; an index is known by the embedder's `name`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bot.retrieval.confidence import Likeness
from bot.retrieval.onnx import opened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """A model of passages and questions. `languages` None means that it votes on every language.

    `likeness` is what its cosines are worth as evidence; None where nobody has measured them.
    """

    name: str
    dimensions: int
    languages: frozenset[str] | None
    likeness: Likeness | None

    def passages(self, texts: Sequence[str]) -> Vectors:
        """(n, dimensions), rows of length 1."""
        ...

    def query(self, text: str) -> Vectors:
        """(dimensions,), of length 1."""
        ...


def clean(text: str) -> str:
    """What other people's tokenizers can read: no NUL, which ends a text in C, and no half of a surrogate pair."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()


def unit(vectors: Vectors) -> Vectors:
    """Rows brought to length 1."""
    import numpy as np

    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


class BgeSmall:
    """BAAI/bge-small-en-v1.5 (MIT), int8 ONNX: the first token's vector; questions carry the model card's prefix."""

    name = "bge-small"
    dimensions = 384
    languages: frozenset[str] | None = frozenset({"en"})
    likeness: Likeness | None = Likeness()

    _PREFIX = "Represent this sentence for searching relevant passages: "
    _TOKENS = 320  # 800 characters of prose are about 180; number-heavy tables run longer
    _BATCH = 4  # batches of 32 ran 1.7 times slower on two cores, and cost memory

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        self._session, self._tokenizer = opened(self.name, folder, tokens=self._TOKENS, threads=threads)
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._tokenizer.enable_padding()

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        made = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))  # alike lengths: little padding
        for first in range(0, len(order), self._BATCH):
            batch = order[first : first + self._BATCH]
            made[batch] = self._run([texts[at] for at in batch])
        return made

    def query(self, text: str) -> Vectors:
        made: Vectors = self._run([self._PREFIX + text[:2000]])[0]
        return made

    def _run(self, texts: list[str]) -> Vectors:
        import numpy as np

        encoded = self._tokenizer.encode_batch(texts)
        fed = {
            "input_ids": np.array([one.ids for one in encoded], dtype=np.int64),
            "attention_mask": np.array([one.attention_mask for one in encoded], dtype=np.int64),
            "token_type_ids": np.array([one.type_ids for one in encoded], dtype=np.int64),
        }
        output = self._session.run(None, {name: fed[name] for name in fed if name in self._inputs})[0]
        return unit(output[:, 0] if output.ndim == 3 else output)
