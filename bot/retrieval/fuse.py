"""Rankings put together: min-max sums, neighbours, and variety by maximal marginal relevance.

Knows numbers only, neither texts nor models.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Key = TypeVar("Key", bound=Hashable)


def min_max(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores brought to 0..1; all alike become 0 (nothing to choose by)."""
    import numpy as np

    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    if high - low <= 1e-9:
        return np.zeros_like(scores)
    return np.asarray(np.clip((scores - low) / (high - low), 0.0, 1.0), dtype=np.float32)


def fused(
    lexical: NDArray[np.float32], cosines: NDArray[np.float32] | None, weight: float
) -> NDArray[np.float32]:
    """lexical / its best + weight x min-max of the cosines that are there (0 = not voted)."""
    import numpy as np

    top = float(lexical.max())
    scores = lexical / np.float32(top) if top > 0 else lexical.copy()
    if cosines is not None:
        voted = np.flatnonzero(cosines > 0)
        scores[voted] += np.float32(weight) * min_max(cosines[voted])
    return scores


def highest(scores: NDArray[np.float32], count: int) -> list[int]:
    """The places of at most `count` scores above 0, best first; of equals the earlier."""
    import numpy as np

    count = min(count, len(scores))
    top = np.argpartition(-scores, count - 1)[:count]
    top = top[np.lexsort((top, -scores[top]))]
    return [int(place) for place in top if scores[place] > 0]


def beside(
    places: Sequence[tuple[Hashable, int]], scores: Sequence[float | None], weight: float
) -> list[float | None]:
    """Scores above the least of them, each with `weight` times those of its neighbours that are among them.

    `places` are (section, number): neighbours are one apart in the same section. None stays None.
    """
    least = min((score for score in scores if score is not None), default=0.0)
    above = {place: score - least for place, score in zip(places, scores, strict=True) if score is not None}
    made: list[float | None] = []
    for place in places:
        section, number = place
        near = sum(above.get((section, number + step), 0.0) for step in (-1, 1))
        made.append(above[place] + weight * near if place in above else None)
    return made


def in_company(
    scores: NDArray[np.float32], places: Sequence[tuple[Hashable, int]], weight: float
) -> tuple[NDArray[np.float32], list[int]]:
    """(scores, order) of the best passages once more by what their neighbours among them score (`beside`)."""
    import numpy as np

    near = beside(places, scores.tolist(), weight)
    both = min_max(scores) + np.float32(weight) * min_max(np.array(near, dtype=np.float32))
    order = [int(at) for at in np.argsort(-both, kind="stable")]
    if len(scores) > 1:  # they share out the range they had
        scores = scores.min() + (scores.max() - scores.min()) * both / np.float32(1 + weight)
    return scores, order


def jaccard(one: frozenset[int], other: frozenset[int]) -> float:
    """What two sets share of what both hold, 0..1."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def mmr(
    keys: Sequence[Key],
    relevance: Sequence[float],
    similarity: Callable[[Key, Key], float],
    *,
    limit: int,
    trade: float,
) -> list[Key]:
    """Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): `trade` 1 is relevance alone.

    `relevance` and `similarity` in 0..1. At most `limit` keys, the most relevant first.
    """
    left = dict(zip(keys, relevance, strict=True))
    closest = dict.fromkeys(left, 0.0)
    chosen: list[Key] = []
    while left and len(chosen) < limit:
        best = max(left, key=lambda key: trade * left[key] - (1 - trade) * closest[key])
        chosen.append(best)
        del left[best]
        for key in left:
            closest[key] = max(closest[key], similarity(best, key))
    return chosen
