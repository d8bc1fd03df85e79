"""One chat completion as it grows, streamed or whole.

Trusts no field of a chunk: compatible services leave out, null or misspell most of them. Servers without a
reasoning parser leave the thoughts in the text, where they are cut out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.llm.answer import Answer
from bot.llm.base import Meter, Prompt, ToolCall
from bot.llm.fields import count, dollars, text
from bot.llm.thoughts import Thoughts, unopened

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


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


class ChatAnswer(Answer):
    """Reads `chat.completion.chunk`s, or one `chat.completion`.

    `unopened` are the models whose answers were seen to begin inside of thoughts: it is learnt here. What such
    a model says is held back until the thoughts are closed.
    """

    def __init__(self, model: str, prompt: Prompt, meter: Meter, unopened: set[str]) -> None:
        super().__init__(model, prompt, meter)
        self._refused = False
        self._asked: dict[int, _Call] = {}
        self._unopened = unopened
        self._thoughts = Thoughts(expected=model in unopened)
        self._apart = False
        """Whether thoughts come in a field of their own; some servers leave them in the text besides."""

    def read(self, event: object) -> Iterator[str]:
        self._usage(getattr(event, "usage", None))
        choices = getattr(event, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        delta = getattr(choice, "delta", None) or getattr(choice, "message", None)
        for name in ("reasoning_content", "reasoning"):
            thought = getattr(delta, name, None)
            if isinstance(thought, str):
                self.thought(thought)
                self.reasoned(thought)
                self._set_apart(thought)
                break
        yield self._part(*self._thoughts.feed(text(delta, "content")))
        if refusal := text(delta, "refusal"):
            self._refused = True
            yield self.said(refusal)
        self._tools(getattr(delta, "tool_calls", None))
        reason = getattr(choice, "finish_reason", None)
        if isinstance(reason, str) and reason:
            self._end(reason)
            if self.finish:
                yield self._rest(self.finish)

    def _set_apart(self, thought: str) -> None:
        if thought.strip() and not self._apart:
            self._apart = True
            self._thoughts.expected = False
            self._unopened.discard(self._model)

    def _part(self, said: str, thought: str) -> str:
        """Takes thoughts of the text for what they are; gives what is said."""
        self.thought(thought)
        if not self._apart:
            self.reasoned(thought)
        return self.said(said)

    def _rest(self, finish: str) -> str:
        """What was held back until the end; and what only the whole text shows."""
        said, thought = self._thoughts.finish(finish)
        if back := self._thoughts.taken_back:
            self.unthought(back)
        shown = self._part(said, thought)
        opened = self._thoughts.unopened
        if not self._thoughts.found and (end := unopened(self.text)):
            self.unsaid(self.text[: end.start()], self.text[end.end() :])
            opened = True
        if opened:
            self._unopened.add(self._model)
        elif opened is False:
            self._unopened.discard(self._model)
        return shown

    def _tools(self, said: object) -> None:
        """Tool calls come in pieces that belong together by their index (by their place, where it is missing)."""
        for place, part in enumerate(said if isinstance(said, list) else ()):
            index = getattr(part, "index", None)
            call = self._asked.setdefault(index if isinstance(index, int) else place, _Call())
            function = getattr(part, "function", None)
            call.id = call.id or text(part, "id")
            call.name = call.name or text(function, "name")
            piece = text(function, "arguments")
            call.arguments += piece
            self.thought(piece)
        self.calls = tuple(
            ToolCall(call.id or f"call_{at}", call.name, call.arguments)
            for at, call in sorted(self._asked.items())
            if call.name
        )

    def _end(self, reason: str) -> None:
        # An unknown reason still says that the service considers the answer whole.
        ended = _FINISH.get(reason, "end")
        if ended == "cut":
            self.over = True
        elif self._refused and ended == "end":
            self.finish = "refusal"
        else:  # some services say "stop" beside their tool calls
            self.finish = "tool" if self.calls and ended == "end" else ended

    def _usage(self, said: object) -> None:
        """The service's own count; cached input is told apart from the rest. Nonsense is ignored."""
        details = getattr(said, "prompt_tokens_details", None)
        prompt, output = count(said, "prompt_tokens") or 0, count(said, "completion_tokens")
        if prompt or output:
            read = min(count(details, "cached_tokens") or 0, prompt)
            write = min(count(details, "cache_write_tokens") or 0, prompt - read)
            # OpenRouter's own price of the call, and with one's own key at the maker what that one takes besides.
            usd = dollars(said, "cost")
            if usd is not None and getattr(said, "is_byok", False) is True:
                usd += dollars(getattr(said, "cost_details", None), "upstream_inference_cost") or 0.0
            self.used((prompt - read - write, read, write) if prompt else None, output, usd)
