"""The ledger's hook: every paid call sets an estimate aside first, then settles what it used.

Knows no provider and, as yet, no prices: costs are None. Caps per space and user build on this.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from bot.events import Completion, Run
from bot.llm.base import Meter, Prompt

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
    texts: Sequence[str] = [prompt.system, *(message.text for message in prompt.messages)]
    return sum(text_tokens(text) + MESSAGE_TOKENS for text in texts if text)


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
    ) -> AsyncGenerator[str | Completion, None]:
        """Pass on what `call` yields between a reservation and its settlement.

        Settles as "settled" (whole), "stopped" (closed or cancelled) or "failed", each with the
        tokens the meter shows. A process that dies here leaves the reservation, which counts as spent.
        """
        space = run.request.place.space
        entry = await self._ledger.reserve(
            space, run.id, step, run.request.author.id, model, prompt_tokens(prompt) + prompt.max_tokens, None
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
            await self._settle(space, entry, meter, state)

    async def _settle(self, space: str, entry: str, meter: Meter, state: Settled) -> None:
        usage = meter.usage
        writing = asyncio.ensure_future(
            self._ledger.settle(
                space,
                entry,
                input_tokens=usage.input_tokens,
                output_tokens=usage.output_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                cost_usd=None,
                state=state,
            )
        )
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await writing  # a second cancel must not lose what was spent
            raise
