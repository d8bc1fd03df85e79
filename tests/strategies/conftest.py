"""A real shelf, and a loopback model that helps to search it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.config import load
from bot.events import Notice, Status
from bot.resources import Resources
from bot.retrieval.intake import Item
from bot.retrieval.results import SearchResult
from bot.strategies.base import Inquiry, Searchable, SearchEvent
from bot.strategies.rewrite import Rewriting
from tests.fakes import migrated
from tests.fakes.chat_completions import ChatService, Reply
from tests.fakes.run import MemoryRun

BOOK = """# The Ferry

## The ferryman

The ferryman carries a lantern across the river, and the lantern is called Duskglass by those who wait.

## The river crossing

A ferryman and a lantern are needed to cross the river. Waiting costs a coin.

## Ledger of the smithy

Duskglass was forged by Ilmare in the winter of the long bells.

## Ilmare

Ilmare learnt the trade in Vorn, from the widow Sarn.

## Grappled

A grappled creature's speed becomes zero until the grapple ends.

## Candles

A candle burns four hours while walking, and one hour while running. By day it burns the same.
"""
PROMPTS = ("rewrite", "multi_question", "multi_hop")


@dataclass
class Bench:
    """`answers` are the model's next answers: JSON, or a function of the system and user prompt."""

    resources: Resources
    service: ChatService
    answers: list[Any]

    async def inquiry(self, question: str, **changes: Any) -> Inquiry:
        wordings = await self.resources.prompts.texts("local", PROMPTS)
        made = Inquiry(
            "local", "rules", question, "en", "en", k=2, helper=True, languages=("en",), prompts=wordings
        )
        return replace(made, **changes)

    async def told(self, name: str, inquiry: Inquiry, run: MemoryRun) -> AsyncGenerator[SearchEvent, None]:
        library = self.resources.library
        begun = await searched(library, run, inquiry)
        async with aclosing(Rewriting(name, library, self.resources.models).search(run, begun)) as updates:
            async for update in updates:
                yield update

    async def search(
        self, name: str, inquiry: Inquiry, run: MemoryRun | None = None
    ) -> tuple[SearchResult, list[str]]:
        """The result, and the notices on the way."""
        updates = [update async for update in self.told(name, inquiry, run or MemoryRun())]
        assert isinstance(updates[-1], SearchResult)
        return updates[-1], [update.text for update in updates[:-1] if isinstance(update, Status | Notice)]

    def prompt(self, call: int) -> str:
        """The prompt of the model's call number `call`."""
        return str(self.service.requests[call]["messages"][-1]["content"])


async def searched(library: Searchable, run: MemoryRun, inquiry: Inquiry) -> Inquiry:
    """The inquiry after the search for the question itself."""
    look = partial(library.search, inquiry.space, inquiry.shelf, inquiry.question, k=inquiry.k)
    return replace(inquiry, results=(await run.step("search", look, SearchResult),))


def headings(result: SearchResult) -> list[str]:
    return [passage.heading.rsplit(" › ", 1)[-1] for passage in result.passages]


@asynccontextmanager
async def opened(folder: Path, role: str = "extractor") -> AsyncIterator[Bench]:
    answers: list[Any] = []

    def answered(body: dict[str, Any]) -> Reply:
        answer = answers.pop(0)
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            answer = answer(*(message["content"] for message in body["messages"]))
        return answer if isinstance(answer, Reply) else Reply(pieces=[json.dumps(answer)])

    async with ChatService(answered) as service:
        (folder / "config.toml").write_text(
            f'[providers.fake]\nkind = "openai-compatible"\nbase_url = "{service.base_url}"\n'
            f'[roles]\n{role} = "fake:small"\n[embedding]\nmodel = "none"\n',
            encoding="utf-8",
        )
        (folder / "book.md").write_text(BOOK, encoding="utf-8")
        resources = await Resources.open(
            load(folder / "config.toml", migrated.folder(folder / "data"), environ={})
        )
        try:
            item = Item("book.md", str(folder / "book.md"))
            assert (await resources.intake.take("local", "rules", item, "k", replace=False)).key == ""
            yield Bench(resources, service, answers)
        finally:
            await resources.close()


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened(tmp_path) as bench:
        yield bench
