"""The protocol that every model provider speaks, and the values it speaks in.

Knows no SDK. A provider turns its service's faults into `ModelError`, so that nothing above
this package ever sees an SDK's exception or a secret inside one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Literal, Protocol

from bot.events import Completion, Sorry, Usage

__all__ = [
    "FINISHES",
    "Completion",
    "Message",
    "Meter",
    "ModelError",
    "ModelFault",
    "Prompt",
    "Provider",
    "Usage",
]

FINISHES = ("end", "length", "refusal", "tool", "cut")
"""How an answer ended: whole; at the token limit; refused or filtered; asking for a tool; cut off."""

ModelFault = Literal[
    "auth",
    "rate_limit",
    "timeout",
    "connection",
    "server",
    "bad_request",
    "not_found",
    "context",
    "empty",
    "quota",
    "cut",
]
"""Why a call failed; the catalogue has a sentence `model.<fault>` for each."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked. `max_tokens` bounds the answer; `temperature` None leaves it to the model."""

    system: str
    messages: tuple[Message, ...]
    max_tokens: int = 1200
    temperature: float | None = None


@dataclass(slots=True)
class Meter:
    """What a call has used so far, over all its attempts.

    A provider keeps it current while it streams: a call that is stopped or cut can yield no
    Completion, and is billed from here.
    """

    usage: Usage = field(default_factory=Usage)


class ModelError(Sorry):
    """A model call that failed after its retries. `fault` picks the sentence a person reads.

    `partial` is the text and usage received before the fault, so that they are billed and kept.
    """

    def __init__(
        self,
        fault: ModelFault,
        model: str,
        detail: str = "",
        *,
        partial: Completion | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(f"model.{fault}", model=model, detail=detail)
        self.fault: ModelFault = fault
        self.model = model
        self.detail = detail
        self.partial = partial
        self.retry_after_s = retry_after_s


class Provider(Protocol):
    """One configured service. `name` is its name in the config; a model is called `name:model`."""

    name: str

    def stream(
        self, model: str, prompt: Prompt, meter: Meter | None = None
    ) -> AsyncGenerator[str | Completion, None]:
        """Yield the answer's text as it comes, then one Completion with all of it.

        `meter` is kept current throughout. Closing the generator closes the connection.
        Raises ModelError; "cut" once text has been yielded, with the text so far as `partial`.
        """
        ...

    async def close(self) -> None: ...
