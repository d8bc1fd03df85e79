"""The pieces of a branch that a query finds: the best first, each with its score and its reasons."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.retrieval.lexical import terms
from bot.works.story.memory.branch import Reason
from bot.works.story.memory.index import Piece
from bot.works.story.memory.pieces import pieces_of
from bot.works.story.memory.ranking import (
    Query,
    add_extracted,
    best_first,
    distinctive,
    first_by_name,
    scored,
    too_old,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bot.works.story.config import RecallConfig
    from bot.works.story.log.turn import Turn
    from bot.works.story.memory.history import History
    from bot.works.story.memory.indexed import Near

TELLING = 0.1
"""The minimum score that a reason adds to a piece's to be named."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """A piece that was found: the piece `part` of its node, the number of its turn, its score and the reasons.

    `keyword` says that its scene has a distinctive word of the query. `sentence` is the index of its sentence closest
    in meaning, None if unknown. `terms` are those of the query.
    """

    node: str
    part: int
    turn: str
    number: int
    score: float
    reasons: tuple[Reason, ...]
    keyword: bool = False
    sentence: int | None = None
    terms: Collection[str] = ()


def best_pieces(
    history: History,
    query: Query,
    by: RecallConfig,
    nearest: Mapping[int, Near],
    turns: Mapping[str, Turn],
    count: int,
    without: frozenset[str],
) -> list[Recalled]:
    """At most `count` pieces, best first, except those of the turns `without`; `nearest` are those close in meaning."""
    import numpy as np

    branch = history.pieces
    if not len(branch.numbers):
        return []

    cut = dict[str, dict[str, list[Piece]]]()

    def terms_of(place: int) -> list[str]:
        node, part = branch.index.node_of(int(branch.numbers[place]))
        turn = history.turns[history.turn_of[place]]
        if turn not in cut:
            cut[turn] = pieces_of(turns[turn])
        pieces = cut[turn].get(node, [])
        return terms(pieces[part].text, branch.index.language) if part < len(pieces) else []

    close = {piece: near.score for piece, near in nearest.items()}
    by_reason = scored(branch, query, by, close, terms_of)
    if by.events and len(history.noted.numbers):
        add_extracted(
            by_reason, history.turn_of, history.noted.scores(query.text, by, close), history.noted_for, by
        )
    scores = functools.reduce(np.add, by_reason.values())
    if by.age:
        scores[too_old(branch.by_scene(scores), by)[branch.scenes]] = 0.0
    asked = branch.query_terms(query.text)
    if by.names:
        by_reason["words"] += (lacking := first_by_name(branch, asked, scores))
        scores += lacking
    with_keyword = np.zeros(branch.scene_count, dtype=np.bool_)
    for scenes in distinctive(branch, asked, branch.names(), by).values():
        with_keyword[scenes] = True
    recalled = list[Recalled]()
    for place in _best_first(scores, count):
        if scores[place] <= 0 or len(recalled) == count:
            break
        at = int(history.turn_of[place])
        if history.turns[at] not in without:
            number = int(branch.numbers[place])
            node, part = branch.index.node_of(number)
            near = nearest.get(number)
            reasons = tuple(reason for reason, added in by_reason.items() if added[place] >= TELLING)
            keyword = bool(with_keyword[branch.scenes[place]])
            recalled.append(
                Recalled(
                    node,
                    part,
                    history.turns[at],
                    at + 1,
                    float(scores[place]),
                    reasons,
                    keyword,
                    near.sentence if near is not None else None,
                    asked,
                )
            )
    return recalled


def _best_first(scores: NDArray[np.float32], count: int) -> Iterator[int]:
    """The positions by descending score, sorted only as far as needed, since sorting all takes most of a search."""
    ranked = 0
    while ranked < len(scores):
        likely = best_first(scores, count)
        yield from likely[ranked:].tolist()
        ranked, count = len(likely), 8 * count
