"""One answer while it is received: its text, its tool calls, how it ended, its usage.

The part that all APIs share; a subclass for each API reads its events. Knows no SDK and no network.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator

from bot.budget import estimated_tokens
from bot.llm.base import Meter, Prompt
from bot.llm.completion import Completion, ToolCall, Usage
from bot.llm.faults import FaultError
from bot.llm.fields import characters

MOST_CHARS_PER_TOKEN = 8
"""More characters than a token has on average in any language: a text longer than `max_tokens` times this has ignored
the limit.
"""

SHORTEST_CAP = 2_000
REASONING_CHARS = 20_000
"""The most characters of reasoning text kept in memory."""

HIDDEN = 4
"""Reasoning and tool arguments may be this many times as long as the answer's limit."""


class Answer:
    """An answer being received. `started`: the service has started to answer. `finished`: nothing more should be read.
    `paused`: the service must be asked for the remainder at once.

    `finish` is None until the service reports that the answer is complete; `ending` is its reason to stop if that
    reason is unknown to us. `unseen`: see Completion.
    """

    def __init__(self, model: str, prompt: Prompt, meter: Meter) -> None:
        self.started = False
        self.finished = False
        self.paused = False
        self.events = 0
        self.finish: str | None = None
        self.ending = ""
        self.calls: tuple[ToolCall, ...] = ()
        self.raw = ""
        self.unseen = False
        self._model = model
        self._meter = meter
        self._cap = max(SHORTEST_CAP, prompt.max_tokens * MOST_CHARS_PER_TOKEN)
        self._pieces: list[str] = []
        self._surrogate = ""
        self._chars = 0
        self._hidden = 0
        self._thinking: list[str] = []
        self._before = meter.usage
        self._spent = 0.0
        """Tokens used so far, estimated."""
        self._guess = 0
        self._input: tuple[int, int, int] | None = None
        self._hour = 0
        self._output: int | None = None
        self._usd: float | None = None

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def begin(self, input_tokens: int) -> None:
        """Note that the service has accepted a request: its `input_tokens` (estimated) count as used from now on."""
        self.started = True
        self.finish = None
        self.finished = self.paused = False
        self.events = 0
        self._before = self._meter.usage
        self._spent, self._guess = 0.0, input_tokens
        self._input = self._output = self._usd = None
        self._hour = 0
        self._count()

    def add(self, event: object) -> list[str]:
        """Read an event of the stream, or a whole answer; returns the text to show.

        Raises FaultError, also for an event that is nested too deeply.
        """
        self.events += 1
        try:
            texts = list(filter(None, self.read(event)))
        except RecursionError:
            raise FaultError("server", "the answer cannot be read") from None
        if self._chars >= self._cap or self._hidden >= self._cap * HIDDEN:
            self.finish, self.finished = "length", True
        self._count()
        return texts

    @abstractmethod
    def read(self, event: object) -> Iterator[str]:
        """The API's part of `add`: calls `add_text`, `count_hidden`, `set_usage`; sets finish, calls, raw, finished,
        paused."""

    def continuation(self, prompt: Prompt) -> Prompt:
        """The prompt that asks for the rest of a `paused` answer, for APIs that pause answers."""
        raise NotImplementedError

    def add_text(self, text: str) -> str:
        """Add text of the answer; returns the part that is within the limit."""
        text = self._surrogate + text
        # The second half of a surrogate pair may come with the next piece.
        self._surrogate = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        text = characters(text.removesuffix(self._surrogate))[: self._cap - self._chars]
        self._chars += len(text)
        self._spent += estimated_tokens(text)
        self._pieces.append(text)
        return text

    def count_hidden(self, text: str) -> None:
        """Count text that is billed but not shown as the answer: reasoning, arguments of a tool."""
        self._hidden += len(text)
        self._spent += estimated_tokens(text)

    def add_reasoning(self, text: str) -> None:
        """Add reasoning that is shown; `count_hidden` counts it."""
        self._thinking.append(text)

    def retract_reasoning(self, text: str) -> None:
        """Remove all reasoning so far (`text`), which was in fact the answer; the caller adds it with `add_text`."""
        self._hidden -= len(text)
        self._spent -= estimated_tokens(text)
        self._thinking.clear()

    def text_was_reasoning(self, reasoning: str, text: str) -> None:
        """Correct the text so far: it was `reasoning` followed by `text`. Text already shown stays visible."""
        self._thinking.append(reasoning)
        self._pieces = [text]

    def set_usage(
        self,
        input: tuple[int, int, int] | None = None,
        output: int | None = None,
        usd: float | None = None,
        hour: int = 0,
    ) -> None:
        """Set the usage that the service reports: input tokens (fresh, read from its cache, written to it), output
        tokens, dollars, and how many of the tokens written to the cache are kept for an hour."""
        self._hour = hour or self._hour
        self._input = input if input is not None else self._input
        self._output = output if output is not None else self._output
        self._usd = usd if usd is not None else self._usd

    def completion(self, finish: str | None = None) -> Completion:
        """The answer so far; usage is estimated if the service gave none.

        Tool calls are left out unless the answer ended by asking for them: they may be incomplete and must not be made.
        """
        finish = finish or self.finish or "cut"
        calls: list[ToolCall] = []
        if finish == "tool":
            calls = [ToolCall(*map(characters, (call.id, call.name, call.arguments))) for call in self.calls]
        return Completion(
            self.text,
            finish,
            self._model,
            self._meter.usage,
            tuple(calls),
            self.raw,
            reasoning=characters("".join(self._thinking)).strip()[:REASONING_CHARS],
            unseen=self.unseen,
        )

    def _count(self) -> None:
        uncached, cached, write = self._input or (self._guess, 0, 0)
        output = math.ceil(round(self._spent, 6)) if self._output is None else self._output
        before = self._before
        if before == Usage():
            before = Usage(cost_usd=0.0)
        self._meter.usage = Usage(
            before.input_tokens + uncached,
            before.output_tokens + output,
            before.cache_read_tokens + cached,
            before.cache_write_tokens + write,
            before.estimated or self._input is None or self._output is None,
            # With several attempts, each has to report its price; otherwise the price table covers all of them.
            None if self._usd is None or before.cost_usd is None else before.cost_usd + self._usd,
            before.cache_hour_tokens + min(self._hour, write),
        )
