"""How well a story's memory finds the turns that hold an answer: recall, rank and time over a file of queries."""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from bot.events import UserError
from bot.works.story.memory.ranking import Query

if TYPE_CHECKING:
    from bot.works.story.memory.config import RecallConfig
    from bot.works.story.memory.memory import Memory, Recalled
    from bot.works.story.story import Story

Scores: TypeAlias = dict[str, float]

PIECES = 200
"""Looked at for scenes and ranks: what comes later counts as not found."""


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """One line of the file; `gold` are turns, by the ids that an imported log has for them, or by their numbers."""

    query: str
    gold: tuple[str, ...]


def read_queries(file: Path) -> list[MemoryQuery]:
    """Lines of {"query", "gold": [turn ids]}; those without a gold are passed over. Raises UserError ("eval.…")."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError("eval.unreadable", path=file) from error
    queries = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row: Any = json.loads(line)
            query, gold = str(row["query"]), tuple(map(str, _listed(row["gold"])))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UserError("eval.memory_line", path=file, line=number) from error
        if gold:
            queries.append(MemoryQuery(query, gold))
    if not queries:
        raise UserError("eval.unreadable", path=file)
    return queries


def _listed(gold: Any) -> list[Any]:
    """Raises TypeError for anything but a list."""
    if not isinstance(gold, list):
        raise TypeError(gold)
    return gold


async def evaluate_memory(
    memory: Memory, space: str, id: str, story: Story, queries: Sequence[MemoryQuery], by: RecallConfig
) -> dict[str, float]:
    """recall@5, recall@10, scene_hit@5 and mrr over the queries, p50_ms and p95_ms of a search, their count n."""
    await memory.recall(space, id, id, story, Query(queries[0].query), 1, by=by)  # loads what is loaded once
    spent, scores = list[float](), list[Scores]()
    for query in queries:
        began = time.perf_counter()
        recalled = await memory.recall(space, id, id, story, Query(query.query), PIECES, by=by)
        spent.append((time.perf_counter() - began) * 1_000)
        scores.append(scores_of(story, recalled, query.gold))
    ordered = sorted(spent)
    return {
        **{name: statistics.mean(row[name] for row in scores) for name in scores[0]},
        "p50_ms": statistics.median(ordered),
        "p95_ms": ordered[math.ceil(0.95 * len(ordered)) - 1],
        "n": len(queries),
    }


def scores_of(story: Story, recalled: Sequence[Recalled], gold: Sequence[str]) -> Scores:
    """recall@5, recall@10, scene_hit@5 and mrr of one query: a turn is found by any of its pieces.

    `scene_hit@5`: whether one of the first five scenes holds a gold.
    """
    numbers = {turn.act.label or str(number): number for number, turn in enumerate(story.current_turns, 1)}
    scenes = [turn.act.group or turn.id for turn in story.current_turns]
    gold_turns = {numbers.get(label, 0) for label in gold}
    turns = list(dict.fromkeys(piece.number for piece in recalled))
    first = list(dict.fromkeys(scenes[turn - 1] for turn in turns))[:5]
    rank = next((at for at, turn in enumerate(turns, 1) if turn in gold_turns), 0)
    return {
        "recall@5": len(gold_turns.intersection(turns[:5])) / len(gold_turns),
        "recall@10": len(gold_turns.intersection(turns[:10])) / len(gold_turns),
        "scene_hit@5": float(any(scenes[turn - 1] in first for turn in gold_turns if turn)),
        "mrr": 1 / rank if rank else 0.0,
    }
