"""One answer of the Responses API as it grows, streamed or whole: its events are JSON objects.

Keeps the turn's output items as the service sent them: reasoning has to go back unaltered, with its encrypted
content, when the turn is handed back. Trusts no field of an event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bot.llm.answer import Answer
from bot.llm.base import Meter, Prompt, ToolCall
from bot.llm.fields import characters, count, part, text

_ENDS = ("completed", "incomplete", "failed", "cancelled")
_POLICY = re.compile(r"policy|content_filter|\bflagged\b", re.I)
"""In the code or the message of a failed answer: the service would not, rather than could not."""


class ResponsesAnswer(Answer):
    """Reads the events of a stream, or one whole response.

    `fault` makes what is raised out of the error that a service tells inside of an answer.
    """

    def __init__(
        self, model: str, prompt: Prompt, meter: Meter, fault: Callable[[Mapping[str, Any]], Exception]
    ) -> None:
        super().__init__(model, prompt, meter)
        self._fault = fault
        self._items: dict[int, Mapping[str, Any]] = {}
        self._refused = False
        self._shown = False

    def read(self, event: object) -> Iterator[str]:
        if not isinstance(event, Mapping):
            return
        kind = text(event, "type")
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            self._refused |= kind == "response.refusal.delta"
            yield self.said(text(event, "delta"))
        elif kind.endswith(".delta"):  # reasoning, its summary, arguments of a call
            self.thought(text(event, "delta"))
            if kind.startswith("response.reasoning"):
                self._shown = True
                self.reasoned(text(event, "delta"))
        elif kind == "response.reasoning_summary_part.added":
            self.reasoned("\n\n")
        elif kind == "response.output_item.done":
            self._keep(count(event, "output_index") or 0, event.get("item"))
        elif kind.removeprefix("response.") in _ENDS:
            yield from self._end(part(event, "response"), kind.removeprefix("response."))
        elif event.get("object") == "response":
            yield from self._end(event, text(event, "status"))
        elif kind == "error" or isinstance(event.get("error"), Mapping):
            raise self._fault(event)

    def _keep(self, index: int, item: object) -> None:
        """An output item is whole: only now is what it asks for a call."""
        if isinstance(item, Mapping):
            self._items[index] = item
        items = [item for _, item in sorted(self._items.items())]
        self.calls = tuple(
            ToolCall(text(item, "call_id") or f"call_{at}", text(item, "name"), text(item, "arguments"))
            for at, item in enumerate(items)
            if text(item, "type") == "function_call"
            and text(item, "name")
            and text(item, "status") != "incomplete"
        )
        self.raw = characters(json.dumps(items, ensure_ascii=False)) if self.calls else ""

    def _end(self, response: Mapping[str, Any], status: str) -> Iterator[str]:
        self._usage(part(response, "usage"))
        if not self._items:  # not streamed
            output = response.get("output")
            for index, item in enumerate(output if isinstance(output, list) else ()):
                self._keep(index, item)
                self.thought(text(item, "arguments"))
        if not self._shown:
            for thought in self._thoughts():
                self.reasoned(f"{thought}\n\n")
        if not self.text:
            for one in self._parts():
                self._refused |= bool(text(one, "refusal"))
                yield self.said(text(one, "text") or text(one, "refusal"))
        if status == "completed":
            self.finish = "tool" if self.calls else "refusal" if self._refused else "end"
        elif status == "incomplete":
            filtered = text(part(response, "incomplete_details"), "reason") == "content_filter"
            self.finish = "refusal" if filtered or self._refused else "length"
        elif status in _ENDS:
            error = part(response, "error")
            if not _POLICY.search(f"{text(error, 'code')} {text(error, 'message')}"):
                self._count()
                raise self._fault(error)
            self.finish = "refusal"

    def _parts(self) -> Iterator[Mapping[str, Any]]:
        """The parts of the messages among the items."""
        for _, item in sorted(self._items.items()):
            content = item.get("content") if text(item, "type") == "message" else None
            yield from (one for one in content or () if isinstance(one, Mapping))

    def _thoughts(self) -> Iterator[str]:
        """What the service shows of the reasoning among the items: summaries, or a local server's own words."""
        for _, item in sorted(self._items.items()):
            for name in ("summary", "content") if text(item, "type") == "reasoning" else ():
                shown = item.get(name)
                yield from (text(one, "text") for one in (shown if isinstance(shown, list) else ()))

    def _usage(self, said: Mapping[str, Any]) -> None:
        """The service's own count: its input holds what the cache gave and took. All zeros is no count."""
        details = part(said, "input_tokens_details")
        total, output = count(said, "input_tokens") or 0, count(said, "output_tokens")
        if total or output:
            read = min(count(details, "cached_tokens") or 0, total)
            write = min(count(details, "cache_write_tokens") or 0, total - read)
            self.used((total - read - write, read, write) if total else None, output)
