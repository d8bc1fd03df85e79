"""The sets by which a story's memory is measured: logs, each beside its queries. Knows no memory.

Those of `benchmarks/data` are our own; the others are looked for in SUTRADHAR_BENCH_DATA.
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
    """LoCoMo's chats and CRD3's play, where they are on this machine; `folder` gets what is made of the play."""
    found: dict[str, Pairs] = {}
    if (locomo := data("locomo")) is not None:
        found["LoCoMo"] = _beside(locomo)
    if (crd3 := data("crd3")) is not None:
        found["CRD3"] = _beside(crd3)
        found["CRD3 reworded"] = _reworded(crd3, folder)
        found["CRD3 pooled"] = [_pooled(_beside(crd3), folder)]
    return found


def portuguese() -> dict[str, Pairs]:
    """A story in Portuguese, asked for in its own words and names, and in other ones throughout."""
    log = OWN / "ponta-do-sino.jsonl"
    return {
        "Portuguese": [(log, OWN / "ponta-do-sino.questions.jsonl")],
        "Portuguese reworded": [(log, OWN / "ponta-do-sino.reworded.jsonl")],
    }


def play() -> Pairs:
    """CRD3's episodes, none where they are not on this machine."""
    crd3 = data("crd3")
    return _beside(crd3) if crd3 is not None else []


def _beside(folder: Path) -> Pairs:
    return [(file.with_name(file.name.replace(".questions", "")), file)
            for file in sorted(folder.glob("*.questions.jsonl"))]  # fmt: skip


def reworded_play() -> list[dict[str, Any]]:
    """Queries of our own, {"id", "query", "episode", "scene"}: the play itself may not be in this repository."""
    return [json.loads(line) for line in (OWN / "crd3.reworded.jsonl").read_text("utf-8").splitlines()]


def _reworded(crd3: Path, folder: Path) -> Pairs:
    """The episodes with queries that share few words with their scene: each turn of it is a gold."""
    pairs = []
    for log, _ in _beside(crd3):
        turns = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        asked = [one for one in reworded_play() if one["episode"] == log.stem]
        queries = folder / f"{log.stem}.reworded.jsonl"
        with queries.open("w", encoding="utf-8") as lines:
            for one in asked:
                gold = [turn["id"] for turn in turns if turn["scene"] == one["scene"]]
                lines.write(json.dumps({"query": one["query"], "gold": gold}) + "\n")
        if asked:
            pairs.append((log, queries))
    return pairs


def _pooled(pairs: Iterable[tuple[Path, Path]], folder: Path) -> tuple[Path, Path]:
    """All episodes as one log, whose scenes keep apart."""
    log, queries = folder / "pooled.jsonl", folder / "pooled.questions.jsonl"
    with log.open("w", encoding="utf-8") as lines, queries.open("w", encoding="utf-8") as asked:
        for episode, questions in pairs:
            for line in episode.read_text(encoding="utf-8").splitlines():
                turn = json.loads(line)
                lines.write(json.dumps({**turn, "scene": f"{episode.stem}/{turn['scene']}"}) + "\n")
            asked.write(questions.read_text(encoding="utf-8").rstrip("\n") + "\n")
    return log, queries
