"""Anthropic's Messages API over its SDK.

Sends no temperature: the service does not accept one. The events of a stream are read here and not by the SDK: the SDK
hides the pings that come during long thinking, and would change blocks that must go back unchanged (thinking with its
signature). No field of an event is trusted.
"""

from __future__ import annotations

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
from bot.llm.error_report import ErrorReport
from bot.llm.faults import RAW, ParameterRules
from bot.llm.fields import arguments_of, call_id, characters, count, objects_of, part, text
from bot.llm.json_answers import in_words
from bot.llm.service import Service

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream

log = logging.getLogger(__name__)

ADDRESS = "https://api.anthropic.com"

MARKS = 4
"""How many places of a prompt may be marked for the cache (Prompt caching, "Explicit cache breakpoints")."""

_id = partial(call_id, allowed=re.compile(r"[a-zA-Z0-9_-]+"))
_THOUGHTS = ("thinking", "redacted_thinking")
_BLOCK = re.compile(r"text|thinking|redacted_thinking|container_upload|\w*tool_use|\w+_tool_result")
_UNKNOWN = re.compile(
    r"not support|unsupported|not permitted|unknown|unrecognized|unexpected|expected tags", re.I
)
_UNREAD = re.compile(r"thinking.*(?:cannot be modified|different conversation)|signature.*thinking", re.I)
PAUSES = 5
"""How often a turn that the service pauses is continued before it counts as having reached the limit."""

_FINISH = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
    "pause_turn": "length",  # paused once too often
}


class _MessagesRules(ParameterRules):
    """Effort and schema are sent in one parameter, so an error may name any of the three. RAW stands for thinking that
    the service refuses to read again, as from another model's turn."""

    def learn(self, error: ErrorReport, request: Mapping[str, Any], overrides: dict[str, Any]) -> bool:
        if "effort" in request and error.refuses("effort"):
            self.left_out.add("effort")
            return True
        if _UNREAD.search(error.message) and error.status == 400 and _thoughtful(request):
            overrides[RAW] = None
            return True
        # An invalid schema does not mean that the model accepts no schemas.
        schema_rejected = not _UNKNOWN.search(error.message) or "format.schema" in error.message
        if schema_rejected and error.most_output(request.get("max_tokens", 0)) is None:
            return False
        if super().learn(error, request, overrides):
            return True
        if "ttl" not in self.left_out and error.refuses("ttl"):  # a proxy that supports only five minutes
            self.left_out.add("ttl")
            return True
        dropped = (
            {name for name in self.optional if name in request} if error.refuses("output_config") else set()
        )
        self.left_out |= dropped
        return bool(dropped)


class AnthropicMessages(Service):
    """Anthropic's Messages API. Without a key, none is sent: a local server with this API needs none."""

    sdk = "anthropic"

    def _build(self, sdk: Any, http: Any) -> AsyncAnthropic:
        client: AsyncAnthropic = sdk.AsyncAnthropic(
            # None of these may be None: the SDK would read the environment instead.
            base_url=(self._base_url or ADDRESS).rstrip("/").removesuffix("/v1"),
            api_key=self._key or "-",
            webhook_key="",
            open_telemetry=False,
            max_retries=0,
            http_client=http,
            timeout=http.timeout,
        )
        client._custom_headers = {}  # ANTHROPIC_CUSTOM_HEADERS, which may contain another key
        _ = client.messages  # imports here, in the thread, not at the first call
        return client

    def _new_rules(self) -> ParameterRules:
        return _MessagesRules(("effort", "format", "thinking"))

    def _request(self, model: str, prompt: Prompt, left_out: Set[str]) -> dict[str, Any]:
        """The parameters, with `effort` and `format` as separate entries: see `_wire`."""
        system = prompt.system
        request: dict[str, Any] = {"model": model, "max_tokens": prompt.max_tokens}
        if prompt.effort is not None:
            request["effort"] = prompt.effort
        if prompt.reasoning and prompt.effort is not None:
            # Also if thinking is not shown: most models think only if they are asked to.
            request["thinking"] = {"type": "adaptive", "display": "summarized"}
        if prompt.schema is not None:
            if self._capabilities.json_schema and "format" not in left_out:
                request["format"] = {"type": "json_schema", "schema": prompt.schema}
            else:
                system = in_words(system, prompt.schema)
        tools = prompt.tools
        if not tools and (names := {call.name: None for turn in prompt.messages for call in turn.calls}):
            # Without it a conversation that used tools is refused.
            tools = tuple(Tool(name, "", {"type": "object"}) for name in names)
        if tools and (prompt.closing or not prompt.tools):
            request["tool_choice"] = {"type": "none"}
        before = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in tools
        ]
        if before:
            request["tools"] = before
        if system.strip():
            before = request["system"] = [{"type": "text", "text": system}]
        turns = [(turn, _content(turn, thoughts=RAW not in left_out)) for turn in prompt.messages]
        request["messages"] = [
            {"role": message.role, "content": content} for message, content in turns if content
        ]
        # A later mark covers everything before it, so the last ones are kept.
        marked = [before] if prompt.cache else []
        marked += [content for message, content in turns if message.cache]
        hour = prompt.cache_hour and "ttl" not in left_out
        for blocks in marked[-MARKS:]:
            _mark(blocks, hour=hour)
        return request

    async def _send(self, client: AsyncAnthropic, request: dict[str, Any], *, whole: bool) -> Any:
        import anthropic

        arguments = self._wire(request)
        if self._body:
            arguments["extra_body"] = self._body
        if not whole:
            return _Events(await client.messages.create(stream=True, **arguments))
        limits = self._timeouts
        # Without an explicit timeout the SDK refuses requests whose answers may be long.
        timeout = anthropic.Timeout(limits.total, connect=limits.connect)
        answer = await client.messages.with_raw_response.create(timeout=timeout, **arguments)
        return await answer.json()

    def _answer(self, label: str, prompt: Prompt, meter: Meter) -> MessagesAnswer:
        return MessagesAnswer(label, prompt, meter, self._rules[label.partition(":")[2]].left_out)

    async def _count(self, client: AsyncAnthropic, request: dict[str, Any]) -> object:
        counted_part = {name: value for name, value in request.items() if name != "max_tokens"}
        tokens: object = (await client.messages.count_tokens(**self._wire(counted_part))).input_tokens
        return tokens

    def _wire(self, request: dict[str, Any]) -> dict[str, Any]:
        """The SDK's arguments for the request."""
        from anthropic import Omit

        config = {name: request[name] for name in ("effort", "format") if name in request}
        arguments = {name: value for name, value in request.items() if name not in config}
        if config:
            arguments["output_config"] = config
        if not self._key:
            arguments["extra_headers"] = {"Authorization": Omit()}
        return arguments


class _Events:
    """The events of a stream as JSON objects; raises the SDK's errors."""

    def __init__(self, stream: AsyncStream[Any]) -> None:
        self.response = stream.response
        self._stream = stream
        self._events = stream.raw_events(stream.response)

    def __aiter__(self) -> _Events:
        return self

    async def __anext__(self) -> object:
        from anthropic import APIConnectionError, APIError, APITimeoutError
        from httpx2 import HTTPError, TimeoutException

        request = self.response.request
        try:
            event = await anext(self._events)
            while not event.data:
                event = await anext(self._events)
        except TimeoutException as error:
            raise APITimeoutError(request) from error
        except HTTPError as error:
            raise APIConnectionError(request=request) from error
        payload: object = json.loads(event.data)
        if event.event == "error" or (isinstance(payload, dict) and payload.get("type") == "error"):
            raise APIError("an error in the stream", request, body=payload)
        return payload

    async def close(self) -> None:
        await self._stream.close()


def _content(message: Message, *, thoughts: bool) -> list[dict[str, Any]]:
    """A turn's blocks: results of tools first, and no blank text, because the service refuses anything else."""
    if message.raw and (own_blocks := _own_blocks(message.raw)):
        return [block for block in own_blocks if thoughts or block["type"] not in _THOUGHTS]
    blocks: list[dict[str, Any]] = [
        {
            "type": "tool_result",
            "tool_use_id": _id(result.call),
            # The service refuses an error result without text.
            "content": result.text or ("It failed." if result.failed else ""),
            **({"is_error": True} if result.failed else {}),
        }
        for result in message.results
    ]
    blocks += [
        {"type": "image", "source": {"type": "base64", "media_type": image.media, "data": image.base64}}
        for image in message.images
    ]
    if message.text.strip():
        blocks.append({"type": "text", "text": message.text})
    blocks += [
        {"type": "tool_use", "id": _id(call.id), "name": call.name, "input": arguments_of(call.arguments)}
        for call in message.calls
    ]
    return blocks


def _own_blocks(raw: str) -> list[dict[str, Any]]:
    """The blocks of a turn that this API wrote; none if another API wrote it."""
    blocks = objects_of(raw)
    if not all(_BLOCK.fullmatch(str(block.get("type"))) for block in blocks):
        return []
    return [block for block in blocks if block["type"] != "text" or str(block.get("text") or "").strip()]


def _thoughtful(request: Mapping[str, Any]) -> bool:
    """Whether a turn with thinking is sent back."""
    return any(block["type"] in _THOUGHTS for turn in request["messages"] for block in turn["content"])


def _mark(blocks: list[dict[str, Any]], *, hour: bool) -> None:
    """Mark the prompt up to here for the cache; thinking blocks cannot be marked."""
    for block in reversed(blocks):
        if block.get("type") not in _THOUGHTS:
            block["cache_control"] = {"type": "ephemeral"} | ({"ttl": "1h"} if hour else {})
            break


class MessagesAnswer(Answer):
    """Reads the events of a stream, or one whole message."""

    _blocks: list[dict[str, Any]]
    _pauses = 0

    def __init__(self, model: str, prompt: Prompt, meter: Meter, left_out: Set[str]) -> None:
        """`left_out` are the parameters that the service has refused so far."""
        super().__init__(model, prompt, meter)
        self._cache_hour = prompt.cache_hour
        self._left_out = left_out

    def begin(self, input_tokens: int) -> None:
        super().begin(input_tokens)
        if not self._pauses:
            self._blocks = []
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
            self.finished = True
        elif kind == "message":
            content = event.get("content") if isinstance(event, Mapping) else None
            for index, block in enumerate(content if isinstance(content, list) else ()):
                yield from self._start(index, block)
                self._stop(index)
            self._usage(event, ended=True)
            self._end(text(event, "stop_reason"))

    def continuation(self, prompt: Prompt) -> Prompt:
        """The prompt with the paused turn unchanged as its last message; the service continues from there."""
        messages = prompt.messages[:-1] if self._pauses else prompt.messages
        self._pauses += 1
        turn = Message("assistant", self.text, raw=self._raw_turn())
        return replace(prompt, messages=(*messages, turn))

    def _start(self, index: int, block: object) -> Iterator[str]:
        if not isinstance(block, Mapping) or not text(block, "type"):
            return
        opened = self._open[index] = dict(block)
        self._blocks.append(opened)
        if opened.get("type") == "text" and (new_text := text(opened, "text")):
            yield self.add_text(new_text)
        elif thought := text(opened, "thinking"):
            self._think(thought)

    def _grow(self, index: int, delta: Mapping[str, Any]) -> Iterator[str]:
        opened = self._open.get(index)
        if opened is None:
            return
        if new_text := text(delta, "text"):
            opened["text"] = text(opened, "text") + new_text
            yield self.add_text(new_text)
        elif thought := text(delta, "thinking"):
            opened["thinking"] = text(opened, "thinking") + thought
            self._think(thought)
        elif signature := text(delta, "signature"):
            opened["signature"] = signature
        elif piece := text(delta, "partial_json"):
            self._arguments[index] = self._arguments.get(index, "") + piece
            self.count_hidden(piece)
        elif citation := delta.get("citation"):
            opened["citations"] = [*(opened.get("citations") or ()), citation]

    def _think(self, thought: str) -> None:
        self.count_hidden(thought)
        self.add_reasoning(thought)

    def _stop(self, index: int) -> None:
        """A block is complete: only now does a tool request in it count as a call."""
        opened = self._open.pop(index, None)
        if opened is None or not isinstance(opened.get("input"), Mapping):
            return
        arguments = self._arguments.get(index)
        if arguments is not None:
            opened["input"] = arguments_of(arguments)
        else:
            arguments = json.dumps(opened["input"], ensure_ascii=False)
            self.count_hidden(arguments)
        if opened.get("type") == "tool_use":
            call = ToolCall(text(opened, "id"), text(opened, "name"), arguments)
            self.calls = (*self.calls, call)

    def _end(self, reason: str) -> None:
        self.paused = reason == "pause_turn" and self._pauses < PAUSES
        if reason and not self.paused:
            self.finish = "refusal" if declines(reason) else _FINISH.get(reason)
            self.ending = reason if self.finish is None else ""
        if self.finish == "tool":
            self.raw = self._raw_turn()

    def _raw_turn(self) -> str:
        return characters(json.dumps(self._blocks, ensure_ascii=False))

    def _usage(self, event: object, *, ended: bool) -> None:
        """Read the service's counts: they grow, and a later count replaces an earlier one. Cache tokens are not
        included in `input_tokens`. The output count is final only at the end of an answer. All zeros means no count."""
        usage = part(event, "usage")
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"):
            if (counted := count(usage, name)) is not None:
                self._counts[name] = counted
        uncached, cached, write = (
            self._counts.get(name, 0)
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        if uncached or cached or write:
            cache_creation = part(usage, "cache_creation")
            for_an_hour = self._cache_hour and "ttl" not in self._left_out
            hour = (
                count(cache_creation, "ephemeral_1h_input_tokens") if cache_creation else write * for_an_hour
            )
            self.set_usage((uncached, cached, write), hour=hour or 0)
        if ended and (output := count(usage, "output_tokens")):
            self.set_usage(output=output)
