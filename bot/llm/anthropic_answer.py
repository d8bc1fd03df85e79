"""One answer of the Messages API as it grows, streamed or whole: its events are JSON objects.

Keeps the turn's content blocks as the service sent them: thinking has to go back unaltered, with its
signature, when the turn is handed back. Trusts no field of an event.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bot.llm.answer import Answer, arguments_of
from bot.llm.base import Message, Prompt, ToolCall

PAUSES = 5
"""How often a turn that the service pauses is gone on with, before it counts as at the limit."""

_FINISH = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
    "refusal": "refusal",
}


class MessagesAnswer(Answer):
    """Reads the events of a stream, or one whole message."""

    _blocks: list[dict[str, Any]]
    _paused = False
    _pauses = 0

    def begin(self, input_tokens: int) -> None:
        super().begin(input_tokens)
        if not self._pauses:
            self._blocks = []
        self._paused = False
        self._open: dict[int, dict[str, Any]] = {}
        self._arguments: dict[int, str] = {}
        self._counts: dict[str, int] = {}

    def read(self, event: object) -> Iterator[str]:
        kind = _text(event, "type")
        if kind == "message_start":
            self._usage(_part(event, "message"), ended=False)
        elif kind == "content_block_start":
            yield from self._start(_index(event), _part(event, "content_block"))
        elif kind == "content_block_delta":
            yield from self._grow(_index(event), _part(event, "delta"))
        elif kind == "content_block_stop":
            self._stop(_index(event))
        elif kind == "message_delta":
            self._usage(event, ended=True)
            self._end(_text(_part(event, "delta"), "stop_reason"))
        elif kind == "message_stop":
            self.over = True
        elif kind == "message":
            content = event.get("content") if isinstance(event, Mapping) else None
            for index, block in enumerate(content if isinstance(content, list) else ()):
                yield from self._start(index, block)
                self._stop(index)
            self._usage(event, ended=True)
            self._end(_text(event, "stop_reason"))

    def go_on(self, prompt: Prompt) -> Prompt | None:
        """A paused turn goes back as it is, as the last message; the service goes on from there."""
        if not self._paused:
            return None
        if self._pauses >= PAUSES:
            self.finish = "length"
            return None
        messages = prompt.messages[:-1] if self._pauses else prompt.messages
        self._pauses += 1
        turn = Message("assistant", self.text, raw=json.dumps(self._blocks))
        return replace(prompt, messages=(*messages, turn))

    def _start(self, index: int, block: object) -> Iterator[str]:
        if not isinstance(block, Mapping) or not _text(block, "type"):
            return
        kept = self._open[index] = dict(block)
        self._blocks.append(kept)
        if kept.get("type") == "text" and (text := _text(kept, "text")):
            yield self.said(text)
        elif thought := _text(kept, "thinking"):
            self.thought(thought)

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Iterator[str]:
        kept = self._open.get(index)
        if kept is None:
            return
        if text := _text(delta, "text"):
            kept["text"] = _text(kept, "text") + text
            yield self.said(text)
        elif thought := _text(delta, "thinking"):
            kept["thinking"] = _text(kept, "thinking") + thought
            self.thought(thought)
        elif signature := _text(delta, "signature"):
            kept["signature"] = signature
        elif piece := _text(delta, "partial_json"):
            self._arguments[index] = self._arguments.get(index, "") + piece
            self.thought(piece)
        elif citation := delta.get("citation"):
            kept["citations"] = [*(kept.get("citations") or ()), citation]

    def _stop(self, index: int) -> None:
        """A block is whole: only now is what it asks for a call."""
        kept = self._open.pop(index, None)
        if kept is None or not isinstance(kept.get("input"), Mapping):
            return
        arguments = self._arguments.get(index)
        if arguments is not None:
            kept["input"] = arguments_of(arguments)
        else:
            arguments = json.dumps(kept["input"])
            self.thought(arguments)
        if kept.get("type") == "tool_use":
            call = ToolCall(_text(kept, "id"), _text(kept, "name"), arguments)
            self.calls = (*self.calls, call)

    def _end(self, reason: str) -> None:
        self._paused = reason == "pause_turn"
        if reason and not self._paused:
            # An unknown reason still says that the service considers the answer whole.
            self.finish = _FINISH.get(reason, "end")
        if self.calls:
            self.raw = json.dumps(self._blocks)

    def _usage(self, said: object, *, ended: bool) -> None:
        """The service's counts grow, and a later one stands for an earlier one; those of the cache come on
        top of `input_tokens`. What an answer wrote is known at its end only. All zeros is no count."""
        usage = _part(said, "usage")
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            value = usage.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                self._counts[name] = value
        fresh, read, write = (
            self._counts.get(name, 0)
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        if fresh or read or write:
            self.used((fresh, read, write))
        output = usage.get("output_tokens")
        if ended and isinstance(output, int) and not isinstance(output, bool) and output > 0:
            self.used(output=output)


def _part(said: object, name: str) -> Mapping[str, Any]:
    value = said.get(name) if isinstance(said, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _text(said: object, name: str) -> str:
    value = said.get(name) if isinstance(said, Mapping) else None
    return value if isinstance(value, str) else ""


def _index(event: object) -> int:
    value = event.get("index") if isinstance(event, Mapping) else None
    return value if isinstance(value, int) else 0
