"""Chat completions over the openai SDK, for any service with a compatible `base_url`.

Trusts no field of a chunk: compatible services leave out, null or misspell most of them. Servers without a reasoning
parser leave the thoughts in the text, where they are cut out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bot.llm.answer import Answer
from bot.llm.base import Message, Meter, Prompt, ToolCall
from bot.llm.faults import Manners
from bot.llm.fields import arguments_of, count, dollars, text
from bot.llm.json_answers import in_words
from bot.llm.openai_client import client_of
from bot.llm.service import Service
from bot.llm.thoughts import Thoughts, unopened

if TYPE_CHECKING:
    from openai import AsyncOpenAI

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


class ChatCompletions(Service):
    """Without a key, none is sent: a local server asks for none."""

    sdk = "openai"
    _headers: dict[str, Any]

    def _build(self, sdk: Any, http: Any) -> AsyncOpenAI:
        client, self._headers = client_of(sdk, http, self._base_url, self._key)
        _ = client.chat.completions  # imported on first use, so: here in the thread
        return client

    def _new_manners(self) -> Manners:
        optional = ("stream_options", "temperature", "reasoning_effort", "response_format", "tool_choice")
        return Manners(optional, {"max_tokens": "max_completion_tokens"})

    def _request(self, model: str, prompt: Prompt, left_out: Set[str]) -> dict[str, Any]:
        system = prompt.system
        sent: dict[str, Any] = {"model": model, "max_tokens": prompt.max_tokens}
        sent["stream_options"] = {"include_usage": True}
        if prompt.temperature is not None:
            sent["temperature"] = prompt.temperature
        if prompt.effort is not None:
            sent["reasoning_effort"] = prompt.effort
        if prompt.schema is not None:
            if self._capabilities.json_schema and "response_format" not in left_out:
                form = {"name": "answer", "strict": True, "schema": prompt.schema}
                sent["response_format"] = {"type": "json_schema", "json_schema": form}
            else:
                system = in_words(system, prompt.schema)
        if prompt.tools:
            sent["tools"] = [
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
                sent["tool_choice"] = "none"
        sent["messages"] = [{"role": "system", "content": system}] if system else []
        for message in prompt.messages:
            sent["messages"] += _messages(message)
        return sent

    async def _send(self, client: AsyncOpenAI, sent: dict[str, Any], *, whole: bool) -> Any:
        if whole:
            sent = {name: value for name, value in sent.items() if name != "stream_options"}
        # As it is: where messages are an argument, the SDK looks through each for names to translate, which takes it
        # half a millisecond a message, and finds none.
        talk = {"messages": sent["messages"]}
        return await client.chat.completions.create(
            stream=not whole, extra_headers=self._headers, extra_body=talk, **(sent | {"messages": ()})
        )

    def _answer(self, label: str, prompt: Prompt, meter: Meter) -> ChatAnswer:
        return ChatAnswer(label, prompt, meter, self._unopened)

    @cached_property
    def _unopened(self) -> set[str]:
        """The models found to begin their answers inside of thoughts: see ChatAnswer."""
        return set()


def _messages(message: Message) -> list[dict[str, Any]]:
    """One turn: results of tools are messages of their own, before what the person says."""
    made: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result.call, "content": result.text} for result in message.results
    ]
    if message.calls:
        calls = [{"id": call.id, "type": "function", "function": _function(call)} for call in message.calls]
        made.append({"role": message.role, "content": message.text or None, "tool_calls": calls})
    elif message.images:
        parts: list[dict[str, Any]] = [
            {"type": "image_url", "image_url": {"url": image.url}} for image in message.images
        ]
        parts += [{"type": "text", "text": message.text}] if message.text else []
        made.append({"role": message.role, "content": parts})
    elif message.text or not message.results:  # no list: some servers take nothing but a text
        made.append({"role": message.role, "content": message.text})
    return made


def _function(call: ToolCall) -> dict[str, str]:
    """A call as it goes back: some servers parse the arguments, and refuse what a model wrote wrongly."""
    return {"name": call.name, "arguments": json.dumps(arguments_of(call.arguments), ensure_ascii=False)}


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
        if isinstance(calls := getattr(delta, "tool_calls", None), list):
            self._tools(calls)
        reason = getattr(choice, "finish_reason", None)
        if isinstance(reason, str) and reason:
            # An unknown reason still says that the service considers the answer whole.
            ended = _FINISH.get(reason, "end")
            if ended == "cut":
                self.over = True
            elif self._refused and ended == "end":
                self.finish = "refusal"
            else:  # some services say "stop" beside their tool calls
                self.finish = "tool" if self.calls and ended == "end" else ended
            if self.finish:
                yield self._rest(self.finish)

    def _set_apart(self, thought: str) -> None:
        if thought.strip() and not self._apart:
            self._apart = True
            self._thoughts.expected = False
            self._unopened.discard(self._model)

    def _part(self, said: str, thought: str) -> str:
        """Takes thoughts of the text for what they are; gives what is said."""
        if thought:
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

    def _tools(self, said: list[object]) -> None:
        """Tool calls come in pieces that belong together by their index (by their place, where it is missing)."""
        for place, part in enumerate(said):
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
