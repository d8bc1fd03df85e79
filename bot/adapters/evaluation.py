"""`eval library`: how well passages are found, measured on the passages that an answerer would get."""

from __future__ import annotations

import asyncio
import json as json_module
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from bot.adapters.draft import clean
from bot.adapters.terminal import log_to
from bot.words import Words

if TYPE_CHECKING:
    from bot.config import Config
    from bot.retrieval.evaluate import Failure, Report

NAMED = 20
"""How many failed questions are named without `--all`."""


def evaluate(
    config: Config, file: str, shelf: str, say: Words, *, lookup: bool, every: bool, json: bool
) -> int:
    """Ask every question of the file and print the figures, and the questions that failed (all, if `every`).

    Raises Sorry ("eval.…") for a file that cannot be read.
    """
    report = asyncio.run(_evaluate(config, Path(file), shelf, lookup=lookup))
    if json:
        print(json_module.dumps({**report.figures, "failed": [asdict(one) for one in report.failures]}))
    else:
        print("\n".join(told(report, say, None if every else NAMED)))
    return 0


def told(report: Report, say: Words, limit: int | None) -> list[str]:
    """The report in lines; at most `limit` failed questions are named, and the others counted."""
    lines = [f"{name:<18} {value:.4g}" for name, value in report.figures.items()]
    failures = report.failures
    if failures:
        lines += ["", say("eval.failed", n=len(failures))]
        for one in failures[:limit]:
            lines += [f"  {clean(one.id)}  {clean(one.query)}", f"    {_why(one, say)}"]
        if left := len(failures[limit:]) if limit is not None else 0:
            lines.append(say("eval.more", n=left))
    return lines


def _why(failure: Failure, say: Words) -> str:
    if failure.stranger:
        return say("eval.stranger")
    places = ", ".join("–" if rank is None else str(rank) for rank in failure.ranks)
    lost = not any(failure.ranks)
    if failure.refused:
        return say("eval.refused_lost") if lost else say("eval.refused", places=places)
    return say("eval.lost") if lost else say("eval.low", places=places)


async def _evaluate(config: Config, file: Path, shelf: str, *, lookup: bool) -> Report:
    from bot.app import App
    from bot.retrieval.evaluate import Passage, Searched, read_questions
    from bot.retrieval.evaluate import evaluate as measure

    log_to(config)
    questions = await asyncio.to_thread(read_questions, file)
    app = await App.open(config)
    asked = 0

    async def search(query: str) -> Searched:
        nonlocal asked
        asked += 1
        if sys.stderr.isatty():
            end = "\n" if asked == len(questions) else ""
            print(f"\r{asked}/{len(questions)}", end=end, file=sys.stderr, flush=True)
        found = await app.house.library.search("local", shelf, query, lookup=lookup)
        passages = [Passage(one.source, one.text) for one in found.passages]
        return Searched(passages, found.confident)

    try:
        return await measure(questions, search)
    finally:
        await app.close()
