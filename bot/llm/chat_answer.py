"""One streamed chat completion as it grows: text, how it ended, what it used.

Knows no SDK and no network, and trusts no field of a chunk: compatible services leave out,
null or misspell most of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from bot.budget import BYTES_PER_TOKEN
from bot.llm.base import Completion, Meter, Prompt, Usage

CHARS_PER_TOKEN = 8
"""No language comes near it on average: longer than `max_tokens` of these, and the limit was ignored."""

SHORTEST_CAP = 2_000
HIDDEN = 4
"""How many times the cap of the answer a model may think aloud beside it."""

_FINISH = {
    "stop": "end",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "tool_calls": "tool",
    "function_call": "tool",
    "error": "cut",
}


class Answer:
    """`begun` once the service answers, `over` when nothing more should be read."""

    def __init__(self, model: str, prompt: Prompt, meter: Meter) -> None:
        self.begun = False
        self.over = False
        self.events = 0
        self.finish: str | None = None
        self._model = model
        self._meter = meter
        self._before = meter.usage
        self._cap = max(SHORTEST_CAP, prompt.max_tokens * CHARS_PER_TOKEN)
        self._pieces: list[str] = []
        self._chars = 0
        self._bytes = 0
        self._hidden = 0
        self._input = 0
        self._refused = False
        self._usage: Usage | None = None

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def begin(self, input_tokens: int) -> None:
        """The service has taken the request on: from here its `input_tokens` (estimated) are spent."""
        self.begun = True
        self._input = input_tokens
        self._count()

    def add(self, chunk: object) -> Iterator[str]:
        """Take in a chunk; gives the text to show."""
        self.events += 1
        self._usage = _usage(getattr(chunk, "usage", None)) or self._usage
        choices = getattr(chunk, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        delta = getattr(choice, "delta", None)
        for name in ("reasoning_content", "reasoning"):
            thought = getattr(delta, name, None)
            if isinstance(thought, str):
                self._hidden += len(thought)
                self._bytes += len(thought.encode("utf-8", "replace"))
                break
        shown: list[str] = []
        for name in ("content", "refusal"):
            text = getattr(delta, name, None)
            if isinstance(text, str) and text:
                self._refused |= name == "refusal"
                text = text[: self._cap - self._chars]
                self._chars += len(text)
                self._bytes += len(text.encode("utf-8", "replace"))
                self._pieces.append(text)
                shown.append(text)
        reason = getattr(choice, "finish_reason", None)
        if isinstance(reason, str) and reason:
            # An unknown reason still says that the service considers the answer whole.
            ended = _FINISH.get(reason, "end")
            if ended == "cut":
                self.over = True
            else:
                self.finish = "refusal" if self._refused and ended == "end" else ended
        if self._chars >= self._cap or self._hidden >= self._cap * HIDDEN:
            self.finish, self.over = "length", True
        self._count()
        return iter([text for text in shown if text])

    def completion(self, finish: str | None = None) -> Completion:
        """What has come so far as a Completion; usage is estimated where the service gave none."""
        return Completion(self.text, finish or self.finish or "cut", self._model, self._meter.usage)

    def _count(self) -> None:
        used = self._usage or Usage(self._input, math.ceil(self._bytes / BYTES_PER_TOKEN), estimated=True)
        before = self._before
        self._meter.usage = Usage(
            before.input_tokens + used.input_tokens,
            before.output_tokens + used.output_tokens,
            before.cache_read_tokens + used.cache_read_tokens,
            before.cache_write_tokens + used.cache_write_tokens,
            before.estimated or used.estimated,
        )


def _usage(said: object) -> Usage | None:
    """The service's own count; cached input is told apart from the rest. None when it makes no sense."""
    details = getattr(said, "prompt_tokens_details", None)
    prompt, output = _number(said, "prompt_tokens"), _number(said, "completion_tokens")
    if not prompt and not output:
        return None
    read = min(_number(details, "cached_tokens"), prompt)
    write = min(_number(details, "cache_write_tokens"), prompt - read)
    return Usage(prompt - read - write, output, read, write)


def _number(said: object, name: str) -> int:
    value = getattr(said, name, None)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
