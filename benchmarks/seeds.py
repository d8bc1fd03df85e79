"""Runs other projects' designs and ours on the same data sets, with the same embedder.

    SUTRADHAR_BENCH_DATA=DIR SUTRADHAR_MODELS=DIR python -m benchmarks.seeds [SET ...]

Ours runs through the command line and the library as installed; the others are in `seeds_langchain`, which runs each
set in a separate process in the venv with LangChain. Without SUTRADHAR_MODELS there is nothing to compare.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.bench_env import PYTHON, lacking
from benchmarks.figures import Figure, data, skipped
from bot.config import load
from bot.resources import Resources
from bot.retrieval.evaluate import Passage, Question, read_questions, score, summary

ROOT = Path(__file__).resolve().parents[1]
SETS = ("rules-en-srd51", "rules-en-srd51-bare", "rules-pt-fate", "faquad-pt", "hotpot-en")
OURS = "ours"
DESIGNS = {
    OURS: OURS,
    "parent-child": "LangChain: parents of 2000, children of 200, MMR",
    "dense": "LangChain: 800/100, dense",
}
HEAD = "| set | design | recall@5 | recall@10 | recall@4k | MRR | indexing, CPU s | query, ms | MB per MB |"


@dataclass(frozen=True, slots=True)
class Row:
    """A design's figures on a set: those of `evaluate.summary`, index_cpu_s, slope (MB of memory per MB of
    text), mb.
    """

    name: str
    design: str
    made: dict[str, float]

    def __str__(self) -> str:
        m = self.made
        recall = " | ".join(f"{m[key]:.3f}" for key in ("recall@5", "recall@10", "recall@4k", "mrr"))
        slope = f"{m['slope']:.1f}" if m["mb"] >= 1 else "–"
        return (
            f"| {self.name} | {DESIGNS[self.design]} | {recall} | {m['index_cpu_s']:.0f} "
            f"| {m['p50_ms']:.0f} | {slope} |"
        )


def figures() -> Iterator[Figure]:
    """Recall@5 of each design on each set; ours should reach the best of the others."""
    best: dict[str, float] = {}
    for name in SETS:
        if data(name) is None:
            yield skipped(f"{name}: ours beside the seed designs")
            continue
        if why := _without():
            yield Figure(f"{name}: ours beside the seed designs", why)
            continue
        for row in [row for design in reversed(DESIGNS) for row in rows([name], [design])]:
            recall = row.made["recall@5"]
            ours = row.design == OURS
            shown = ", ".join(f"{row.made[key]:.3f}" for key in ("recall@5", "recall@10", "recall@4k", "mrr"))
            yield Figure(
                f"{name}, {DESIGNS[row.design]}: recall@5, @10, @4k, MRR",
                shown,
                f"≥ {best[name]:.3f}" if ours else "",
                "",
                recall >= best[name] if ours else None,
            )
            shown = f"{row.made['index_cpu_s']:.0f} s, {row.made['p50_ms']:.0f} ms"
            yield Figure("… its indexing, of processor; a query, p50", shown)
            best[name] = max(recall, best.get(name, 0.0))


def _without() -> str:
    return lacking() or ("" if os.environ.get("SUTRADHAR_MODELS") else "skipped: SUTRADHAR_MODELS is not set")


def rows(names: Sequence[str], designs: Sequence[str] = tuple(DESIGNS)) -> Iterator[Row]:
    for name in names:
        folder = data(name)
        assert folder is not None
        for design in designs:
            yield Row(name, design, ours(folder) if design == OURS else theirs(design, folder))


def theirs(design: str, folder: Path) -> dict[str, float]:
    models = os.environ["SUTRADHAR_MODELS"]
    command = [PYTHON, "-m", "benchmarks.seeds_langchain", design, str(folder), models]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def ours(folder: Path) -> dict[str, float]:
    """Our figures; indexing includes the program's start."""
    with tempfile.TemporaryDirectory() as data:
        place = Path(data)
        command = [sys.executable, "-m", "bot", "--data", data, "library", "add", str(folder / "corpus")]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        samples: list[tuple[float, float]] = []
        mb = sum(file.stat().st_size for file in (folder / "corpus").iterdir()) / 1e6
        with subprocess.Popen(
            [*command, "--shelf", "set", "--json"], cwd=ROOT, stdout=subprocess.PIPE, text=True
        ) as bot:
            assert bot.stdout is not None
            process = psutil.Process(bot.pid)
            for line in bot.stdout:
                event = json.loads(line)
                if event["event"] == "status" and event.get("total"):
                    samples.append((event["done"] / event["total"] * mb, process.memory_info().rss / 1e6))
        if bot.returncode:
            raise RuntimeError(f"library add ended with {bot.returncode}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        figures = asyncio.run(_asked(place, read_questions(folder / "questions.jsonl")))
    return figures | {"index_cpu_s": busy, "slope": _slope(samples), "mb": mb}


async def _asked(place: Path, questions: Sequence[Question]) -> dict[str, float]:
    resources = await Resources.open(load(data=place, environ=os.environ))
    scored = []
    try:
        await resources.library.search("local", "set", "warm up the model and the index")
        for question in questions:
            began = time.perf_counter()
            results = await resources.library.search("local", "set", question.query)
            spent = time.perf_counter() - began
            passages = [Passage(passage.source, passage.text) for passage in results.passages]
            scored.append(score(question.gold, passages, spent, confident=results.confident))
    finally:
        await resources.close()
    return summary(scored)


def _slope(samples: list[tuple[float, float]]) -> float:
    """MB of memory per MB of text; the first tenth loads the model and is left out."""
    rest = samples[len(samples) // 10 :]
    return statistics.linear_regression(*zip(*rest, strict=True)).slope if len(rest) > 2 else 0.0


def main(names: list[str]) -> int:
    if why := _without():
        print(why)
        return 1
    print(f"{HEAD}\n|---|---|{'---|' * 7}")
    for row in rows([name for name in names or SETS if data(name) is not None]):
        print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
