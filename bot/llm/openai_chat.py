"""Chat completions over the openai SDK, for any service with a compatible `base_url`."""

from __future__ import annotations

import json
from collections.abc import Set
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bot.llm.base import Message, Meter, Prompt, ToolCall
from bot.llm.chat_answer import ChatAnswer
from bot.llm.fields import arguments_of
from bot.llm.json_answers import in_words
from bot.llm.manners import Manners
from bot.llm.openai_client import client_of, headers
from bot.llm.service import Service

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class ChatCompletions(Service):
    """Without a key, none is sent: a local server asks for none."""

    sdk = "openai"

    def _build(self, sdk: Any, http: Any) -> AsyncOpenAI:
        client = client_of(sdk, http, self._base_url, self._key)
        _ = client.chat.completions  # imported on first use, so: here in the thread
        return client

    def _new_manners(self) -> Manners:
        optional = ("stream_options", "temperature", "reasoning_effort", "response_format")
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
        sent["messages"] = [{"role": "system", "content": system}] if system else []
        for message in prompt.messages:
            sent["messages"] += _messages(message)
        return sent

    async def _send(self, client: AsyncOpenAI, sent: dict[str, Any], *, whole: bool) -> Any:
        import openai

        if whole:
            sent = {name: value for name, value in sent.items() if name != "stream_options"}
        extra = headers(openai, self._key)
        return await client.chat.completions.create(stream=not whole, extra_headers=extra, **sent)

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
    elif message.text or not message.results:
        made.append({"role": message.role, "content": message.text})
    return made


def _function(call: ToolCall) -> dict[str, str]:
    """A call as it goes back: some servers parse the arguments, and refuse what a model wrote wrongly."""
    return {"name": call.name, "arguments": json.dumps(arguments_of(call.arguments), ensure_ascii=False)}
