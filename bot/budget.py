"""The ledger's hook: every paid call sets an estimate aside first, then settles what it used.

Knows no provider and no prices: whoever calls says what tokens cost. Caps per space and user build on this.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.events import Completion, Run, Usage
from bot.llm.base import Message, Meter, Prompt

if TYPE_CHECKING:
    from storage.ledger import Ledger, Settled

BYTES_PER_TOKEN = 4
"""English and Portuguese text runs at about four UTF-8 bytes a token in current vocabularies."""

MESSAGE_TOKENS = 4
"""What the chat format adds to each message, as OpenAI's counting guide has it (3 and a role)."""


def text_tokens(text: str) -> int:
    """About how many tokens `text` is: 0 only for no text at all."""
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES_PER_TOKEN)


def prompt_tokens(prompt: Prompt) -> int:
    """About how many tokens the service reads for `prompt`."""
    texts = [prompt.system, *(_text(message) for message in prompt.messages)]
    extra = [json.dumps([tool.name, tool.description, dict(tool.parameters)]) for tool in prompt.tools]
    if prompt.schema is not None:
        extra.append(json.dumps(prompt.schema))
    return sum(text_tokens(text) + MESSAGE_TOKENS for text in texts if text) + sum(map(text_tokens, extra))


def _text(message: Message) -> str:
    calls = [call.name + call.arguments for call in message.calls]
    return "".join([message.text, *calls, *(result.text for result in message.results)])


async def unknown(usage: Usage) -> Decimal | None:
    """The price of a model of which none is known."""
    return None


class Budget:
    """Puts the ledger around paid calls."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def paid(
        self,
        run: Run,
        step: str,
        model: str,
        prompt: Prompt,
        call: Callable[[Meter], AsyncGenerator[str | Completion, None]],
        price: Callable[[Usage], Awaitable[Decimal | None]] = unknown,
    ) -> AsyncGenerator[str | Completion, None]:
        """Pass on what `call` yields between a reservation and its settlement.

        Settles as "settled" (whole), "stopped" (closed or cancelled) or "failed", each with the
        tokens the meter shows, and the dollars that `price` gives for them. A process that dies here
        leaves the reservation, which counts as spent.
        """
        space = run.request.place.space
        most = Usage(prompt_tokens(prompt), prompt.max_tokens)
        entry = await self._ledger.reserve(
            space,
            run.id,
            step,
            run.request.author.id,
            model,
            most.input_tokens + most.output_tokens,
            await price(most),
        )
        meter = Meter()
        state: Settled = "failed"
        try:
            async with aclosing(call(meter)) as source:
                async for piece in source:
                    if isinstance(piece, Completion):
                        state = "settled"
                    yield piece
        except (GeneratorExit, asyncio.CancelledError):
            state = "settled" if state == "settled" else "stopped"
            raise
        finally:
            await self._settle(space, entry, meter.usage, price, state)

    async def _settle(
        self,
        space: str,
        entry: str,
        usage: Usage,
        price: Callable[[Usage], Awaitable[Decimal | None]],
        state: Settled,
    ) -> None:
        async def settle() -> None:
            await self._ledger.settle(
                space,
                entry,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                cost_usd=await price(usage),
                state=state,
            )

        writing = asyncio.ensure_future(settle())
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing  # a second cancel must not lose what was spent
            raise
