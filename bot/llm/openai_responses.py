"""OpenAI's Responses API over its SDK.

Stateless: nothing is stored at the service, so a turn with tool calls is sent back with all its items unchanged,
including the encrypted reasoning. The events of a stream are read as JSON and not as the SDK's types, which would
change those items; no field of an event is trusted.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bot.llm.answer import Answer
from bot.llm.base import Message, Meter, Prompt, Tool
from bot.llm.completion import ToolCall
from bot.llm.diagnosis import declines
from bot.llm.error_report import ErrorReport, error_report
from bot.llm.faults import RAW, ParameterRules, ReportedError
from bot.llm.fields import call_id, characters, count, objects_of, part, text
from bot.llm.json_answers import in_words
from bot.llm.openai_client import ADDRESS, client_of
from bot.llm.service import Service

if TYPE_CHECKING:
    from openai import AsyncOpenAI

log = logging.getLogger(__name__)


LEAST_TOKENS = 16
"""The lowest `max_output_tokens` that the service accepts."""

_id = partial(call_id, allowed=re.compile(r"[a-zA-Z0-9_-]{1,64}"))
_ITEMS = {"reasoning", "message", "function_call"}
_OPTIONAL = (
    *("include", "temperature", "effort", "summary", "text"),
    *("prompt_cache_key", "prompt_cache_options", "store", "tool_choice"),
)
_BREAKPOINT = {"mode": "explicit"}
"""Caches the prompt up to this mark and nothing else: by default the service writes the whole prompt to its cache, at a
quarter more, even if it is never sent again (the SDK's `PromptCacheOptions`; since gpt-5.6)."""
_COUNTED = ("model", "instructions", "input", "tools", "text", "reasoning")
_PLAIN = {
    *("type", "properties", "required", "additionalProperties", "items", "anyOf"),
    *("enum", "const", "title", "description"),
}


class _ResponsesRules(ParameterRules):
    """Effort and summary are sent in one parameter, so an error may name any of the three. RAW stands for turns as the
    service wrote them, which it may refuse to read again if another model or key encrypted their reasoning. In this
    conversation they are then rebuilt from text and calls."""

    def learn(self, error: ErrorReport, request: Mapping[str, Any], overrides: dict[str, Any]) -> bool:
        if error.code == "invalid_json_schema":
            return False  # the schema is invalid, but the model may accept others
        error = replace(error, param=error.param.partition("[")[0])
        if super().learn(error, request, overrides):
            return True
        # Models without the explicit mode do not support its marks either.
        if "prompt_cache_options" in request and error.refuses("prompt_cache_breakpoint"):
            self.left_out.add("prompt_cache_options")
            return True
        if error.refuses("reasoning") and (dropped := {"effort", "summary"} & set(request)):
            self.left_out |= dropped
            return True
        if "include" in request and "encrypted content is not supported" in error.message.lower():
            self.left_out.add("include")
            return True
        unread = error.code == "invalid_encrypted_content" or error.refuses("input")
        if unread and any(item.get("type") == "reasoning" for item in request["input"]):
            overrides[RAW] = None
            return True
        return False


class Responses(Service):
    """The Responses API. Without a key, none is sent: a local server with this API needs none."""

    sdk = "openai"
    _omitted: dict[str, Any]

    def _build(self, sdk: Any, http: Any) -> AsyncOpenAI:
        client, self._omitted = client_of(sdk, http, self._base_url or ADDRESS, self._key)
        _ = client.responses.with_raw_response  # imports here, in the thread, not at the first call
        _ = client.responses.input_tokens
        return client

    def _new_rules(self) -> ParameterRules:
        return _ResponsesRules(_OPTIONAL)

    def _request(self, model: str, prompt: Prompt, left_out: Set[str]) -> dict[str, Any]:
        """The parameters, with `effort` and `summary` as separate entries: see `_wire`."""
        system = prompt.system
        request: dict[str, Any] = {"model": model, "max_output_tokens": max(LEAST_TOKENS, prompt.max_tokens)}
        request["store"] = False
        if prompt.temperature is not None:
            request["temperature"] = prompt.temperature
        if prompt.effort is not None:
            request["effort"] = prompt.effort
        if prompt.reasoning:
            request["summary"] = "auto"
        if prompt.schema is not None:
            if self._capabilities.json_schema and "text" not in left_out:
                form = {"type": "json_schema", "name": "answer", "strict": True, "schema": prompt.schema}
                request["text"] = {"format": form}
            else:
                system = in_words(system, prompt.schema)
        if prompt.tools:
            request["tools"] = [_tool(tool) for tool in prompt.tools]
            # Only a turn with tool calls is sent back; models that do not reason refuse this.
            request["include"] = ["reasoning.encrypted_content"]
            if prompt.closing:
                request["tool_choice"] = "none"
        explicit = "prompt_cache_options" not in left_out
        request["prompt_cache_options"] = {"mode": "explicit"}
        request["input"] = []
        if system.strip() and prompt.cache and explicit:
            request["input"].append({"role": "system", "content": _marked(system)})
        elif system.strip():
            request["instructions"] = system
        for message in prompt.messages:
            items = _items(message, raw=RAW not in left_out)
            if message.cache and explicit and message.role == "user" and message.text:
                items[-1] = items[-1] | {"content": [*_images(message), *_marked(message.text)]}
            request["input"] += items
        if prompt.cache or any(message.cache for message in prompt.messages):
            request["prompt_cache_key"] = _cache_key(prompt)
        return request

    async def _send(self, client: AsyncOpenAI, request: dict[str, Any], *, whole: bool) -> Any:
        import openai

        call, arguments = client.responses.with_raw_response, _wire(request)
        # Sent as `extra_body`: the SDK would look through each item for names to translate.
        talk = {"input": arguments.pop("input")} | self._body
        answer = await call.create(
            stream=not whole, extra_headers=self._omitted, extra_body=talk, **arguments
        )
        return answer.http_response.json() if whole else answer.parse(to=openai.AsyncStream[object])

    def _answer(self, label: str, prompt: Prompt, meter: Meter) -> ResponsesAnswer:
        return ResponsesAnswer(label, prompt, meter)

    async def _count(self, client: AsyncOpenAI, request: dict[str, Any]) -> object:
        counted_part = {name: value for name, value in _wire(request).items() if name in _COUNTED}
        result = await client.responses.input_tokens.count(extra_headers=self._omitted, **counted_part)
        tokens: object = result.input_tokens
        return tokens


def _wire(request: dict[str, Any]) -> dict[str, Any]:
    """The SDK's arguments for the request."""
    reasoning = {name: request[name] for name in ("effort", "summary") if name in request}
    arguments = {name: value for name, value in request.items() if name not in reasoning}
    return arguments | ({"reasoning": reasoning} if reasoning else {})


def _tool(tool: Tool) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "strict": _strict(tool.parameters),  # never omitted: the service's default is true
    }


def _strict(schema: object) -> bool:
    """Whether the service can promise arguments by this schema (Structured model outputs, "Supported schemas").

    Every object must be closed and all its properties required; other keywords must be known to be supported.
    """
    if not isinstance(schema, Mapping) or not set(schema) <= _PLAIN:
        return False
    properties = schema.get("properties", {})
    closed = schema.get("additionalProperties") is False and set(schema.get("required", ())) == set(
        properties
    )
    if "object" in schema.get("type", ()) and not closed:
        return False
    inner = [*properties.values(), *schema.get("anyOf", ())]
    return all(_strict(part) for part in [*inner, *([schema["items"]] if "items" in schema else [])])


def _items(message: Message, *, raw: bool) -> list[dict[str, Any]]:
    """A turn's items: results of tools before the person's text, and text before calls."""
    if raw and message.raw and (own_items := _own_items(message.raw)):
        return own_items
    items: list[dict[str, Any]] = [
        {"type": "function_call_output", "call_id": _id(result.call), "output": result.text}
        for result in message.results
    ]
    if message.images:
        parts = [{"type": "input_text", "text": message.text}] if message.text else []
        items.append({"role": message.role, "content": [*_images(message), *parts]})
    elif message.text or not (message.results or message.calls):
        items.append({"role": message.role, "content": message.text})
    items += [
        {"type": "function_call", "call_id": _id(call.id), "name": call.name, "arguments": call.arguments}
        for call in message.calls
    ]
    return items


def _images(message: Message) -> list[dict[str, Any]]:
    """The images of a turn. The detail is set, because it limits what an image costs: see `Image.tokens`."""
    return [{"type": "input_image", "image_url": image.url, "detail": "high"} for image in message.images]


def _marked(text: str) -> list[dict[str, Any]]:
    return [{"type": "input_text", "text": text, "prompt_cache_breakpoint": _BREAKPOINT}]


def _own_items(raw: str) -> list[dict[str, Any]]:
    """The items of a turn that this API wrote; none if another API wrote it, or if its reasoning is neither stored nor
    encrypted and cannot be read again."""
    items = objects_of(raw)
    if not all(
        item.get("type") in _ITEMS and (item["type"] != "reasoning" or item.get("encrypted_content"))
        for item in items
    ):
        return []
    return [item | {"call_id": _id(str(item["call_id"]))} if "call_id" in item else item for item in items]


def _cache_key(prompt: Prompt) -> str:
    """A key that routes prompts with the same beginning to the same cache. It is computed up to the first mark, because
    it must stay the same while a conversation grows."""
    parts: list[object] = [prompt.system, [_tool(tool) for tool in prompt.tools]]
    for message in prompt.messages if not prompt.cache else ():
        parts.append(_items(message, raw=True))
        if message.cache:
            break
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


_ENDS = ("completed", "incomplete", "failed", "cancelled")


class ResponsesAnswer(Answer):
    """Reads the events of a stream, or one whole response."""

    def __init__(self, model: str, prompt: Prompt, meter: Meter) -> None:
        super().__init__(model, prompt, meter)
        self._items: dict[int, Mapping[str, Any]] = {}
        self._refused = False
        self._streamed = False

    def read(self, event: object) -> Iterator[str]:
        if not isinstance(event, Mapping):
            return
        kind = text(event, "type")
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            self._refused |= kind == "response.refusal.delta"
            yield self.add_text(text(event, "delta"))
        elif kind.endswith(".delta"):  # reasoning, its summary, arguments of a call
            self.count_hidden(text(event, "delta"))
            if kind.startswith("response.reasoning"):
                self._streamed = True
                self.add_reasoning(text(event, "delta"))
        elif kind == "response.reasoning_block.added":
            self.add_reasoning("\n\n")
        elif kind == "response.output_item.done":
            self._keep(count(event, "output_index") or 0, event.get("item"))
        elif kind.removeprefix("response.") in _ENDS:
            yield from self._end(part(event, "response"), kind.removeprefix("response."))
        elif event.get("object") == "response":
            yield from self._end(event, text(event, "status"))
        elif kind == "error" or isinstance(event.get("error"), Mapping):
            raise ReportedError(error_report(0, event))

    def _keep(self, index: int, item: object) -> None:
        """An output item is complete: only now does a tool request in it count as a call."""
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
                self.count_hidden(text(item, "arguments"))
        if not self._streamed:
            for thought in self._thoughts():
                self.add_reasoning(f"{thought}\n\n")
        if not self.text:
            for content_part in self._parts():
                self._refused |= bool(text(content_part, "refusal"))
                yield self.add_text(text(content_part, "text") or text(content_part, "refusal"))
        reason = text(part(response, "incomplete_details"), "reason")
        if status == "completed":
            self.finish = "tool" if self.calls else "refusal" if self._refused else "end"
        elif status == "incomplete":
            if declines(reason) or self._refused:
                self.finish = "refusal"
            elif not reason or reason.startswith("max_"):
                self.finish = "length"
            else:  # counts as cut off
                self.finished, self.ending = True, reason
        elif status in _ENDS:
            self._count()
            raise ReportedError(error_report(0, part(response, "error")))
        if self.finish != "tool":
            self.raw = ""  # it may contain a call that is not made

    def _parts(self) -> Iterator[Mapping[str, Any]]:
        """The parts of the messages among the items."""
        for _, item in sorted(self._items.items()):
            content = item.get("content") if text(item, "type") == "message" else None
            yield from (content_part for content_part in content or () if isinstance(content_part, Mapping))

    def _thoughts(self) -> Iterator[str]:
        """The reasoning that the service shows: summaries, or a local server's full text."""
        for _, item in sorted(self._items.items()):
            for name in ("summary", "content") if text(item, "type") == "reasoning" else ():
                summary = item.get(name)
                yield from (text(block, "text") for block in (summary if isinstance(summary, list) else ()))

    def _usage(self, response: Mapping[str, Any]) -> None:
        """Read the service's counts; input includes tokens read from the cache and written to it. All zeros means no
        count.
        """
        details = part(response, "input_tokens_details")
        total, output = count(response, "input_tokens") or 0, count(response, "output_tokens")
        if total or output:
            cached = min(count(details, "cached_tokens") or 0, total)
            write = min(count(details, "cache_write_tokens") or 0, total - cached)
            self.set_usage((total - cached - write, cached, write) if total else None, output)
