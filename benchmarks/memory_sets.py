"""The data sets that measure a story's memory: logs with their queries.

Our own are in `benchmarks/data`; the others are read from SUTRADHAR_BENCH_DATA. Uses no memory itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeAlias

from benchmarks.figures import data

Pairs: TypeAlias = list[tuple[Path, Path]]
"""Of a log and its queries: a story each."""

OWN: Final = Path(__file__).with_name("data")


def english(folder: Path) -> dict[str, Pairs]:
    """LoCoMo's chats and CRD3's play, if they are on this machine; `folder` gets the files made from the
    play.
    """
    sets: dict[str, Pairs] = {}
    if (locomo := data("locomo")) is not None:
        sets["LoCoMo"] = _beside(locomo)
    if (crd3 := data("crd3")) is not None:
        sets["CRD3"] = _beside(crd3)
        sets["CRD3 reworded"] = _reworded(crd3, folder)
        sets["CRD3 pooled"] = [_pooled(_beside(crd3), folder)]
    return sets


def portuguese() -> dict[str, Pairs]:
    """A story in Portuguese, with queries in its own words and names, and in other words."""
    log = OWN / "ponta-do-sino.jsonl"
    return {
        "Portuguese": [(log, OWN / "ponta-do-sino.questions.jsonl")],
        "Portuguese reworded": [(log, OWN / "ponta-do-sino.reworded.jsonl")],
    }


def play() -> Pairs:
    """CRD3's episodes; none if they are not on this machine."""
    crd3 = data("crd3")
    return _beside(crd3) if crd3 is not None else []


def _beside(folder: Path) -> Pairs:
    return [(file.with_name(file.name.replace(".questions", "")), file)
            for file in sorted(folder.glob("*.questions.jsonl"))]  # fmt: skip


def reworded_play() -> list[dict[str, Any]]:
    """Queries of our own, {"id", "query", "episode", "scene"}: the play itself may not be in this repository."""
    return [json.loads(line) for line in (OWN / "crd3.reworded.jsonl").read_text("utf-8").splitlines()]


def _reworded(crd3: Path, folder: Path) -> Pairs:
    """The episodes with queries that share few words with their scene, all turns of which are gold."""
    pairs = []
    for log, _ in _beside(crd3):
        turns = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        questions = [row for row in reworded_play() if row["episode"] == log.stem]
        queries = folder / f"{log.stem}.reworded.jsonl"
        with queries.open("w", encoding="utf-8") as lines:
            for question in questions:
                gold = [turn["id"] for turn in turns if turn["scene"] == question["scene"]]
                lines.write(json.dumps({"query": question["query"], "gold": gold}) + "\n")
        if questions:
            pairs.append((log, queries))
    return pairs


def _pooled(pairs: Iterable[tuple[Path, Path]], folder: Path) -> tuple[Path, Path]:
    """All episodes as one log that keeps its scenes apart."""
    log, queries = folder / "pooled.jsonl", folder / "pooled.questions.jsonl"
    with log.open("w", encoding="utf-8") as lines, queries.open("w", encoding="utf-8") as queries_file:
        for episode, questions in pairs:
            for line in episode.read_text(encoding="utf-8").splitlines():
                turn = json.loads(line)
                lines.write(json.dumps({**turn, "scene": f"{episode.stem}/{turn['scene']}"}) + "\n")
            queries_file.write(questions.read_text(encoding="utf-8").rstrip("\n") + "\n")
    return log, queries
