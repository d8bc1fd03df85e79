"""Which models play which role, and how a work asks them: durably, with every call in the ledger.

Knows which module talks to which kind of service, but no SDK: those are imported when a model is first asked.
"""

from __future__ import annotations

import asyncio
import copy
import importlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import fields, replace
from decimal import Decimal
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeVar

from bot import metrics, tracing, untrusted
from bot.budget import Budget, cached_messages, most_usage
from bot.config import model_spec
from bot.config.model_spec import model_of
from bot.events import Request, TransientError, UserError
from bot.llm import json_answers, prices
from bot.llm.base import THOUGHTS, Capabilities, ModelError, Prompt, Provider, without_images
from bot.llm.cache_times import CacheTimes
from bot.llm.completion import Completion, Usage
from bot.llm.faults import RESTS_S, RETRIED, Cooldowns
from bot.llm.prices import CacheWatch
from bot.work import Run

if TYPE_CHECKING:
    from bot.config import Config, ProviderConfig, RolesConfig
    from bot.llm.deadlines import Timeouts
    from storage.ledger import Ledger

T = TypeVar("T")

log = logging.getLogger(__name__)

_WIRES: Final = {
    "openai": ("bot.llm.openai_responses", "Responses"),
    "anthropic": ("bot.llm.anthropic_messages", "AnthropicMessages"),
    "openai-compatible": ("bot.llm.openai_chat", "ChatCompletions"),
}

READ_BY_PEOPLE: Final = ("answerer", "writer", "chair")
"""The roles whose answers people read."""


async def _no_instruction(request: Request) -> str:
    return ""


class Models:
    """The models of the config's roles. `timeouts` and `sleep` are passed to the providers, for tests."""

    def __init__(
        self,
        config: Config,
        ledger: Ledger,
        *,
        timeouts: Timeouts | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        instruction: Callable[[Request], Awaitable[str]] = _no_instruction,
        budget: Budget | None = None,
    ) -> None:
        """`instruction` returns a paragraph for the system prompts of answers that people in a place read, ""
        for none.
        """
        self._instruction = instruction
        self._config = config
        self._chains = _chains(config.roles)
        self.budget = budget or Budget(ledger, config.budget)
        self._timeouts = timeouts
        self._sleep = sleep
        self._providers: dict[str, Provider] = {}
        self._cooldowns = Cooldowns(clock)
        self._watch = CacheWatch(clock)
        self.cache_times = CacheTimes(clock)
        self.failing: dict[str, str] = {}
        """The fault of each provider whose last call failed for a reason that would fail any other question, too."""

    def with_roles(self, roles: Mapping[str, Sequence[str]]) -> Models:
        """A copy in which these models play the roles instead of the config's; it need not be closed."""
        if not roles:
            return self
        copied = copy.copy(self)
        replaced = {role: tuple(models) for role, models in roles.items()}
        copied._chains = _chains(replace(self._config.roles, **replaced))
        return copied

    def chain(self, role: str) -> Sequence[str]:
        """The role's models, in the order in which they are asked."""
        return self._chains[role]

    def describe(self, role: str) -> str | None:
        """The "provider:model" that is asked first for the role, or None."""
        chain = self._chains[role]
        return model_spec.parse(chain[0]).model if chain else None

    def capabilities(self, role: str) -> Capabilities | None:
        """What the role's first model can do; None if there is none, or if its provider is unknown (a call raises
        that).
        """
        model = self.describe(role)
        configured = model is not None and model.partition(":")[0] in self._config.providers
        return self.capabilities_of(role, model) if model is not None and configured else None

    async def price(self, role: str, model: str, usage: Usage) -> Decimal | None:
        """Dollars for `usage` of "provider:model"; None if the price is not known. Raises as `capabilities_of`."""
        return await prices.cost(self._settings(role, model), model_spec.parse(model).short, usage)

    async def window(self, role: str) -> int | None:
        """The context window of the role's first model in tokens, prompt and answer together; None if not known."""
        model = self.describe(role)
        if model is None:
            return None
        settings = self._settings(role, model)
        if settings.kind == "demo":
            from bot.llm.demo import CONTEXT

            return CONTEXT
        return await prices.window(settings, model_spec.parse(model).short)

    def capabilities_of(self, role: str, model: str) -> Capabilities:
        """What "provider:model" can do. Raises UserError ("config.role_provider") where its provider is unknown."""
        settings = self._settings(role, model)
        if settings.kind == "demo":
            from bot.llm.demo import CAPABILITIES

            return CAPABILITIES
        if (provider := self._providers.get(settings.name)) is not None:
            return provider.capabilities(model_spec.parse(model).short)  # and what it has learnt since
        return _capabilities(settings)

    def candidates(self, role: str, prompt: Prompt) -> Sequence[str]:
        """The models that `stream` asks, in the config's order. A work adapts to what the first one can do, so a model
        that can do less cannot replace it: a prompt that needs citations goes to no model that cannot cite.

        Raises UserError ("config.role_empty", "config.role_provider").
        """
        chain = self._chains[role]
        if not chain:
            raise TransientError("config.role_empty", role=role)
        first = self.capabilities_of(role, chain[0])
        candidates = []
        for model in chain:
            capabilities = self.capabilities_of(role, model)
            if (capabilities.cites or not first.cites) and (
                capabilities.tools or not (first.tools and prompt.tools)
            ):
                candidates.append(model)
        return candidates

    def stream(
        self, run: Run, role: str, step: str, prompt: Prompt, *, chain: Sequence[str] | None = None
    ) -> AsyncGenerator[str | Completion, None]:
        """Ask the role's models as the run's step `step`: text as it comes, then its Completion.

        If a model fails before it has shown anything, the next of the chain is asked. If all fail, raises the first
        model's ModelError or UserError ("model.key_missing", "model.demo_…"). Also raises UserError if the role has no
        model ("config.role_empty"), its provider is unknown ("config.role_provider"), or a cap on spending forbids the
        call ("budget.…").

        `chain` replaces the role's models, whatever each of them can do.
        """
        return run.stream(step, partial(self._ask_chain, run, role, step, prompt, streamed=True, chain=chain))

    async def ask(
        self,
        run: Run,
        role: str,
        step: str,
        prompt: Prompt,
        *,
        chain: Sequence[str] | None = None,
        within: float | None = None,
    ) -> Completion:
        """Ask as `stream` does, for the whole answer; `step` only names the call in the ledger.

        Not a step itself: call it inside a step, so that several calls at a time can each be one. After `within`
        seconds it raises ModelError("timeout"); what was received is billed.
        """
        first = (chain or self.candidates(role, prompt))[0]
        prompt = replace(prompt, min_timeout=within if prompt.min_timeout is None else prompt.min_timeout)
        try:
            async with asyncio.timeout(within):
                answer = await _last(self._ask_chain(run, role, step, prompt, streamed=False, chain=chain))
        except TimeoutError:
            raise ModelError("timeout", model_of(first), "no answer in time") from None
        return answer

    async def json(self, run: Run, role: str, step: str, prompt: Prompt, of: type[T]) -> T:
        """Ask for an `of`, a frozen dataclass; the answer is not shown while it comes.

        If it cannot be read, the model is asked once more as step "{step}-repair". Raises as `stream` does; also
        ModelError("format") if neither answer can be read, and ModelError("refusal").
        """
        prompt = replace(prompt, schema=json_answers.schema_of(of))
        answer = await self._whole(run, role, step, prompt)
        try:
            return json_answers.read(answer.text, of)
        except json_answers.UnreadableError as error:
            if answer.finish == "refusal":
                raise ModelError("refusal", answer.model) from None
            log.info("%s: %s wrote no usable JSON (%s)", step, answer.model, error.reason)
            repair_prompt = json_answers.repaired(prompt, answer.text, error)
        answer = await self._whole(run, role, f"{step}-repair", repair_prompt)
        try:
            return json_answers.read(answer.text, of)
        except json_answers.UnreadableError as error:
            if answer.finish == "refusal":
                raise ModelError("refusal", answer.model) from None
            raise ModelError("format", answer.model, error.reason) from None

    async def close(self) -> None:
        """Close the providers that were opened."""
        while self._providers:
            _, provider = self._providers.popitem()
            await provider.close()

    def _settings(self, role: str, model: str) -> ProviderConfig:
        name = model.partition(":")[0]
        settings = self._config.providers.get(name)
        if settings is None:
            provider_names = ", ".join(sorted(self._config.providers))
            raise TransientError("config.role_provider", role=role, provider=name, known=provider_names)
        return settings

    def _opened(self, settings: ProviderConfig) -> Provider:
        provider = provider_of(settings, self._config, timeouts=self._timeouts, sleep=self._sleep)
        self._providers[settings.name] = provider
        return provider

    async def prepare(self, role: str) -> None:
        """Prepare the role's first model for its first call, without asking it. Raises UserError."""
        from bot.llm.service import Service

        if (model := self.describe(role)) is not None:
            settings = self._settings(role, model)
            provider = self._providers.get(settings.name) or self._opened(settings)
            if isinstance(provider, Service):
                await provider.prepare()

    async def _whole(self, run: Run, role: str, step: str, prompt: Prompt) -> Completion:
        return await _last(
            run.stream(step, partial(self._ask_chain, run, role, step, prompt, streamed=False))
        )

    async def _ask_chain(
        self,
        run: Run,
        role: str,
        step: str,
        prompt: Prompt,
        *,
        streamed: bool,
        chain: Sequence[str] | None = None,
    ) -> AsyncGenerator[str | Completion, None]:
        """Ask one model after another until one answers; `streamed` passes its text on as it arrives."""
        chain = chain or self.candidates(role, prompt)
        if (
            role in READ_BY_PEOPLE
            and prompt.schema is None
            and (instruction := await self._instruction(run.request))
        ):
            prompt = replace(prompt, system=f"{prompt.system.rstrip()}\n\n{instruction}")
        order, passed = (chain, {}) if len(chain) == 1 else self._ordered(chain, prompt)
        failed: dict[str, UserError] = {}
        for attempt, model in enumerate(order, 1):
            key = step if attempt == 1 else f"{step}-{attempt}"
            started = answered = False
            try:
                async with aclosing(self._ask_model(run, role, key, model, prompt)) as pieces:
                    async for piece in pieces:
                        if isinstance(piece, Completion):
                            answered = True
                            if passed:
                                before = {*failed, *chain[: chain.index(model)]}
                                over = [(model_of(m), fault) for m, fault in passed.items() if m in before]
                                piece = replace(piece, passed_over=tuple(over))
                            yield piece
                        elif streamed:
                            started = True
                            yield piece
            except UserError as error:
                # A given chain may name a provider that the config no longer has.
                self._count(role, model, error)
                if started or not error.key.startswith(("model.", "config.role_provider")):
                    raise
                failed[model] = error
                passed[model] = self._cooldowns.start(model, error)
                log.warning("%s of %s: %s failed: %s", step, run.id, model, error)
            if answered:
                self._cooldowns.pop(model, None)
                self.failing.pop(model.partition(":")[0], None)
                return
        raise failed[chain[0]]

    def _ordered(self, chain: Sequence[str], prompt: Prompt) -> tuple[Sequence[str], dict[str, str]]:
        """The models in the order in which they are asked, and why those that are paused come later."""
        passed = self._cooldowns.active(chain)
        # The model that began a tool loop continues it: only that model can read its own blocks.
        authors = {message.raw.partition("\n")[0] for message in prompt.messages if message.raw}
        order = sorted(chain, key=lambda model: (model not in authors, model in passed))
        passed.pop(order[0], None)
        return order, passed

    def _count(self, role: str, model: str, error: UserError) -> None:
        group, _, fault = error.key.partition(".")
        if group == "model":
            provider = model.partition(":")[0]
            metrics.MODEL_ERRORS.add(role, provider, fault)
            if fault in RETRIED or fault in RESTS_S:
                self.failing[provider] = fault

    async def _ask_model(
        self, run: Run, role: str, key: str, model: str, prompt: Prompt
    ) -> AsyncGenerator[str | Completion, None]:
        """Ask one model, with a ledger entry of its own."""
        settings = self._settings(role, model)
        provider = self._providers.get(settings.name) or self._opened(settings)
        spec = model_spec.parse(model)
        short = spec.short
        unseen = not self.capabilities_of(role, model).sees and bool(prompt.images)
        member_prompt = without_images(prompt) if unseen else prompt
        if model != spec.model or any(map(attrgetter("raw"), prompt.messages)):
            member_prompt = _for_member(member_prompt, model, spec)
        if settings.kind == "anthropic" and cached_messages(member_prompt) is not None:
            hour = self.cache_times.hour(role, model, run.request.place)
            member_prompt = replace(member_prompt, cache_hour=hour)
        most = await asyncio.to_thread(most_usage, member_prompt)
        price = partial(prices.cost, settings, short)
        async with self.budget.spending(run.request, key, spec.model, most, price) as meter:
            answer = provider.stream(short, member_prompt, meter)
            if tracing.current.get().span.is_recording():
                answer = tracing.chat(answer, role, settings, short, member_prompt, meter)
            async with aclosing(answer) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Completion):
                        meter.whole = True
                        if most.cache_write_tokens:  # some of the prompt is marked for the cache
                            self._watch.note(spec.model, settings.kind, member_prompt, piece.usage)
                        owned_raw = f"{model}\n{piece.raw}" if piece.raw or piece.calls else ""
                        yield replace(piece, raw=owned_raw, unseen=unseen or piece.unseen)
                    else:
                        yield piece


async def _last(pieces_of_answer: AsyncGenerator[str | Completion, None]) -> Completion:
    answer: Completion | None = None
    async with aclosing(pieces_of_answer) as pieces:
        async for piece in pieces:
            if isinstance(piece, Completion):
                answer = piece
    assert answer is not None, "a stream ends with its Completion, or raises"
    return answer


def _for_member(prompt: Prompt, model: str, spec: model_spec.ModelSpec) -> Prompt:
    """The prompt with the settings of the role's model; settings that it leaves open stay unchanged.

    Raw blocks that this model wrote are kept, those of other models left out: see Completion.raw.
    """
    system, effort = prompt.system, spec.effort or prompt.effort
    if spec.persona and prompt.schema is None:
        system = f"{system}\nWrite as {untrusted.data(spec.persona)}.".strip()
    messages = []
    for message in prompt.messages:
        owner, _, blocks = message.raw.partition("\n")
        messages.append(replace(message, raw=blocks if owner == model else "") if message.raw else message)
    return replace(
        prompt,
        system=system,
        messages=tuple(messages),
        temperature=prompt.temperature if spec.temperature is None else spec.temperature,
        effort=effort,
        sampling=spec.sampling or None,
        # A model set to think harder than the task was planned for gets more room for it.
        max_tokens=spec.tokens or prompt.max_tokens + max(0, THOUGHTS[effort] - THOUGHTS[prompt.effort]),
        min_timeout=spec.timeout or prompt.min_timeout,
    )


def _chains(roles: RolesConfig) -> dict[str, Sequence[str]]:
    return {role.name: roles.chain(role.name) for role in fields(roles)}


def _capabilities(settings: ProviderConfig) -> Capabilities:
    return Capabilities(settings.tools, settings.json_schema, settings.cites, sees=settings.sees)


def provider_of(
    settings: ProviderConfig,
    config: Config,
    *,
    timeouts: Timeouts | None,
    sleep: Callable[[float], Awaitable[None]],
) -> Provider:
    """Make the provider without opening a connection. Raises UserError ("model.key_missing") if its key is not set."""
    if settings.kind == "demo":
        from bot.llm.demo import Demo

        return Demo(config.models_dir, name=settings.name)
    key = config.key(settings)
    module, wire = _WIRES[settings.kind]
    provider: Provider = getattr(importlib.import_module(module), wire)(
        settings.base_url,
        key,
        name=settings.name,
        timeouts=timeouts,
        sleep=sleep,
        capabilities=_capabilities(settings),
        headers=settings.headers,
        secret_headers=config.secret_headers(settings),
        query=settings.query,
        body=settings.body,
    )
    return provider
