"""What a model call costs in dollars, and whether the service's cache saves what it should.

Prices are those bundled with `genai-prices`, as old as the installed package; nothing is downloaded. Knows no ledger.
Decimal dollars; None if the table does not have the model.
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

from bot.budget import cached_messages
from bot.llm.base import Prompt
from bot.llm.completion import Usage

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

    from bot.config import ProviderConfig

log = logging.getLogger(__name__)

FREE = Decimal(0)

KEPT_S = 300.0
"""For how many seconds all services keep an unused prefix at least."""

REMEMBERED = 500
"""The most prefixes that are remembered."""

AGAIN_S = 3_600.0
"""The least seconds between two warnings about one model."""


async def cost(provider: ProviderConfig, model: str, usage: Usage) -> Decimal | None:
    """Dollars for `usage`: the service's own price if it reports one, otherwise by the table.

    Call it in a thread: the first reading of the table takes a quarter of a second.
    """
    if usage.cost_usd is not None:
        return Decimal(str(usage.cost_usd))
    if provider.kind == "demo":
        return FREE
    calculation = await asyncio.to_thread(_calculation, provider, model, usage)
    return None if calculation is None else calculation.total_price


async def window(provider: ProviderConfig, model: str) -> int | None:
    """The model's context window in tokens, prompt and answer together; None if the table does not have it."""
    if provider.kind == "demo":
        return None
    calculation = await asyncio.to_thread(_calculation, provider, model, Usage())
    return None if calculation is None else calculation.model.context_window


def _calculation(provider: ProviderConfig, model: str, usage: Usage) -> PriceCalculation | None:
    """The table's entry for the model, and the price of `usage`; None if the table does not have the model."""
    from genai_prices import Usage as Priced
    from genai_prices import calc_price

    priced_usage = Priced(
        # Only there does the input include tokens read from the cache and written to it.
        input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        cache_write_1h_tokens=usage.cache_hour_tokens,
        output_tokens=usage.output_tokens,
    )
    # Where to look for the model in the table, in order.
    places: list[dict[str, str]] = []
    if provider.base_url is not None:
        places.append({"provider_api_url": provider.base_url})
    if provider.kind != "openai-compatible":
        # At another address it is a proxy for the service whose API it has.
        places.append({"provider_id": provider.kind})
    for place in places:
        try:
            return calc_price(priced_usage, model, **place)  # type: ignore[call-overload, no-any-return]
        except (LookupError, ValueError):
            continue
    return None


class CacheWatch:
    """Watches whether a prefix that was marked for the service's cache is ever cached; warns once an hour per model.

    Services report nothing if a prefix is too short for them or changes a little with every call: the only sign is a
    bill ten times as high. Knows only what was marked and the token counts. Kept in memory.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sent_at: OrderedDict[tuple[str, str], float] = OrderedDict()
        """When a prefix was last sent; infinity once it was cached or a warning was given."""
        self._warned: dict[str, float] = {}
        """When the last warning about a model was given: a story marks another prefix with every turn."""

    def note(self, model: str, kind: str, prompt: Prompt, usage: Usage) -> bool:
        """Note a finished call. Returns True if the prefix it marked is not being cached."""
        last_marked = cached_messages(prompt)
        if usage.estimated or last_marked is None:
            return False
        key = (model, _prefix(prompt, last_marked))
        last = self._sent_at.pop(key, None)
        now = self._clock()
        cached = usage.cache_read_tokens > 0 or usage.cache_write_tokens > 0
        # Anthropic reports with the first call that it cached nothing; the others report only reads.
        is_telling = kind == "anthropic" or (last is not None and now - last < KEPT_S)
        never_again = last == float("inf")
        warned = is_telling and not cached and not never_again
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
    """A digest of the prompt up to its message number `last`."""
    parts: list[object] = [prompt.system]
    parts += [(tool.name, tool.description, dict(tool.parameters)) for tool in prompt.tools]
    parts += [
        (message.role, message.text, message.raw, [call.id for call in message.calls], str(message.results))
        for message in prompt.messages[:last]
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("utf-8", "replace")).hexdigest()
