"""The scores of a query for each piece of a branch: our own fusion, and optional further parts.

Each further part adds to the scores of scenes, which lie between 0 and about 2.5, or subtracts from them.
docs/retrieval-lab.md says what each is worth alone; those that add nothing to ours are switched off.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bot.retrieval.lexical import content_terms, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.config import RecallConfig
    from bot.works.story.memory.branch import BranchPieces, Reason

    Floats = NDArray[np.float32]


FLOOR = 0.1
"""The minimum lead of the best piece with a rare name, as a share of the best other score."""

PHRASED, PARTED = 10, 30
"""How many of the best scenes are searched for phrases: others would not rise far enough. PARTED applies if the query
has sub-queries, whose words did not rank the scenes.
"""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for: a turn or a question, the text just before it, and the sub-queries that a model made of
    it.
    """

    text: str
    context: str = ""
    parts: tuple[str, ...] = ()
    chapter: str = ""
    """The chapter that is being played."""


def scored(
    branch: BranchPieces,
    query: Query,
    by: RecallConfig,
    nearest: Mapping[int, float],
    terms_of: Callable[[int], Sequence[str]],
) -> dict[Reason, Floats]:
    """The score of each piece by reason. `terms_of` gives the terms of the piece at an index, in order."""
    import numpy as np

    language = branch.index.language
    scores = branch.scores(query.text, by, nearest)
    words = scores["words"]
    if query.context and by.context:
        words += np.float32(by.context) * branch.words(query.context, by)[0]
    asked = branch.query_terms(query.text)
    boost = np.zeros(branch.scene_count, dtype=np.float32)
    if by.keywords:
        boost += by.keywords * keywords(branch, asked, by)
    if by.chapter and query.chapter:
        boost += by.chapter * branch.of_date(query.chapter)
    if by.decomposition and len(query.parts) > 1:
        rankings = [functools.reduce(np.add, branch.scores(part, by).values()) for part in query.parts]
        words += np.float32(by.decomposition) * rrf(rankings, by)
    parts = query.parts or (query.text,)
    names = branch.names() if by.anchors or by.phrases else frozenset[str]()
    if by.anchors:
        by_part = [distinctive(branch, content_terms(part, language), names, by) for part in parts]
        boost += by.anchors * anchored(branch, by_part, by)
    if by.phrases:
        pairs = {pair for part in parts for pair in pairwise(terms(part, language))}
        content = {term for part in parts for term in content_terms(part, language)} - names
        pairs = {pair for pair in pairs if content.issuperset(pair)}
        best = best_first(branch.by_scene(words), most := PARTED if query.parts else PHRASED)[:most]
        for scene, phrase in phrases(branch, best, pairs, terms_of, by).items():
            boost[scene] += by.phrases * phrase
    words += boost[branch.scenes]
    return scores


def add_extracted(
    scores: Mapping[Reason, Floats],
    turn_of: NDArray[np.int32],
    noted: Mapping[Reason, Floats],
    noted_of: NDArray[np.int32],
    by: RecallConfig,
) -> None:
    """Add to the scores of each turn's pieces the best score of the pieces extracted from it (`noted`)."""
    import numpy as np

    total = functools.reduce(np.add, noted.values())
    order = np.argsort(total, kind="stable")
    best = np.full(max(int(turn_of.max()), int(noted_of.max())) + 1, -1, dtype=np.int64)
    best[noted_of[order]] = order  # the last one of a turn, the best, overwrites the others
    places = best[turn_of]
    has = places >= 0
    for reason, noted_scores in noted.items():
        scores[reason][has] += np.float32(by.events) * noted_scores[places[has]]


def keywords(branch: BranchPieces, query_terms: Mapping[str, float], by: RecallConfig) -> Floats:
    """The score for scenes that contain the query's rare words: each by its rarity, at most `keyword_cap` in total."""
    import numpy as np

    boost = np.zeros(branch.scene_count, dtype=np.float32)
    for term, counted in query_terms.items():
        scenes = branch.scenes_with(term)
        if len(scenes):
            boost[scenes] += min(1.0, counted) * (1.0 - len(scenes) / branch.scene_count)
    return np.minimum(boost * by.keyword_cap / 2, by.keyword_cap).astype(np.float32)


def first_by_name(branch: BranchPieces, query_terms: Iterable[str], scores: Floats) -> Floats:
    """What pieces with a rare name of the query need in addition to score above all scenes without one."""
    import numpy as np

    lacking = np.zeros(len(scores), dtype=np.float32)
    if not (named := [places for term in query_terms if len(places := branch.pieces_naming(term))]):
        return lacking
    places = np.unique(np.concatenate(named))
    without = np.ones(branch.scene_count, dtype=np.bool_)
    without[branch.scenes[places]] = False
    most = float(scores[without[branch.scenes]].max(initial=0.0))
    own = scores[places]
    floor = most * (1.0 + FLOOR * np.maximum(0.0, own) / max(float(own.max()), 1e-9))
    lacking[places] = np.maximum(0.0, floor - own)
    return lacking


def distinctive(
    branch: BranchPieces, query_terms: Iterable[str], names: Collection[str], by: RecallConfig
) -> dict[str, NDArray[np.int32]]:
    """The terms that distinguish scenes, with the scenes that contain them: no names in more than `name_share` of all
    scenes, and no other terms in more than `term_share`.
    """
    by_term = {}
    for term in dict.fromkeys(query_terms):
        scenes = branch.scenes_with(term)
        most = by.name_share if term in names else by.term_share
        if 0 < len(scenes) <= max(1.0, most * branch.scene_count):
            by_term[term] = scenes
    return by_term


def anchored(
    branch: BranchPieces, queries: Sequence[Mapping[str, NDArray[np.int32]]], by: RecallConfig
) -> Floats:
    """The score for scenes close to the last occurrence of the query's terms.

    `queries` are the distinctive terms of each sub-query. A term's anchor is the mean of its last occurrences, with
    more weight for later ones. If anchors lie far apart, each sub-query has its own; otherwise all share one.
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
    """Which scenes are old and have too low a score; `scores` are those of all scenes, in order."""
    import numpy as np

    best = float(scores.max(initial=0.0)) or 1.0
    age = np.arange(len(scores))[::-1]
    return np.asarray((age > by.age_scenes) & (scores / best <= by.age_score))


def best_first(scores: Floats, count: int) -> NDArray[np.intp]:
    """The `count` positions with the best scores, and any others with the same score as the last: sorting all takes
    longer.
    """
    import numpy as np

    likely = np.arange(len(scores))
    if count < len(scores):
        likely = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
    return likely[np.argsort(-scores[likely], kind="stable")]


def rrf(rankings: Sequence[Floats], by: RecallConfig) -> Floats:
    """Reciprocal rank fusion (Cormack and others, SIGIR 2009) of scores over the same scenes, scaled to 0..1.

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
    pairs: Set[tuple[str, str]],
    terms_of: Callable[[int], Sequence[str]],
    by: RecallConfig,
) -> dict[int, float]:
    """The score for those of `scenes` that contain the query's two-word phrases (`pairs`) word for word, within a
    piece.

    `terms_of` gives the terms of the piece at an index, in order; it is called only for pieces that contain both words.
    """
    import numpy as np

    if not pairs:
        return {}
    among = np.zeros(branch.scene_count, dtype=np.bool_)
    among[scenes] = True
    places = np.flatnonzero(among[branch.scenes])
    every = {term for pair in pairs for term in pair}
    holding = {term: set(branch.containing(term, places).tolist()) for term in every}
    matched = dict[int, set[tuple[str, str]]]()
    may_hold = {pair: holding[pair[0]] & holding[pair[1]] for pair in pairs}
    for place in sorted(set[int]().union(*may_hold.values())):
        matches = matched.setdefault(int(branch.scenes[place]), set())
        missing = (pair for pair in pairs - matches if place in may_hold[pair])
        if by.phrase_boost * len(matches) < by.phrase_cap and any(missing):  # reading a text takes long
            matches.update(pairs & set(pairwise(terms_of(place))))
    return {scene: min(by.phrase_cap, by.phrase_boost * len(matches)) for scene, matches in matched.items()}
