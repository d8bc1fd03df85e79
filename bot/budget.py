"""The budget of paid calls: each call reserves an estimate within the caps, and afterwards settles what it has used.

Knows no provider and no prices: the caller says what tokens cost.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from bot import metrics
from bot.events import Request, TransientError, UserError
from bot.llm.base import Message, Meter, Prompt
from bot.llm.completion import Usage
from bot.settings import BUDGETS
from storage.faults import StorageFault
from storage.ledger import Allowance, Caps, OverCap, UsedSoFar
from storage.patience import patiently

if TYPE_CHECKING:
    from bot.config import BudgetConfig
    from bot.settings import Settings
    from bot.words import Words
    from storage.ledger import Ledger, Settled

Price: TypeAlias = Callable[[Usage], Awaitable[Decimal | None]]
"""Gives the dollars of a usage; None if they are not known."""

_WEIGHTS = (
    (0.27, r"A-Za-z"),
    (0.15, r"\s"),
    (0.6, r"0-9"),
    (0.75, r"!-/:-@\[-`{-~"),
    (0.6, r"\u00a1-\u024f\u1e00-\u1eff\u2010-\u205e"),
    (0.5, r"\u0370-\u052f"),
    (0.4, r"\u0590-\u08ff\u0900-\u0dff"),
    (0.65, r"\u0e00-\u10ff\u1100-\u11ff\u1780-\u17ff\uac00-\ud7af"),
    (0.7, r"\u3040-\u30ff"),
    (0.85, r"\u3000-\u303f\u3400-\u9fff\uf900-\ufaff\uff00-\uffef"),
)
"""Tokens per character, by script: Latin letters, blanks, digits, marks, other Latin letters; Greek and Cyrillic;
Arabic, Hebrew and the scripts of India; Thai and Korean; kana; Chinese. Fitted to the counts that OpenAI gives for one
sentence in many languages ("Hello GPT-4o", 2024, "Language tokenization"), slightly higher, because other services
count more."""
_OTHER = 2.0
"""Tokens per emoji or other rare character."""
_SCRIPTS = tuple((weight, re.compile(f"[{letters}]+")) for weight, letters in _WEIGHTS)
_ASCII = tuple(
    (weight, "".join(script.findall("".join(map(chr, range(128))))).encode())
    for weight, script in _SCRIPTS[:4]
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")

MESSAGE_TOKENS = 4
"""What the chat format adds to each message, after OpenAI's counting guide (3 and a role)."""


def text_tokens(text: str) -> int:
    """About how many tokens `text` has; 0 only for an empty text. No service is asked, which would need a
    second call.
    """
    return math.ceil(estimated_tokens(text))


def estimated_tokens(text: str) -> float:
    """About how many tokens `text` has, unrounded, so that the estimates of a text's pieces can be added up."""
    # Most of a text is ASCII, where bytes.translate removes letters a hundred times as fast as a pattern.
    tokens, ascii_left = 0.0, text.encode("ascii", "ignore")
    for weight, letters in _ASCII:
        unread, ascii_left = len(ascii_left), ascii_left.translate(None, letters)
        tokens += weight * (unread - len(ascii_left))
    tokens += _OTHER * len(ascii_left)
    if text.isascii():
        return tokens
    text = "".join(_NOT_ASCII.findall(text))
    uncounted = len(text)
    for weight, script in _SCRIPTS:
        if not uncounted:
            break
        unread = sum(map(len, script.findall(text)))
        tokens += weight * unread
        uncounted -= unread
    return tokens + _OTHER * uncounted


def prompt_tokens(prompt: Prompt) -> int:
    """About how many input tokens the service counts for `prompt`."""
    tokens = _message_tokens(prompt.messages)
    if prompt.system:
        tokens += text_tokens(prompt.system) + MESSAGE_TOKENS
    for tool in prompt.tools:
        tokens += text_tokens(json.dumps([tool.name, tool.description, dict(tool.parameters)]))
    return tokens + (text_tokens(json.dumps(prompt.schema)) if prompt.schema is not None else 0)


def _message_tokens(messages: Sequence[Message]) -> int:
    tokens = 0
    for message in messages:
        parts = [message.text]
        for call in message.calls:
            parts += (call.name, call.arguments)
        for result in message.results:
            parts.append(result.text)
        if text := "".join(parts):
            tokens += text_tokens(text) + MESSAGE_TOKENS
        for image in message.images:
            tokens += image.tokens
    return tokens


def cached_messages(prompt: Prompt) -> int | None:
    """How many messages belong to the part marked for the cache; None if nothing is marked."""
    marked = [n for n, message in enumerate(prompt.messages, 1) if message.cache]
    return max(marked, default=0 if prompt.cache else None)


def most_usage(prompt: Prompt) -> Usage:
    """About the most that a call may use. Parts marked for the cache may have to be written to it, at a higher
    price.
    """
    if (last := cached_messages(prompt)) is None:
        return Usage(prompt_tokens(prompt), prompt.max_tokens)
    written = prompt_tokens(replace(prompt, messages=prompt.messages[:last]))
    read = _message_tokens(prompt.messages[last:])
    hour = written if prompt.cache_hour else 0
    return Usage(read, prompt.max_tokens, cache_write_tokens=written, cache_hour_tokens=hour)


def dollars(amount: Decimal) -> str:
    """Dollars with two decimals; below ten cents with four."""
    return f"{amount:.2f}" if amount >= Decimal("0.1") or not amount else f"{amount:.4f}"


def amount_in(amount: Decimal, unit: str, say: Words) -> str:
    """An amount of dollars or tokens as people write it."""
    return say("council.usd", n=dollars(amount)) if unit == "usd" else f"{int(amount)} tokens"


async def unknown(usage: Usage) -> Decimal | None:
    """The price function of a model whose price is not known."""
    return None


def _tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens + usage.cache_read_tokens + usage.cache_write_tokens


@dataclass(slots=True)
class _OpenCall:
    """A call in progress. `noted` is the usage that the ledger has so far."""

    space: str
    meter: Meter
    price: Price
    noted: Usage = field(default_factory=Usage)


async def _no_allowances(request: Request) -> Sequence[Allowance]:
    return ()


def refused_by(allowance: Allowance, spent: Decimal) -> UserError:
    """The message for people if too little is left of a budget that admins have set."""
    unit = "tokens" if allowance.usd is None else "usd"
    cap = Decimal(allowance.tokens or 0) if allowance.usd is None else allowance.usd
    return TransientError(
        f"budget.over_{allowance.kind}",
        spent=partial(amount_in, spent, unit),
        cap=partial(amount_in, cap, unit),
    )


class Budget:
    """Enters paid calls in the ledger, within the caps of `config` and the `allowances` of a request."""

    def __init__(
        self,
        ledger: Ledger,
        config: BudgetConfig,
        *,
        note_s: float = 1.0,
        settings: Settings | None = None,
        allowances: Callable[[Request], Awaitable[Sequence[Allowance]]] = _no_allowances,
    ) -> None:
        """With `settings`, `allowances` are asked for only in spaces that have budgets there."""
        self._ledger = ledger
        self._allowances = allowances
        self._settings = settings
        self._config = config
        self._note_s = note_s
        self._open: dict[str, _OpenCall] = {}
        """The calls in progress, by their entry."""
        self._timer: asyncio.TimerHandle | None = None
        self._noting: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def spending(
        self, request: Request, step: str, model: str, most: Usage, price: Price = unknown
    ) -> AsyncGenerator[Meter, None]:
        """A context for a call that may use as much as `most`; the call updates the meter.

        Settles as "settled" (complete), "stopped" (closed or cancelled) or "failed", with the tokens in the meter and
        the dollars that `price` returns for them. The meter is stored every `note_s` seconds, so that a call whose
        process dies can be settled with it: see `Ledger.settle_killed`. Raises UserError ("budget.run", "budget.space",
        "budget.run_tokens", "budget.space_tokens", "budget.over_…") instead if the call could use more than is left.
        """
        entry = await self._reserve(request, step, model, most, price)
        meter = Meter(again=partial(self._reserve_again, request, entry, most, price))
        state: Settled = "failed"
        self._open[entry] = _OpenCall(request.place.space, meter, price)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._note_s, self._note_now)
        try:
            yield meter
            state = "settled"
        except (GeneratorExit, asyncio.CancelledError):
            state = "stopped"
            raise
        finally:
            del self._open[entry]
            if not self._open and self._timer is not None:
                self._timer.cancel()
                self._timer = None
            await self._settle(
                request.place.space, entry, meter.usage, price, "settled" if meter.whole else state, model
            )

    def _note_now(self) -> None:
        if self._noting is None or self._noting.done():  # a slow database is not asked twice at once
            self._noting = asyncio.create_task(self.note())
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._note_s, self._note_now) if self._open else None

    async def note(self) -> None:
        """Note in the ledger what the calls in progress have used so far."""
        changed = [
            (entry, call, call.meter.usage)
            for entry, call in self._open.items()
            if call.meter.usage != call.noted
        ]
        for _, call, usage in changed:
            call.noted = usage
        # All at once, because each price is computed in a thread, and on a busy event loop that takes a second.
        costs = await asyncio.gather(*(call.price(usage) for _, call, usage in changed))
        calls = [
            UsedSoFar(
                call.space,
                entry,
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_tokens,
                usage.cache_write_tokens,
                cost,
            )
            for (entry, call, usage), cost in zip(changed, costs, strict=True)
        ]
        if calls:
            # Usage that is not noted now is noted next time.
            with suppress(StorageFault):
                await self._ledger.progress(calls)

    async def _reserve(self, request: Request, step: str, model: str, most: Usage, price: Price) -> str:
        space = request.place.space
        most_usd, input_usd, caps = await asyncio.gather(
            price(most), price(replace(most, output_tokens=0)), self._caps(request)
        )
        reserving = asyncio.ensure_future(
            self._ledger.reserve(
                space,
                request.id,
                step,
                request.author.id,
                model,
                _tokens(most),
                most_usd,
                caps=caps,
                input_tokens=most.input_tokens,
                cache_write_tokens=most.cache_write_tokens,
                input_usd=input_usd,
                channel=(request.asked_in or request.place).channel,
            )
        )
        try:
            return await asyncio.shield(reserving)
        except asyncio.CancelledError:
            # A call that will not be made must not count against the caps.
            with suppress(OverCap, StorageFault):
                await self._settle(space, await reserving, Usage(), price, "stopped")
            raise
        except OverCap as over:
            raise self._refused(over) from None

    async def _reserve_again(self, request: Request, entry: str, most: Usage, price: Price) -> None:
        """Reserve an estimate once more, for a call that is repeated. Raises UserError ("budget.…")."""
        space = request.place.space
        try:
            await self._ledger.reserve_again(
                space, request.id, entry, _tokens(most), await price(most), await self._caps(request)
            )
        except OverCap as over:
            raise self._refused(over) from None

    async def _caps(self, request: Request) -> Caps:
        config, settings = self._config, self._settings
        limited = settings is None or await settings.of_space(request.place.space, BUDGETS)
        return Caps(
            Decimal(str(config.run_usd)),
            None if config.space_usd is None else Decimal(str(config.space_usd)),
            datetime.now(UTC) - timedelta(days=config.space_days),
            config.run_tokens,
            config.space_tokens,
            await self._allowances(request) if limited else (),
        )

    def _refused(self, over: OverCap) -> UserError:
        if over.allowance is not None:
            return refused_by(over.allowance, over.spent)
        amount = str if over.kind.endswith("tokens") else dollars
        return TransientError(
            f"budget.{over.kind}",
            cap=amount(over.cap),
            spent=amount(over.spent),
            days=self._config.space_days,
        )

    async def _settle(
        self, space: str, entry: str, usage: Usage, price: Price, state: Settled, model: str = ""
    ) -> None:
        async def settle() -> None:
            cost = await price(usage)
            if model:
                provider = model.partition(":")[0]
                for kind in ("input", "output", "cache_read", "cache_write"):
                    if tokens := getattr(usage, f"{kind}_tokens"):
                        metrics.TOKENS.add(provider, kind, by=tokens)
                if cost:
                    metrics.DOLLARS.add(provider, by=float(cost))
            settled = partial(
                self._ledger.settle,
                space,
                entry,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                cost_usd=cost,
                state=state,
            )
            await patiently(settled)

        writing = asyncio.ensure_future(settle())
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing  # a second cancellation must not lose what was spent
            raise
