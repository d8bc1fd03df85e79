"""Search options, ranked results (passages by id, best first), and the combination of rankings.

Independent of texts and models: it uses numbers, and a chunk's terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from bot.retrieval.confidence import BGE_SMALL, Evidence, Likeness
from bot.retrieval.titles import MatchKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Key = TypeVar("Key", bound=Hashable)


_FEW = 10  # too few passages to compare the nearest one with the rest

Part = tuple[str, int, int]
"""Sections of a document: its id, the ordinal of the first, and one past the ordinal of the last."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a search; docs/retrieval-lab.md measured the defaults as best over all sets.

    With `within` only passages of these parts are found.
    """

    k: int = 12
    lookup: bool = True
    model_languages: frozenset[str] | None = None  # the dense model's; None = all
    hops: int = 1  # how often titles named in the best passages are followed
    likeness: Likeness | None = BGE_SMALL  # the dense model's; None = not known
    k1: float = 1.2
    b: float = 0.6
    head_weight: float = 2.0
    head_of_others: float = 0.5  # the same for a name that no heading has
    neighbour_weight: float = 0.25
    dense_weight: float = 0.8
    bridge_weight: float = 1.2
    within: tuple[Part, ...] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A found passage: its chunk, its section's ordinal in its document, and why it was found."""

    chunk_id: str
    document_id: str
    section: int
    score: float
    by: (
        MatchKind | str
    )  # "exact" | "alias" | "fuzzy" title, "search", "bridge" (a good passage names its title)

    @property
    def titled(self) -> bool:
        """Whether its title found it."""
        return self.by not in ("search", "bridge")


@dataclass(frozen=True, slots=True)
class Ranked:
    """Passages, best first, and whether they are good enough for an answer.

    `doubtful`: they are not, but they are a guess worth showing. `nameless`: the question is a bare name that no
    heading has; its text is near its mentions. `asked`: the name that is asked for, "" for none. `weighed`: the chunks
    whose texts say how it is mentioned.
    """

    hits: tuple[Hit, ...]
    confident: bool
    language: str | None
    evidence: Evidence
    nameless: bool = False
    doubtful: bool = False
    asked: str = ""
    weighed: tuple[str, ...] = ()


def min_max(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scores scaled to 0..1; equal ones all become 0, because they decide nothing."""
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
    """lexical / its best + weight x min-max of the given cosines (0 = no vote)."""
    import numpy as np

    top = float(lexical.max())
    scores = lexical / np.float32(top) if top > 0 else lexical.copy()
    if cosines is not None:
        voted = np.flatnonzero(cosines > 0)
        scores[voted] += np.float32(weight) * min_max(cosines[voted])
    return scores


def lead(cosines: NDArray[np.float32], among: int) -> float | None:
    """How far the nearest of `among` passages is ahead of the √among-th; None for few passages. 0 = no vote."""
    import numpy as np

    nearest = -np.sort(-cosines[cosines > 0])
    if among < _FEW or not len(nearest):
        return None
    return float(nearest[0] - nearest[min(math.isqrt(among), len(nearest)) - 1])


def agreement(lexical: NDArray[np.float32], cosines: NDArray[np.float32], weight: float) -> float:
    """1 if one passage is both the best by words and the nearest; `weight` is that of the cosines in `fused`."""
    if (cosines > 0).sum() < _FEW:
        return 1.0
    return float(fused(lexical, cosines, weight).max()) / (1 + weight)


def highest(scores: NDArray[np.float32], count: int) -> list[int]:
    """The positions of at most `count` scores above 0, best first; of equal scores the earlier."""
    import numpy as np

    count = min(count, len(scores))
    top = np.argpartition(-scores, count - 1)[:count]
    top = top[np.lexsort((top, -scores[top]))]
    places: list[int] = top[scores[top] > 0].tolist()
    return places


def neighbour_scores(
    places: Sequence[tuple[Hashable, int]], scores: Sequence[float | None], weight: float
) -> list[float | None]:
    """Scores above the least of them, each plus `weight` times the scores of its neighbours in the list.

    `places` are (section, number); neighbours differ by one within a section. None stays None.
    """
    least = min((score for score in scores if score is not None), default=0.0)
    gains = {place: score - least for place, score in zip(places, scores, strict=True) if score is not None}
    raised: list[float | None] = []
    for place in places:
        section, number = place
        neighbours = sum(gains.get((section, number + step), 0.0) for step in (-1, 1))
        raised.append(gains[place] + weight * neighbours if place in gains else None)
    return raised


def rescored_by_neighbours(
    scores: NDArray[np.float32], places: Sequence[tuple[Hashable, int]], weight: float
) -> tuple[NDArray[np.float32], list[int]]:
    """(scores, order) of the best passages after mixing in `neighbour_scores`."""
    import numpy as np

    with_neighbours = neighbour_scores(places, scores.tolist(), weight)
    mixed = min_max(scores) + np.float32(weight) * min_max(np.array(with_neighbours, dtype=np.float32))
    order = [int(at) for at in np.argsort(-mixed, kind="stable")]
    if len(scores) > 1:  # the new scores keep the old range
        scores = scores.min() + (scores.max() - scores.min()) * mixed / np.float32(1 + weight)
    return scores, order


def jaccard(left: frozenset[int], right: frozenset[int]) -> float:
    """The Jaccard index of two sets, 0..1."""
    union = len(left | right)
    return len(left & right) / union if union else 0.0


def mmr(
    keys: Sequence[Key],
    relevance: Sequence[float],
    similarity: Callable[[Key, Key], float],
    *,
    limit: int,
    trade: float,
) -> list[Key]:
    """Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998); with `trade` 1 only relevance counts.

    `relevance` and `similarity` are in 0..1. At most `limit` keys, the most relevant first.
    """
    remaining = dict(zip(keys, relevance, strict=True))
    closest = dict.fromkeys(remaining, 0.0)
    chosen: list[Key] = []
    while remaining and len(chosen) < limit:
        best = max(remaining, key=lambda key: trade * remaining[key] - (1 - trade) * closest[key])
        chosen.append(best)
        del remaining[best]
        for key in remaining:
            closest[key] = max(closest[key], similarity(best, key))
    return chosen


def varied(
    hits: Sequence[Hit], terms_of: Callable[[str], frozenset[int]], limit: int, trade: float
) -> list[Hit]:
    """At most `limit` hits by maximal marginal relevance; hits found by a title stay in front.

    With `trade` 1 only relevance counts. The likeness of two chunks, given by their ids, is the share of terms that
    they have in common.
    """
    import numpy as np

    front = [hit for hit in hits if hit.titled]
    rest = {hit.chunk_id: hit for hit in hits if not hit.titled}
    terms_held = {chunk_id: terms_of(chunk_id) for chunk_id in rest}
    chosen = mmr(
        list(rest),
        min_max(np.array([hit.score for hit in rest.values()], dtype=np.float32)).tolist(),
        lambda first, second: jaccard(terms_held[first], terms_held[second]),
        limit=max(0, limit - len(front)),
        trade=trade,
    )
    return [*front, *(rest[chunk_id] for chunk_id in chosen)][:limit]
