"""Models of several services, each with its own provider, for the tests of roles and budgets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bot.config import Config, ProviderConfig, RolesConfig, Secrets
from bot.llm.base import Prompt
from bot.llm.completion import Completion
from bot.llm.deadlines import Timeouts
from bot.llm.registry import Models
from storage.ledger import Ledger, LedgerRow
from tests.fakes.model_service import ModelService
from tests.fakes.reply import Reply, Script
from tests.fakes.run import MemoryRun
from tests.fakes.wires import WIRES, kind_of
from tests.llm.desk import PATIENT, PROMPT


def good() -> Reply:
    return Reply("It reaches far.")


def busy() -> Reply:
    return Reply(status=429, headers={"retry-after": "90"})


@dataclass
class Table:
    """`models` makes the calls; each service is a separate provider, named by a letter."""

    config: Config
    ledger: Ledger
    services: list[ModelService]
    timeouts: Timeouts = PATIENT
    now: float = 0.0
    opened: list[Models] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.run = MemoryRun()
        self.change()

    def change(self, **changes: Any) -> None:
        """Rebuild the models with another config."""

        async def no_wait(seconds: float) -> None:
            await asyncio.sleep(0)

        self.config = replace(self.config, **changes)
        self.models = Models(
            self.config, self.ledger, timeouts=self.timeouts, sleep=no_wait, clock=lambda: self.now
        )
        self.opened.append(self.models)

    async def ask(self, step: str = "answer", prompt: Prompt = PROMPT) -> tuple[str, Completion]:
        """The text that was shown, and the final Completion."""
        text, last = "", None
        async with aclosing(self.models.stream(self.run, "answerer", step, prompt)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Completion):
                    last = piece
                else:
                    text += piece
        assert last is not None
        return text, last

    async def rows(self) -> list[LedgerRow]:
        return await self.ledger.entries("local", "run-1")

    @property
    def calls(self) -> list[int]:
        return [service.calls for service in self.services]


class Lay:
    """`await lay([Reply…], [Reply…], wires=("chat", "messages"))`: a chain of as many models."""

    def __init__(self, ledger: Ledger, stack: AsyncExitStack) -> None:
        self._ledger = ledger
        self._stack = stack
        self.laid: list[Table] = []

    async def __call__(
        self,
        *scripts: Script,
        wires: tuple[str, ...] = (),
        key: str | None = None,
        timeouts: Timeouts = PATIENT,
        **settings: Any,
    ) -> Table:
        """`settings` apply to every service, by name."""
        services: list[ModelService] = []
        providers, secrets = {}, {}
        for n, script in enumerate(scripts):
            wire = WIRES[wires[n] if wires else "chat"]
            models = {"models": ("small", "claude-haiku-5-5")} | settings
            service = wire.service(script, key=key, **models)
            services.append(await self._stack.enter_async_context(service))
            name = "abc"[n]
            providers[name] = ProviderConfig(name, kind_of(service), service.base_url, f"KEY_{name}")
            secrets[f"KEY_{name}"] = f"sk-{name}-0123456789"
        config = Config(
            Path("data"),
            Path("models"),
            providers=providers,
            roles=RolesConfig(answerer=tuple(f"{name}:small" for name in providers)),
            secrets=Secrets(secrets, {}),
        )
        self.laid.append(Table(config, self._ledger, services, timeouts))
        return self.laid[-1]


Set = Callable[..., Awaitable[Table]]

Seat = Callable[..., Awaitable[Table]]
"""The same, with the services of one kind."""
