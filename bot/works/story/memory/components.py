"""What seed 000 adds to a search for past scenes, each part by itself and switched by its name.

All of them give or take from scenes' scores, which lie between 0 and about 2.5. docs/retrieval.md has what each is
worth alone; those that are worth nothing beside ours are off. Knows scenes by number, and terms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.memory.config import RecallConfig
    from bot.works.story.memory.index import Told

    Floats = NDArray[np.float32]


def keywords(told: Told, asked: Iterable[str], by: RecallConfig) -> Floats:
    """More for scenes that hold the query's rare words: each by its rarity, all together at most `keyword_cap`."""
    import numpy as np

    boost = np.zeros(told.scene_count, dtype=np.float32)
    for term in dict.fromkeys(asked):
        scenes = told.scenes_holding(term)
        if len(scenes):
            boost[scenes] += 1.0 - len(scenes) / told.scene_count
    return np.minimum(boost * by.keyword_cap / 2, by.keyword_cap).astype(np.float32)


def distinctive(
    told: Told, asked: Iterable[str], names: Collection[str], by: RecallConfig
) -> dict[str, NDArray[np.int32]]:
    """The terms that tell scenes apart, with the scenes that hold them: a name that stands in more than `name_share` of
    all scenes does not, nor another term in more than `term_share`.
    """
    kept = {}
    for term in dict.fromkeys(asked):
        scenes = told.scenes_holding(term)
        most = by.name_share if term in names else by.term_share
        if 0 < len(scenes) <= max(1.0, most * told.scene_count):
            kept[term] = scenes
    return kept


def anchored(told: Told, queries: Sequence[Mapping[str, NDArray[np.int32]]], by: RecallConfig) -> Floats:
    """More for scenes near to where what is asked for happened last.

    `queries` are the distinctive terms of each sub-query. A term's anchor is the mean of its last occurrences, the
    later ones weighing more. Where anchors lie far apart each sub-query has its own, else there is one for all.
    """
    import numpy as np

    by_query = [
        [(_anchor(scenes[-by.anchor_occurrences :]), len(scenes)) for scenes in terms.values()]
        for terms in queries
    ]
    everything = [anchor for anchors in by_query for anchor in anchors]
    if not everything:
        return np.zeros(told.scene_count, dtype=np.float32)
    places = [place for place, _ in everything]
    groups = by_query if max(places) - min(places) > by.anchor_spread else [everything]
    number = np.arange(told.scene_count, dtype=np.float32)
    boost = np.zeros(told.scene_count, dtype=np.float32)
    for anchors in filter(None, groups):
        place = sum(at for at, _ in anchors) / len(anchors)
        sure = min(1.0, max(by.anchor_least, sum(count for _, count in anchors) / by.anchor_sure))
        near = np.maximum(0.0, by.anchor_boost - by.anchor_fall * np.abs(number - place)) * sure
        boost = np.maximum(boost, near.astype(np.float32))
    return boost


def _anchor(scenes: NDArray[np.int32]) -> float:
    weights = range(1, len(scenes) + 1)
    return float(
        sum(int(scene) * weight for scene, weight in zip(scenes, weights, strict=True)) / sum(weights)
    )


def too_old(scores: Floats, by: RecallConfig) -> NDArray[np.bool_]:
    """Which scenes lie far back and are not alike enough; `scores` of all, in order."""
    import numpy as np

    best = float(scores.max(initial=0.0)) or 1.0
    age = np.arange(len(scores))[::-1]
    return np.asarray((age > by.age_scenes) & (scores / best <= by.age_score))


def rrf(rankings: Sequence[Floats], by: RecallConfig) -> Floats:
    """Reciprocal rank fusion (Cormack and others, SIGIR 2009) of scores over the same scenes, brought to 0..1.

    What scores nothing in a ranking has no rank in it.
    """
    import numpy as np

    fused = np.zeros(len(rankings[0]), dtype=np.float32) if rankings else np.zeros(0, dtype=np.float32)
    for scores in rankings:
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > 0]
        fused[order] += 1.0 / (by.rrf_k + 1 + np.arange(len(order), dtype=np.float32))
    top = float(fused.max(initial=0.0))
    return fused / np.float32(top) if top else fused


def phrases(
    told: Told,
    scenes: NDArray[np.intp],
    wanted: Collection[tuple[str, str]],
    terms_of: Callable[[int], Sequence[str]],
    by: RecallConfig,
) -> dict[int, float]:
    """More for those of the scenes that hold the query's two-word phrases word for word, within a piece.

    `terms_of` are the terms of the piece of a place, in order: only pieces that hold both words are looked through.
    """
    import numpy as np

    among = np.zeros(told.scene_count, dtype=np.bool_)
    among[scenes] = True
    among_pieces = among[told.scenes]
    holding = dict[str, set[int]]()
    for term in {term for pair in wanted for term in pair}:
        places = told.holding(term)[0]
        holding[term] = set(places[among_pieces[places]].tolist())
    held = dict[int, set[tuple[str, str]]]()
    for place in sorted(set[int]().union(*(holding[first] & holding[second] for first, second in wanted))):
        pairs = held.setdefault(int(told.scenes[place]), set())
        pairs.update(pair for pair in pairwise(terms_of(place)) if pair in wanted)
    return {scene: min(by.phrase_cap, by.phrase_boost * len(pairs)) for scene, pairs in held.items()}
