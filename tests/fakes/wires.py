"""The three APIs of models ("wires"): a provider's `kind` in config.toml, and the service.

Knows nothing of the bot.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

from tests.fakes.model_service import ModelService


class Wire(NamedTuple):
    """`module` is run as a process too: `python -m MODULE`."""

    name: str
    kind: str
    module: str
    service_name: str

    @property
    def service(self) -> type[ModelService]:
        service: type[ModelService] = getattr(importlib.import_module(self.module), self.service_name)
        return service

    def url(self, port: int) -> str:
        """The `base_url` of a service of this wire at `port`."""
        return self.service(port=port).base_url


WIRES = {
    wire.name: wire
    for wire in (
        Wire("chat", "openai-compatible", "tests.fakes.chat_completions", "ChatService"),
        Wire("responses", "openai", "tests.fakes.openai_responses", "ResponsesService"),
        Wire("messages", "anthropic", "tests.fakes.anthropic_messages", "MessagesService"),
    )
}


def kind_of(service: ModelService) -> str:
    """The `kind` of a provider for this service."""
    return next(wire.kind for wire in WIRES.values() if wire.service_name == type(service).__name__)
