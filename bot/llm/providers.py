"""Makes the provider that a table of the config describes.

Knows which file speaks which kind of service, and none of their SDKs: those are imported on first use.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from bot.events import Sorry
from bot.llm.base import Capabilities, Provider

if TYPE_CHECKING:
    from bot.config import Config, ProviderConfig
    from bot.llm.deadlines import Timeouts

_WIRES: Final = {
    "openai": ("bot.llm.openai_responses", "Responses"),
    "anthropic": ("bot.llm.anthropic_messages", "AnthropicMessages"),
    "openai-compatible": ("bot.llm.openai_chat", "ChatCompletions"),
}


def provider_of(
    settings: ProviderConfig,
    config: Config,
    *,
    timeouts: Timeouts | None,
    sleep: Callable[[float], Awaitable[None]],
) -> Provider:
    """Opens nothing yet. Raises Sorry ("model.key_missing") where a key is named and not there."""
    if settings.kind == "demo":
        from bot.llm.demo import Demo

        return Demo(config.models_dir, name=settings.name)
    key = config.secret(settings.api_key_env) if settings.api_key_env else None
    if settings.api_key_env and key is None:
        raise Sorry("model.key_missing", provider=settings.name, variable=settings.api_key_env)
    module, wire = _WIRES[settings.kind]
    made: Provider = getattr(importlib.import_module(module), wire)(
        settings.base_url,
        key,
        name=settings.name,
        timeouts=timeouts,
        sleep=sleep,
        capabilities=Capabilities(settings.tools, settings.json_schema, settings.cites),
    )
    return made
