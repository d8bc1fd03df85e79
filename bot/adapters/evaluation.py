"""`eval library`: how well passages are found, measured on the passages that an answerer would get."""

from __future__ import annotations

import asyncio
import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bot.adapters.terminal import log_to

if TYPE_CHECKING:
    from bot.config import Config


def evaluate(config: Config, file: str, shelf: str, *, lookup: bool, json: bool) -> int:
    """Ask every question of the file and print the figures; raises Sorry ("eval.…") for a file that cannot be read."""
    return asyncio.run(_evaluate(config, Path(file), shelf, lookup=lookup, json=json))


async def _evaluate(config: Config, file: Path, shelf: str, *, lookup: bool, json: bool) -> int:
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
        figures = await measure(questions, search)
    finally:
        await app.close()
    if json:
        print(json_module.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:<12} {value:.4g}")
    return 0
