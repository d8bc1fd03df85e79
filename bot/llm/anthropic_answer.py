"""One answer of the Messages API as it grows, streamed or whole: its events are JSON objects.

Keeps the turn's content blocks as the service sent them: thinking has to go back unaltered, with its
signature, when the turn is handed back. Trusts no field of an event.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from bot.llm.answer import Answer
from bot.llm.base import Message, Prompt, ToolCall
from bot.llm.fields import arguments_of, characters, count, part, text

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
        kind = text(event, "type")
        if kind == "message_start":
            self._usage(part(event, "message"), ended=False)
        elif kind == "content_block_start":
            yield from self._start(count(event, "index") or 0, part(event, "content_block"))
        elif kind == "content_block_delta":
            yield from self._grow(count(event, "index") or 0, part(event, "delta"))
        elif kind == "content_block_stop":
            self._stop(count(event, "index") or 0)
        elif kind == "message_delta":
            self._usage(event, ended=True)
            self._end(text(part(event, "delta"), "stop_reason"))
        elif kind == "message_stop":
            self.over = True
        elif kind == "message":
            content = event.get("content") if isinstance(event, Mapping) else None
            for index, block in enumerate(content if isinstance(content, list) else ()):
                yield from self._start(index, block)
                self._stop(index)
            self._usage(event, ended=True)
            self._end(text(event, "stop_reason"))

    def go_on(self, prompt: Prompt) -> Prompt | None:
        """A paused turn goes back as it is, as the last message; the service goes on from there."""
        if not self._paused:
            return None
        if self._pauses >= PAUSES:
            self.finish = "length"
            return None
        messages = prompt.messages[:-1] if self._pauses else prompt.messages
        self._pauses += 1
        turn = Message("assistant", self.text, raw=self._written())
        return replace(prompt, messages=(*messages, turn))

    def _start(self, index: int, block: object) -> Iterator[str]:
        if not isinstance(block, Mapping) or not text(block, "type"):
            return
        kept = self._open[index] = dict(block)
        self._blocks.append(kept)
        if kept.get("type") == "text" and (said := text(kept, "text")):
            yield self.said(said)
        elif thought := text(kept, "thinking"):
            self._think(thought)

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Iterator[str]:
        kept = self._open.get(index)
        if kept is None:
            return
        if said := text(delta, "text"):
            kept["text"] = text(kept, "text") + said
            yield self.said(said)
        elif thought := text(delta, "thinking"):
            kept["thinking"] = text(kept, "thinking") + thought
            self._think(thought)
        elif signature := text(delta, "signature"):
            kept["signature"] = signature
        elif piece := text(delta, "partial_json"):
            self._arguments[index] = self._arguments.get(index, "") + piece
            self.thought(piece)
        elif citation := delta.get("citation"):
            kept["citations"] = [*(kept.get("citations") or ()), citation]

    def _think(self, thought: str) -> None:
        self.thought(thought)
        self.reasoned(thought)

    def _stop(self, index: int) -> None:
        """A block is whole: only now is what it asks for a call."""
        kept = self._open.pop(index, None)
        if kept is None or not isinstance(kept.get("input"), Mapping):
            return
        arguments = self._arguments.get(index)
        if arguments is not None:
            kept["input"] = arguments_of(arguments)
        else:
            arguments = json.dumps(kept["input"], ensure_ascii=False)
            self.thought(arguments)
        if kept.get("type") == "tool_use":
            call = ToolCall(text(kept, "id"), text(kept, "name"), arguments)
            self.calls = (*self.calls, call)

    def _end(self, reason: str) -> None:
        self._paused = reason == "pause_turn"
        if reason and not self._paused:
            # An unknown reason still says that the service considers the answer whole.
            self.finish = _FINISH.get(reason, "end")
        if self.calls:
            self.raw = self._written()

    def _written(self) -> str:
        return characters(json.dumps(self._blocks, ensure_ascii=False))

    def _usage(self, said: object, *, ended: bool) -> None:
        """The service's counts grow, and a later one stands for an earlier one; those of the cache come on
        top of `input_tokens`. What an answer wrote is known at its end only. All zeros is no count."""
        usage = part(said, "usage")
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            if (counted := count(usage, name)) is not None:
                self._counts[name] = counted
        fresh, read, write = (
            self._counts.get(name, 0)
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        if fresh or read or write:
            self.used((fresh, read, write))
        if ended and (output := count(usage, "output_tokens")):
            self.used(output=output)
