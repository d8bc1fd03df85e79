"""Which model plays which role, and the way a work asks it: durably and with the ledger around it.

Knows no SDK: providers are made when first asked, each in its own file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING

from bot.budget import Budget
from bot.events import Completion, Run, Sorry
from bot.llm.base import Meter, Prompt, Provider

if TYPE_CHECKING:
    from bot.config import Config
    from bot.llm.openai_chat import Timeouts
    from storage.ledger import Ledger

OPENAI_URL = "https://api.openai.com/v1"


class Models:
    """The config's roles, resolved. `timeouts` and `sleep` go on to the providers, for tests."""

    def __init__(
        self,
        config: Config,
        ledger: Ledger,
        *,
        timeouts: Timeouts | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._config = config
        self._budget = Budget(ledger)
        self._timeouts = timeouts
        self._sleep = sleep
        self._providers: dict[str, Provider] = {}

    def available(self, role: str) -> bool:
        """Whether the config gives this role to a model (not whether its service is up)."""
        return self.describe(role) is not None

    def describe(self, role: str) -> str | None:
        """ "provider:model" of the role, or None."""
        model: str | None = getattr(self._config.roles, role)
        return model

    def stream(
        self, run: Run, role: str, step: str, prompt: Prompt
    ) -> AsyncGenerator[str | Completion, None]:
        """Ask the role's model as the run's step `step`: text as it comes, then its Completion.

        Raises ModelError; Sorry where the config names no usable provider ("config.role_provider",
        "config.role_later", "model.key_missing") or the role has no model ("config.role_empty").
        """
        named = self.describe(role)
        if named is None:
            raise Sorry("config.role_empty", role=role)
        name, _, model = named.partition(":")
        provider = self._provider(role, name)

        def ask(meter: Meter) -> AsyncGenerator[str | Completion, None]:
            return provider.stream(model, prompt, meter)

        return run.stream(step, lambda: self._budget.paid(run, step, named, prompt, ask))

    async def close(self) -> None:
        """Close what was opened."""
        while self._providers:
            _, provider = self._providers.popitem()
            await provider.close()

    def _provider(self, role: str, name: str) -> Provider:
        if name in self._providers:
            return self._providers[name]
        settings = self._config.providers.get(name)
        if settings is None:
            known = ", ".join(sorted(self._config.providers))
            raise Sorry("config.role_provider", role=role, provider=name, known=known)
        if settings.kind == "anthropic":
            raise Sorry("config.role_later", role=role, provider=name)
        key = self._config.secret(settings.api_key_env) if settings.api_key_env else None
        if settings.api_key_env and key is None:
            raise Sorry("model.key_missing", provider=name, variable=settings.api_key_env)
        from bot.llm.openai_chat import ChatCompletions

        provider = ChatCompletions(
            settings.base_url or OPENAI_URL,
            key,
            name=name,
            newest=settings.kind == "openai",
            timeouts=self._timeouts,
            sleep=self._sleep,
        )
        self._providers[name] = provider
        return provider
