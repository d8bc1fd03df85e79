"""A process that makes many paid calls at once, for tests that kill it: `python -m tests.kill.spender DB URL CAP`.

It prints a line for each call that has shown a word, has ended, or was refused. After each call that ends, it makes
another one, without end.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
from contextlib import aclosing
from pathlib import Path

from bot.config import BudgetConfig, Config, ProviderConfig, RolesConfig
from bot.events import Author, Place, Request, UserError
from bot.llm.base import Message, Prompt
from bot.llm.completion import Completion
from bot.llm.registry import Models
from storage.db import Database
from storage.ledger import Ledger
from tests.fakes.run import MemoryRun

AT_ONCE = 50
PROMPT = Prompt("Tell it.", (Message("user", "word " * 400),), max_tokens=4_000)
MODEL = "a:claude-haiku-5-5"
SPACE, RUN = "local", "run"


async def spend(database: str, url: str, cap: str) -> None:
    db = await Database.open(database)
    ledger = Ledger(db)
    killed = await ledger.settle_killed()
    print(f"settled {killed}", flush=True)
    config = Config(
        Path("data"),
        Path("models"),
        providers={"a": ProviderConfig("a", "anthropic", url)},
        roles=RolesConfig(answerer=(MODEL,)),
        budget=BudgetConfig(run_usd=float(cap)),
    )
    models = Models(config, ledger)
    steps = itertools.count()

    async def one() -> None:
        run = MemoryRun()
        run.request = Request(RUN, Place("terminal", SPACE, "c", "t"), Author("ana", "Ana"), "rules", "ask")
        while True:
            try:
                pieces = models.stream(run, "answerer", f"step-{next(steps)}", PROMPT)
                async with aclosing(pieces) as shown:
                    async for piece in shown:
                        print("ended" if isinstance(piece, Completion) else "word", flush=True)
            except UserError as error:
                print(error.key, flush=True)
                return

    await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    print("over", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(spend(*sys.argv[1:4]))
