"""A provider of any wire between its loopback service and a ledger, for the shared tests of providers."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.budget import Budget, prompt_tokens
from bot.config import BudgetConfig, Config, ProviderConfig, Secrets
from bot.llm.base import Message, ModelError, Prompt, Provider, Tool, ToolResult
from bot.llm.completion import Completion, ToolCall, Usage
from bot.llm.deadlines import Timeouts
from bot.llm.registry import provider_of
from storage.ledger import Ledger, LedgerRow
from tests.fakes.model_service import ModelService
from tests.fakes.reply import Reply
from tests.fakes.run import MemoryRun
from tests.fakes.wires import Wire

KEY = "sk-very-secret-0123456789"
PROMPT = Prompt("Answer from the book.", (Message("user", "How far does a fireball reach?"),), max_tokens=50)
SEARCH = Tool(
    "search",
    "Finds passages of the book.",
    {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
        "additionalProperties": False,
    },
)
WITH_TOOLS = replace(PROMPT, tools=(SEARCH,))
both = pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
PATIENT = Timeouts(connect=10, first=20, idle=20, total=40)
QUICK = Timeouts(connect=5, first=1.5, idle=1.0, total=20)
"""For what has to time out: a busy machine is slower than that at times."""
BRIEF = Timeouts(connect=2, first=0.3, idle=0.3, total=0.9)
"""For a service that never answers: no machine is too slow for that."""


def asked(*calls: ToolCall, raw: str = "", text: str = "") -> tuple[Message, Message]:
    """A turn that calls tools, and the turn with their results."""
    results = tuple(ToolResult(call.id, "150 feet") for call in calls)
    return Message("assistant", text, calls=calls, raw=raw), Message("user", results=results)


def events(*said: object) -> Reply:
    """A stream of exactly these events, as JSON; a string is sent as it is."""
    lines = [text if isinstance(text, str) else f"data: {json.dumps(text)}\n\n" for text in said]
    return Reply(body="".join(lines), headers={"Content-Type": "text/event-stream"})


async def no_pause(seconds: float) -> None:
    """Replaces the pause between attempts."""


def provider(
    wire: Wire,
    base_url: str,
    key: str | None = None,
    *,
    timeouts: Timeouts = PATIENT,
    sleep: Callable[[float], Awaitable[None]] = no_pause,
) -> Provider:
    """The provider of this wire, called "here", as the config makes it."""
    settings = ProviderConfig("here", wire.kind, base_url, "THE_KEY" if key else None)
    config = Config(Path("data"), Path("models"), secrets=Secrets({"THE_KEY": key} if key else {}, {}))
    return provider_of(settings, config, timeouts=timeouts, sleep=sleep)


class Desk:
    """`waits` are the pauses that the provider would make."""

    def __init__(
        self, wire: Wire, service: ModelService, ledger: Ledger, key: str | None, timeouts: Timeouts
    ) -> None:
        self.service = service
        self.ledger = ledger
        self.waits: list[float] = []
        self.run = MemoryRun()
        self.provider = provider(wire, service.base_url, key, timeouts=timeouts, sleep=self._wait)

    async def _wait(self, seconds: float) -> None:
        self.waits.append(seconds)

    def pieces(
        self, prompt: Prompt = PROMPT, *, whole: bool = False, step: str = "answer"
    ) -> AsyncGenerator[str | Completion, None]:
        """The answer as a run gets it, through the ledger."""

        async def paid() -> AsyncGenerator[str | Completion, None]:
            budget, most = (
                Budget(self.ledger, BudgetConfig()),
                Usage(prompt_tokens(prompt), prompt.max_tokens),
            )
            async with (
                budget.spending(self.run.request, step, "here:small", most) as meter,
                aclosing(self.provider.stream("small", prompt, meter, whole=whole)) as pieces,
            ):
                async for piece in pieces:
                    meter.whole = isinstance(piece, Completion)
                    yield piece

        return self.run.stream(step, paid)

    async def ask(
        self, prompt: Prompt = PROMPT, *, whole: bool = False, step: str = "answer"
    ) -> tuple[list[str], Completion]:
        """The pieces of text, and the final Completion."""
        texts: list[str] = []
        last: Completion | None = None
        async with aclosing(self.pieces(prompt, whole=whole, step=step)) as pieces:
            async for piece in pieces:
                assert last is None, "nothing may come after the Completion"
                if isinstance(piece, Completion):
                    last = piece
                else:
                    texts.append(piece)
        assert last is not None
        return texts, last

    async def fail(self, prompt: Prompt = PROMPT, *, whole: bool = False, step: str = "answer") -> ModelError:
        """Ask, and return the error."""
        try:
            answer = await self.ask(prompt, whole=whole, step=step)
        except ModelError as error:
            return error
        raise AssertionError(f"answered {answer}")

    async def row(self) -> LedgerRow:
        """The only entry of the ledger."""
        (row,) = await self.ledger.entries("local", "run-1")
        return row

    async def paid(self) -> tuple[str, int, int, int, int]:
        """The only entry's state and tokens: input, output, cache reads, cache writes."""
        row = await self.row()
        tokens = (row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens)
        return row.state, *tokens


class Open:
    """Opens desks of one wire, and closes them after the test."""

    def __init__(self, wire: Wire, ledger: Ledger) -> None:
        self.wire = wire
        self._ledger = ledger
        self._desks: list[Desk] = []

    async def __call__(
        self, *replies: Reply, key: str | None = None, timeouts: Timeouts = PATIENT, **service: Any
    ) -> Desk:
        fake = await self.wire.service(list(replies), key=key, **service).__aenter__()
        self._desks.append(Desk(self.wire, fake, self._ledger, key, timeouts))
        return self._desks[-1]

    async def close(self) -> None:
        for desk in self._desks:
            await desk.provider.close()
            await desk.service.__aexit__()
