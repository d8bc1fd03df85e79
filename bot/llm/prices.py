"""What a model call costs in dollars, and whether the service's cache makes it as cheap as it was meant to be.

Prices are those of the table that comes along with `genai-prices`. Asks nobody: the table is as old as the installed
package. Knows no ledger. Decimal dollars; None where the table does not know the model.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.llm.base import Prompt, Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

    from bot.config import ProviderConfig

log = logging.getLogger(__name__)

FREE = Decimal(0)

KEPT_S = 300.0
"""How long services keep a prefix that nobody asks for again (all of them, at the least)."""

REMEMBERED = 500
"""The most prefixes remembered."""

AGAIN_S = 3_600.0
"""Seconds between two warnings about one model."""


async def cost(provider: ProviderConfig, model: str, usage: Usage) -> Decimal | None:
    """Dollars for `usage`: what the service says it took, which is more than any table knows; else by the table.

    In a thread: reading the table the first time takes a quarter of a second.
    """
    if usage.cost_usd is not None:
        return Decimal(str(usage.cost_usd))
    if provider.kind == "demo":
        return FREE
    calculation = await asyncio.to_thread(_calculation, provider, model, usage)
    return None if calculation is None else calculation.total_price


async def window(provider: ProviderConfig, model: str) -> int | None:
    """How many tokens the model takes, prompt and answer together; None where the table does not know it."""
    if provider.kind == "demo":
        return None
    calculation = await asyncio.to_thread(_calculation, provider, model, Usage())
    return None if calculation is None else calculation.model.context_window


def _calculation(provider: ProviderConfig, model: str, usage: Usage) -> PriceCalculation | None:
    """What the table says of the model, and of the price of `usage`; None where it does not know the model."""
    from genai_prices import Usage as Priced
    from genai_prices import calc_price

    priced_usage = Priced(
        # There, as in no other place of ours, the input includes what was read from and written to the cache.
        input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cache_write_1h_tokens=usage.cache_hour_tokens,
        output_tokens=usage.output_tokens,
    )
    # Where the table is to look for the model, in order.
    places: list[dict[str, str]] = []
    if provider.base_url is not None:
        places.append({"provider_api_url": provider.base_url})
    if provider.kind != "openai-compatible":
        # At another address it is a proxy in front of the service whose interface it has.
        places.append({"provider_id": provider.kind})
    for place in places:
        try:
            return calc_price(priced_usage, model, **place)  # type: ignore[call-overload, no-any-return]
        except (LookupError, ValueError):
            continue
    return None


class CacheWatch:
    """Watches whether a prefix that was marked for the service's cache is ever cached; warns once an hour per model.

    Services say nothing when a prefix is too short for them, or changes a little with every call: the only sign
    is a bill ten times as high. Knows only what was marked, and the tokens that came back. One process's memory of it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent_at: OrderedDict[tuple[str, str], float] = OrderedDict()
        """When a prefix was last sent; infinite once it was warned of, or was cached."""
        self._warned: dict[str, float] = {}
        """When a model was last warned of: a story marks another prefix with every turn."""

    def note(self, model: str, kind: str, prompt: Prompt, usage: Usage) -> bool:
        """Take in a finished call; True when the prefix it marked is not being cached."""
        last_marked = prompt.marked
        if usage.estimated or last_marked is None:
            return False
        key = (model, _prefix(prompt, last_marked))
        last = self._sent_at.pop(key, None)
        now = self._clock()
        cached = usage.cache_read_tokens > 0 or usage.cache_write_tokens > 0
        # Anthropic tells of the first call already that it kept nothing; the others only tell of reads.
        due = kind == "anthropic" or (last is not None and now - last < KEPT_S)
        never_again = last == float("inf")
        warned = due and not cached and not never_again
        self._sent_at[key] = float("inf") if cached or warned or never_again else now
        while len(self._sent_at) > REMEMBERED:
            self._sent_at.popitem(last=False)
        if warned and now - self._warned.get(model, float("-inf")) >= AGAIN_S:
            self._warned[model] = now
            log.warning(
                "%s did not cache the prefix that was marked for it: it is shorter than that model's least, or "
                "the service has no cache. Every call pays for it in full.",
                model,
            )
        return warned


def _prefix(prompt: Prompt, last: int) -> str:
    """A name for the part of the prompt up to its message number `last`."""
    parts: list[object] = [prompt.system]
    parts += [(tool.name, tool.description, dict(tool.parameters)) for tool in prompt.tools]
    parts += [
        (message.role, message.text, message.raw, [call.id for call in message.calls], str(message.results))
        for message in prompt.messages[:last]
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "replace")).hexdigest()
