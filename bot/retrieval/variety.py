"""Passages chosen for variety: near the question, and not like the ones chosen before.

Knows a chunk by its terms only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bot.retrieval.fuse import jaccard, min_max, mmr

if TYPE_CHECKING:
    from bot.retrieval.ranked import Hit


def varied(
    hits: Sequence[Hit], terms_of: Callable[[str], frozenset[int]], limit: int, trade: float
) -> list[Hit]:
    """At most `limit` hits by maximal marginal relevance; what a title brought stays in front.

    `trade` 1 is relevance alone. Likeness is the share of terms that two chunks, by their ids, have in common.
    """
    import numpy as np

    front = [hit for hit in hits if hit.titled]
    rest = {hit.chunk_id: hit for hit in hits if not hit.titled}
    held = {chunk_id: terms_of(chunk_id) for chunk_id in rest}
    chosen = mmr(
        list(rest),
        min_max(np.array([hit.score for hit in rest.values()], dtype=np.float32)).tolist(),
        lambda one, other: jaccard(held[one], held[other]),
        limit=max(0, limit - len(front)),
        trade=trade,
    )
    return [*front, *(rest[chunk_id] for chunk_id in chosen)][:limit]
