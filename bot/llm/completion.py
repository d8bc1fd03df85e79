"""A model's complete answer: its text, how it ended, its tool calls and its tokens.

Imports none of our modules, because works, runs and the engine pass answers on.
"""

from __future__ import annotations

from dataclasses import dataclass

FINISHES = ("end", "length", "refusal", "tool", "cut")
"""How an answer ended: complete; at the token limit; refused or filtered; asking for tools; cut off."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, with cache reads and writes counted separately; `estimated`: not reported by the
    service.

    `cost_usd` is the price in dollars that the service reports, None where it reports none. Of the cache writes,
    `cache_hour_tokens` are kept for an hour, which costs more.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    estimated: bool = False
    cost_usd: float | None = None
    cache_hour_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """The sum of both calls, with the price of those that have one."""
        usd = [usage.cost_usd for usage in (self, other) if usage.cost_usd is not None]
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.estimated or other.estimated,
            sum(usd) if usd else None,
            self.cache_hour_tokens + other.cache_hour_tokens,
        )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call by a model. `arguments` is the JSON object that it wrote, not yet validated."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Completion:
    """A complete model answer. `finish` is one of FINISHES.

    `calls` are the tool calls ("tool"). `raw` is the turn as the service's own blocks (JSON), to be sent back to the
    same model in a tool loop. `passed_over` are the models of the role's chain that failed before this one, each as
    (model, fault). `reasoning` is the thinking that the service shows, if any; it is not part of the answer. `unseen`:
    the prompt's images were left out, because the model does not accept them.
    """

    text: str
    finish: str
    model: str
    usage: Usage = Usage()
    calls: tuple[ToolCall, ...] = ()
    raw: str = ""
    passed_over: tuple[tuple[str, str], ...] = ()
    reasoning: str = ""
    unseen: bool = False
