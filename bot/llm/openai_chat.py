"""Chat completions over the openai SDK, for any service with a compatible `base_url`.

Trusts no field of a chunk: compatible services omit, null or misspell most of them. Servers without a reasoning parser
leave the thoughts in the text; they are cut out here. Fields besides text and calls that a service may need back are
returned unchanged: DeepSeek's `reasoning_content`, OpenRouter's `reasoning_details`, and the `extra_content` in which
Gemini signs its calls.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bot.config.model_spec import SAMPLING
from bot.llm.answer import Answer
from bot.llm.base import Message, Meter, Prompt
from bot.llm.completion import ToolCall
from bot.llm.diagnosis import declines
from bot.llm.error_report import ErrorReport, error_report
from bot.llm.faults import RAW, ParameterRules, ReportedError
from bot.llm.fields import arguments_of, characters, count, dollars, field, objects_of, text
from bot.llm.json_answers import in_words
from bot.llm.openai_client import client_of
from bot.llm.service import Service
from bot.llm.thoughts import Thoughts, unopened

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_FINISH = {
    "stop": "end",
    **dict.fromkeys(("eos", "eos_token", "end_turn", "stop_sequence", "complete", "completed"), "end"),
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "tool"),
}
"""Reasons to end, in small letters: OpenAI's, and those of compatible services (Mistral, Gemini, vLLM and
text-generation-inference); `diagnosis.declines` recognises refusals. Any other reason, such as DeepSeek's
"insufficient_system_resource", means that the answer was cut off."""

_THOUGHTS = ("reasoning_content", "reasoning")
_DETAILS = "reasoning_details"
_SIGNED = "extra_content"
_OWN = (*_THOUGHTS, _DETAILS, _SIGNED)
_UNREAD = re.compile(
    r"unknown|unrecognized|unexpected|unsupported|not (?:supported|permitted|allowed)|extra (?:input|field)",
    re.I,
)
_THINKS_NOT = re.compile(
    r"(?:not|n['’]t) support (?:thinking|reasoning|effort)"
    r"|(?:thinking|reasoning)[ _]?(?:level|budget|effort|config|mode)?(?: [A-Z]+)?"
    r" (?:is|are) not (?:supported|enabled|available)"
    r"|only works in thinking mode",
    re.I,
)
"""How services refuse to make a model think this hard: Ollama ('"gemma3" does not support thinking'), Gemini ("Thinking
level MINIMAL is not supported for this model", "This model only works in thinking mode")."""
_UNKNOWN = ("min_p", "repeat_penalty")
"""Parameters of local servers that the SDK has no argument for."""
_GROWS = ("text", "summary", "data")
"""The fields of a detail that come in pieces; the others come whole (OpenRouter, "Reasoning tokens")."""


class _ChatRules(ParameterRules):
    """RAW stands for the extra fields of a turn that a service does not accept back."""

    def learn(self, error: ErrorReport, request: Mapping[str, Any], overrides: dict[str, Any]) -> bool:
        if super().learn(error, request, overrides):
            return True
        if "reasoning_effort" in request and error.status in (400, 422) and _THINKS_NOT.search(error.message):
            self.left_out.add("reasoning_effort")
            return True
        own_parameters = {
            name
            for turn in request["messages"]
            for entry in (turn, *turn.get("tool_calls", ()))
            for name in entry
        }
        about = f"{error.param} {error.message}"
        if (
            RAW not in overrides
            and error.fault == "bad_request"
            and _UNREAD.search(about)
            and any(re.search(rf"\b{name}\b", about) for name in own_parameters.intersection(_OWN))
        ):
            overrides[RAW] = None
            return True
        return False


class ChatCompletions(Service):
    """Chat completions. Without a key, none is sent: a local server needs none."""

    sdk = "openai"
    _omitted: dict[str, Any]

    def _build(self, sdk: Any, http: Any) -> AsyncOpenAI:
        client, self._omitted = client_of(sdk, http, self._base_url, self._key)
        _ = client.chat.completions  # imports here, in the thread, not at the first call
        return client

    def _new_rules(self) -> ParameterRules:
        optional = ("stream_options", "temperature", "reasoning_effort", "response_format", "tool_choice")
        return _ChatRules((*optional, *SAMPLING), {"max_tokens": "max_completion_tokens"})

    def _request(self, model: str, prompt: Prompt, left_out: Set[str]) -> dict[str, Any]:
        system = prompt.system
        request: dict[str, Any] = {"model": model, "max_tokens": prompt.max_tokens}
        request["stream_options"] = {"include_usage": True}
        if prompt.temperature is not None:
            request["temperature"] = prompt.temperature
        if prompt.effort is not None:
            request["reasoning_effort"] = prompt.effort
        request |= prompt.sampling or {}
        if prompt.schema is not None:
            if self._capabilities.json_schema and "response_format" not in left_out:
                form = {"name": "answer", "strict": True, "schema": prompt.schema}
                request["response_format"] = {"type": "json_schema", "json_schema": form}
            else:
                system = in_words(system, prompt.schema)
        if prompt.tools:
            request["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in prompt.tools
            ]
            if prompt.closing:
                request["tool_choice"] = "none"
        request["messages"] = [{"role": "system", "content": system}] if system else []
        for message in prompt.messages:
            request["messages"] += _messages(message, raw=RAW not in left_out)
        return request

    async def _send(self, client: AsyncOpenAI, request: dict[str, Any], *, whole: bool) -> Any:
        request = dict(request)
        if whole:
            request.pop("stream_options", None)
        # Sent as `extra_body`: the SDK would look through each message for names to translate, which takes half a
        # millisecond a message and finds none.
        body: dict[str, Any] = {"messages": request["messages"]}
        request["messages"] = ()
        for name in _UNKNOWN:
            if name in request:
                body[name] = request.pop(name)
        return await client.chat.completions.create(
            stream=not whole, extra_headers=self._omitted, extra_body=body | self._body, **request
        )

    def _answer(self, label: str, prompt: Prompt, meter: Meter) -> ChatAnswer:
        return ChatAnswer(label, prompt, meter, self._unopened)

    @cached_property
    def _unopened(self) -> set[str]:
        """The models found to begin their answers inside thoughts: see ChatAnswer."""
        return set()


def _messages(message: Message, *, raw: bool) -> list[dict[str, Any]]:
    """The messages of one turn: results of tools are separate messages, before the person's text."""
    turns: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result.call, "content": result.text} for result in message.results
    ]
    signed, own_fields = None, dict[str, Any]()
    if raw and message.raw:
        extra_fields = next(iter(objects_of(message.raw)), {})
        signed = extra_fields.get("calls")
        own_fields = {name: extra_fields[name] for name in _OWN if name in extra_fields}
    if message.calls:
        calls = [
            {"id": call.id, "type": "function", "function": _function(call)}
            | ({_SIGNED: signed[call.id]} if isinstance(signed, dict) and call.id in signed else {})
            for call in message.calls
        ]
        turns.append(
            {"role": message.role, "content": message.text or None, "tool_calls": calls} | own_fields
        )
    elif message.images:
        parts: list[dict[str, Any]] = [
            {"type": "image_url", "image_url": {"url": image.url}} for image in message.images
        ]
        parts += [{"type": "text", "text": message.text}] if message.text else []
        turns.append({"role": message.role, "content": parts})
    elif message.text or not message.results:  # not a list: some servers accept only a text
        turns.append({"role": message.role, "content": message.text} | own_fields)
    return turns


def _function(call: ToolCall) -> dict[str, str]:
    """A call as it is sent back: some servers parse the arguments, and refuse invalid JSON from the model."""
    return {"name": call.name, "arguments": json.dumps(arguments_of(call.arguments), ensure_ascii=False)}


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""
    signed: object = None


def _content(parts: list[object] | Mapping[str, object]) -> tuple[str, str]:
    """The text and the thoughts of a delta: Mistral sends both as a list of parts in the content. Some gateways send
    one part without a list, or texts in a list."""
    visible = thought = ""
    for part in [parts] if isinstance(parts, Mapping) else parts:
        visible += part if isinstance(part, str) else text(part, "text")
        inner = field(part, "thinking")
        thought += text(part, "thinking") + "".join(
            text(piece, "text") for piece in (inner if isinstance(inner, list) else ())
        )
    return visible, thought


def _id(place: int, call: _Call) -> str:
    """The id of a call; some services send none."""
    return call.id or f"call_{place}"


class ChatAnswer(Answer):
    """Reads `chat.completion.chunk`s, or one `chat.completion`.

    `unopened` are the models whose answers were seen to begin inside thoughts; it is updated here. Text of such a model
    is held back until the closing tag.
    """

    def __init__(self, model: str, prompt: Prompt, meter: Meter, unopened: set[str]) -> None:
        super().__init__(model, prompt, meter)
        self._refused = False
        self._calls: list[_Call] = []
        self._at: dict[int, _Call] = {}
        self._extra_fields: dict[str, Any] = {}
        self._unopened = unopened
        self._thoughts = Thoughts(expected=model in unopened)
        self._thoughts_apart = False
        """Whether thoughts come in a separate field; some servers leave them in the text as well."""

    def read(self, event: object) -> Iterator[str]:
        if text(event, "object") == "error":  # older vLLM servers send it without "error" around it
            names = ("message", "type", "code", "param")
            raise ReportedError(error_report(0, {name: field(event, name) for name in names}))
        if usage := getattr(event, "usage", None):
            self._usage(usage)
        choices = getattr(event, "choices", None)
        choice = choices[0] if isinstance(choices, list) and choices else None
        delta = getattr(choice, "delta", None) or getattr(choice, "message", None)
        for name in _THOUGHTS:
            thought = getattr(delta, name, None)
            if isinstance(thought, str):
                self._think(thought)
                self._extra_fields[name] = self._extra_fields.get(name, "") + thought
                break
        if isinstance(details := getattr(delta, _DETAILS, None), list):
            self._extra_fields[_DETAILS] = _grown(self._extra_fields.get(_DETAILS, []), details)
        if signed := getattr(delta, _SIGNED, None):
            self._extra_fields[_SIGNED] = signed
        parts = getattr(delta, "content", None)
        said, thought = _content(parts) if isinstance(parts, list | Mapping) else (text(delta, "content"), "")
        if thought:
            self._think(thought)
        yield self._part(*self._thoughts.feed(said))
        if refusal := text(delta, "refusal"):
            self._refused = True
            yield self.add_text(refusal)
        if isinstance(calls := getattr(delta, "tool_calls", None), list):
            self._tools(calls)
        if isinstance(error := getattr(choice, "error", None), Mapping):
            raise ReportedError(error_report(0, error))  # OpenRouter's, for a provider that failed midway
        reason = text(choice, "finish_reason")
        if reason:
            finish = _FINISH.get(reason.lower())
            # OpenRouter says "stop" even if its provider ended for another reason.
            native = text(choice, "native_finish_reason")
            if (finish is None and declines(reason)) or (native and declines(native)):
                finish = "refusal"
            if finish is None:  # counts as cut off
                self.finished, self.ending = reason == "error", reason
            elif self._refused and finish == "end":
                self.finish = "refusal"
            else:  # some services say "stop" with tool calls
                self.finish = "tool" if self.calls and finish == "end" else finish
            if self.finish:
                yield self._remainder(self.finish)
                if self.calls or self.finish == "length":
                    self._keep()

    def _think(self, thought: str) -> None:
        """Add thoughts that come in a separate field."""
        self.count_hidden(thought)
        self.add_reasoning(thought)
        if thought.strip() and not self._thoughts_apart:
            self._thoughts_apart = True
            self._thoughts.expected = False
            self._unopened.discard(self._model)

    def _part(self, new_text: str, reasoning: str) -> str:
        """Count and keep thoughts; returns the text to show."""
        if reasoning:
            self.count_hidden(reasoning)
            if not self._thoughts_apart:
                self.add_reasoning(reasoning)
        return self.add_text(new_text)

    def _remainder(self, finish: str) -> str:
        """The text held back until the end. Also makes corrections that need the whole text."""
        new_text, reasoning = self._thoughts.finish(finish)
        if text := self._thoughts.taken_back:
            self.retract_reasoning(text)
        visible = self._part(new_text, reasoning)
        opened = self._thoughts.unopened
        if not self._thoughts.closed and (end := unopened(self.text)):
            self.text_was_reasoning(self.text[: end.start()], self.text[end.end() :])
            opened = True
        if opened:
            self._unopened.add(self._model)
        elif opened is False:
            self._unopened.discard(self._model)
        return visible

    def _keep(self) -> None:
        """Keep the extra fields for the next request. Details repeat the thoughts, so the thoughts are then
        left out.
        """
        extra_fields = {
            name: value
            for name, value in self._extra_fields.items()
            if name not in _THOUGHTS or _DETAILS not in self._extra_fields
        }
        signed = {_id(n, call): call.signed for n, call in enumerate(self._calls) if call.signed is not None}
        if signed:
            extra_fields["calls"] = signed
        self.raw = characters(json.dumps([extra_fields], ensure_ascii=False)) if extra_fields else ""

    def _tools(self, call_parts: list[object]) -> None:
        """Join the pieces of tool calls by their index, or by their position if it is missing.

        Another id begins another call, because some services give all calls of a turn the index 0.
        """
        for place, part in enumerate(call_parts):
            index, id = getattr(part, "index", None), text(part, "id")
            at = index if isinstance(index, int) else place
            call = self._at.get(at)
            if call is None or (id and call.id and id != call.id):
                call = self._at[at] = _Call()
                self._calls.append(call)
            function = getattr(part, "function", None)
            call.id = call.id or id
            call.name = call.name or text(function, "name")
            call.signed = getattr(part, _SIGNED, None) or call.signed
            arguments = field(function, "arguments")  # some gateways send an object instead of JSON text
            piece = (
                json.dumps(arguments, ensure_ascii=False)
                if isinstance(arguments, Mapping)
                else text(function, "arguments")
            )
            call.arguments += piece
            self.count_hidden(piece)
        self.calls = tuple(
            ToolCall(_id(n, call), call.name, call.arguments)
            for n, call in enumerate(self._calls)
            if call.name
        )

    def _usage(self, usage: object) -> None:
        """Read the usage that the service reports, with cached input separate. Implausible counts are ignored."""
        details = getattr(usage, "prompt_tokens_details", None)
        prompt, output = count(usage, "prompt_tokens") or 0, count(usage, "completion_tokens")
        # Gemini and Grok include thinking only in the total.
        if prompt and (total := count(usage, "total_tokens") or 0) - prompt > (output or 0):
            output = total - prompt
        if prompt or output:
            cached = min(count(details, "cached_tokens") or 0, prompt)
            write = min(count(details, "cache_write_tokens") or 0, prompt - cached)
            # OpenRouter's own price of the call, plus the model maker's price if the user's own key is used there.
            usd = dollars(usage, "cost")
            if usd is not None and getattr(usage, "is_byok", False) is True:
                usd += dollars(getattr(usage, "cost_details", None), "upstream_inference_cost") or 0.0
            self.set_usage((prompt - cached - write, cached, write) if prompt else None, output, usd)


def _grown(details: list[Any], pieces: list[Any]) -> list[Any]:
    """Merge details of the reasoning with those of another piece; the service refuses them in pieces."""
    for piece in pieces:
        last = details[-1] if details else None
        if not isinstance(piece, dict):
            continue
        if (
            last is None
            or "index" not in piece
            or any(last.get(n) != piece.get(n) for n in ("type", "index"))
        ):
            details = [*details, dict(piece)]
            continue
        for name, value in piece.items():
            grows = name in _GROWS and isinstance(value, str) and isinstance(last.get(name), str)
            if value is not None:
                last[name] = last[name] + value if grows else value
    return details
