"""What a model call costs in dollars, by the price table that comes along with `genai-prices`.

Asks nobody: the table is as old as the installed package. Knows no ledger. Decimal dollars; None where
the table does not know the model.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import TYPE_CHECKING

from bot.llm.base import Usage

if TYPE_CHECKING:
    from bot.config import ProviderConfig

FREE = Decimal(0)


async def cost(provider: ProviderConfig, model: str, usage: Usage) -> Decimal | None:
    """Dollars for `usage`. In a thread: reading the table the first time takes a quarter of a second."""
    if provider.kind == "demo":
        return FREE
    return await asyncio.to_thread(_cost, provider, model, usage)


def _cost(provider: ProviderConfig, model: str, usage: Usage) -> Decimal | None:
    from genai_prices import Usage as Priced
    from genai_prices import calc_price

    used = Priced(
        # There, as in no other place of ours, the input includes what was read from and written to the cache.
        input_tokens=usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
    )
    places: list[dict[str, str]] = []
    if provider.base_url is not None:
        places.append({"provider_api_url": provider.base_url})
    if provider.kind != "openai-compatible":
        # At another address it is a proxy in front of the service whose interface it has.
        places.append({"provider_id": provider.kind})
    for place in places:
        try:
            return calc_price(used, model, **place).total_price  # type: ignore[call-overload, no-any-return]
        except (LookupError, ValueError):
            continue
    return None
