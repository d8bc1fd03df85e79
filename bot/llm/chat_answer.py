"""One chat completion as it grows, streamed or whole.

Trusts no field of a chunk: compatible services leave out, null or misspell most of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bot.llm.answer import Answer, number
from bot.llm.base import ToolCall

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
    """Reads `chat.completion.chunk`s, or one `chat.completion`."""

    _refused = False
    _asked: dict[int, _Call] | None = None

    def read(self, event: object) -> Iterator[str]:
        self._usage(getattr(event, "usage", None))
        choices = getattr(event, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        delta = getattr(choice, "delta", None) or getattr(choice, "message", None)
        for name in ("reasoning_content", "reasoning"):
            thought = getattr(delta, name, None)
            if isinstance(thought, str):
                self.thought(thought)
                break
        for name in ("content", "refusal"):
            text = getattr(delta, name, None)
            if isinstance(text, str) and text:
                self._refused |= name == "refusal"
                yield self.said(text)
        self._tools(getattr(delta, "tool_calls", None))
        reason = getattr(choice, "finish_reason", None)
        if isinstance(reason, str) and reason:
            self._end(reason)

    def _tools(self, said: object) -> None:
        """Tool calls come in pieces that belong together by their index (by their place, where it is missing)."""
        self._asked = self._asked or {}
        for place, part in enumerate(said if isinstance(said, list) else ()):
            index = getattr(part, "index", None)
            call = self._asked.setdefault(index if isinstance(index, int) else place, _Call())
            function = getattr(part, "function", None)
            call.id = call.id or _text(part, "id")
            call.name = call.name or _text(function, "name")
            piece = _text(function, "arguments")
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
        prompt, output = number(said, "prompt_tokens"), number(said, "completion_tokens")
        if prompt or output:
            read = min(number(details, "cached_tokens"), prompt)
            write = min(number(details, "cache_write_tokens"), prompt - read)
            self.used((prompt - read - write, read, write), output)


def _text(said: object, name: str) -> str:
    value = getattr(said, name, None)
    return value if isinstance(value, str) else ""
