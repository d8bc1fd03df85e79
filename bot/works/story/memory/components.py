"""What seed 000 adds to a search for past scenes, each part by itself and switched by its name.

Each adds to the scores of scenes, which lie between 0 and about 2.5, or takes from them. docs/retrieval.md has what
each is worth alone; those that add nothing to ours are switched off. Knows only numbers of scenes, and terms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.memory.config import RecallConfig
    from bot.works.story.memory.index import BranchPieces

    Floats = NDArray[np.float32]


def keywords(branch: BranchPieces, query_terms: Iterable[str], by: RecallConfig) -> Floats:
    """Score for scenes that contain the query's rare words: each by its rarity, `keyword_cap` in all at most."""
    import numpy as np

    boost = np.zeros(branch.scene_count, dtype=np.float32)
    for term in dict.fromkeys(query_terms):
        scenes = branch.scenes_holding(term)
        if len(scenes):
            boost[scenes] += 1.0 - len(scenes) / branch.scene_count
    return np.minimum(boost * by.keyword_cap / 2, by.keyword_cap).astype(np.float32)


def distinctive(
    branch: BranchPieces, query_terms: Iterable[str], names: Collection[str], by: RecallConfig
) -> dict[str, NDArray[np.int32]]:
    """The terms that distinguish scenes, with the scenes that contain them: no name that stands in more than
    `name_share` of all scenes, and no other term in more than `term_share`.
    """
    by_term = {}
    for term in dict.fromkeys(query_terms):
        scenes = branch.scenes_holding(term)
        most = by.name_share if term in names else by.term_share
        if 0 < len(scenes) <= max(1.0, most * branch.scene_count):
            by_term[term] = scenes
    return by_term


def anchored(
    branch: BranchPieces, queries: Sequence[Mapping[str, NDArray[np.int32]]], by: RecallConfig
) -> Floats:
    """Score for scenes near to where the query's terms occurred last.

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
        return np.zeros(branch.scene_count, dtype=np.float32)
    places = [place for place, _ in everything]
    groups = by_query if max(places) - min(places) > by.anchor_spread else [everything]
    number = np.arange(branch.scene_count, dtype=np.float32)
    boost = np.zeros(branch.scene_count, dtype=np.float32)
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
    """Which scenes are old and score too little; `scores` of all scenes, in order."""
    import numpy as np

    best = float(scores.max(initial=0.0)) or 1.0
    age = np.arange(len(scores))[::-1]
    return np.asarray((age > by.age_scenes) & (scores / best <= by.age_score))


def rrf(rankings: Sequence[Floats], by: RecallConfig) -> Floats:
    """Reciprocal rank fusion (Cormack and others, SIGIR 2009) of scores over the same scenes, brought to 0..1.

    A scene with the score 0 in a ranking has no rank in it.
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
    branch: BranchPieces,
    scenes: NDArray[np.intp],
    pairs: Collection[tuple[str, str]],
    terms_of: Callable[[int], Sequence[str]],
    by: RecallConfig,
) -> dict[int, float]:
    """Score for those of `scenes` that contain the query's two-word phrases (`pairs`) word for word, within a piece.

    `terms_of` gives the terms of the piece at a place, in order: only pieces that contain both words are read.
    """
    import numpy as np

    among = np.zeros(branch.scene_count, dtype=np.bool_)
    among[scenes] = True
    among_pieces = among[branch.scenes]
    holding = dict[str, set[int]]()
    for term in {term for pair in pairs for term in pair}:
        places = branch.holding(term)[0]
        holding[term] = set(places[among_pieces[places]].tolist())
    matched = dict[int, set[tuple[str, str]]]()
    for place in sorted(set[int]().union(*(holding[first] & holding[second] for first, second in pairs))):
        matches = matched.setdefault(int(branch.scenes[place]), set())
        matches.update(pair for pair in pairwise(terms_of(place)) if pair in pairs)
    return {scene: min(by.phrase_cap, by.phrase_boost * len(matches)) for scene, matches in matched.items()}
