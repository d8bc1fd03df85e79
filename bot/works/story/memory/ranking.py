"""What a query scores at each piece of a branch: our own fusion, and the parts of seed 000 that are switched on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bot.retrieval.lexical import content_terms, terms
from bot.works.story.memory import components

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.memory.config import RecallConfig
    from bot.works.story.memory.index import BranchPieces, Reason

    Floats = NDArray[np.float32]

PHRASED = 30
"""How many of the best scenes are searched for phrases: others would not rise far enough."""


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
    """The score of each piece by reason. `terms_of` gives the terms of the piece at a place, in order."""
    import numpy as np

    language = branch.index.language
    scores = branch.scores(query.text, by, nearest)
    words = scores["words"]
    if query.context and by.context:
        words += np.float32(by.context) * branch.words(query.context, by)[0]
    query_terms = content_terms(query.text, language)
    boost = np.zeros(branch.scene_count, dtype=np.float32)
    if by.keywords:
        boost += by.keywords * components.keywords(branch, query_terms, by)
    if by.chapter and query.chapter:
        boost += by.chapter * branch.of_date(query.chapter)
    if by.decomposition and len(query.parts) > 1:
        rankings = [np.sum(list(branch.scores(part, by).values()), axis=0) for part in query.parts]
        words += np.float32(by.decomposition) * components.rrf(rankings, by)
    parts = query.parts or (query.text,)
    names = branch.names() if by.anchors or by.phrases else frozenset[str]()
    if by.anchors:
        by_part = [components.distinctive(branch, content_terms(part, language), names, by) for part in parts]
        boost += by.anchors * components.anchored(branch, by_part, by)
    if by.phrases:
        pairs = {pair for part in parts for pair in pairwise(terms(part, language))}
        content = {term for part in parts for term in content_terms(part, language)} - names
        pairs = {pair for pair in pairs if content.issuperset(pair)}
        best = np.argsort(-branch.by_scene(words), kind="stable")[:PHRASED]
        for scene, phrase in components.phrases(branch, best, pairs, terms_of, by).items():
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
    """Add to the scores of each turn's pieces the best score of what was extracted from it (`noted`)."""
    import numpy as np

    total = np.sum(list(noted.values()), axis=0)
    order = np.argsort(total, kind="stable")
    best = np.full(max(int(turn_of.max()), int(noted_of.max())) + 1, -1, dtype=np.int64)
    best[noted_of[order]] = order  # the last one of a turn overwrites the others, and is the best
    places = best[turn_of]
    has = places >= 0
    for reason, noted_scores in noted.items():
        scores[reason][has] += np.float32(by.events) * noted_scores[places[has]]
