"""A strict model service with chat completions, like a compatible service with few extras.

`python -m tests.fakes.chat_completions --port 0 --script FILE.json [--log FILE]`
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from aiohttp import web

from tests.fakes.chat_rules import messages_refusal, tools_refusal
from tests.fakes.model_service import Body, Call, Frame, ModelService, Refused, Reply, Turn
from tests.fakes.schemas import bad_name, schema_fault

__all__ = ["ChatService", "Reply"]

KNOWN = {
    "model": str,
    "messages": list,
    "stream": bool,
    "stream_options": dict,
    "max_tokens": int,
    "max_completion_tokens": int,
    "temperature": (int, float),
    "tools": list,
    "tool_choice": (str, dict),
    "parallel_tool_calls": bool,
    "response_format": dict,
    "reasoning_effort": str,
}
"""OpenAI itself also knows `store` and `prompt_cache_key`; compatible services refuse or ignore them."""

DIALECTS: Mapping[str, frozenset[str]] = {
    "": frozenset(),
    "deepseek": frozenset({"reasoning_content"}),
    "gemini": frozenset({"extra_content"}),
    "openrouter": frozenset({"reasoning", "reasoning_details"}),
    **dict.fromkeys(("azure", "mistral", "lmstudio"), frozenset[str]()),
}
"""The extra fields that each dialect accepts back."""

FILTERED: Mapping[str, Refused] = {
    "": Refused(
        400,
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a "
        "different prompt.",
        code="invalid_prompt",
    ),
    "azure": Refused(
        400,
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "prompt",
        "content_filter",
        {"status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation"}},
    ),
    "openrouter": Refused(
        403,
        "Your chosen model requires moderation and your input was flagged.",
        more={
            "code": 403,
            "metadata": {"reasons": ["violence"], "flagged_input": "…", "provider_name": "OpenAI"},
        },
    ),
    "deepseek": Refused(400, "Content Exists Risk", code="invalid_request_error"),
}
"""How each dialect refuses before it answers."""

_DETAIL: Body = {"type": "reasoning.text", "text": "", "format": "anthropic-claude-v1", "index": 0}


@dataclass
class ChatService(ModelService):
    """A service with chat completions. `limit`: the accepted names of the token limit. `refuses`: parameters that
    this model does not accept. `thoughts`: the field for its thoughts; other services have "reasoning". `dialect`:
    "deepseek", "gemini" and "openrouter" add fields of their own to a turn with tool calls, and refuse that turn
    without them; others refuse such fields. Gemini sends each call whole, all with the index 0, wraps errors in a list,
    and signs the first call of a turn. Mistral gives text as a list of parts, and its thoughts among them. LM Studio
    answers at a wrong path with an error and status 200.

    `forbidden`: a word that no prompt may hold. `minute`: the tokens a minute that one request may use, including its
    output limit, as Groq counts. `window`: the limit of prompt and answer together, as vLLM counts."""

    PATH: ClassVar[str] = "/v1/chat/completions"
    FINISHES: ClassVar[dict[str, str]] = {
        "end": "stop",
        "refusal": "content_filter",
        "tool": "tool_calls",
    }

    limit: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    temperature: bool = True
    stream_options: str = "taken"  # "taken", "refused", "ignored"
    refuses: tuple[str, ...] = ()
    owner: str = "library"  # the owner of its models: Ollama's word; llama.cpp has "llamacpp"
    listed: int = 0
    extra: tuple[str, ...] = ()  # parameters of its own
    thinks_not: str = ""  # how it refuses an effort
    thoughts: str = "reasoning_content"
    dialect: str = ""
    forbidden: str = ""
    minute: int = 0
    window: int = 0
    _own: dict[str, Body] = field(default_factory=dict)  # of a turn, by the id of each of its calls

    async def _list(self, request: web.Request) -> web.Response:
        self.listed += 1
        data = [{"id": name, "object": "model", "created": 1, "owned_by": self.owner} for name in self.models]
        return web.json_response({"object": "list", "data": data})

    def problem(self, status: int, error: Mapping[str, Any]) -> Body:
        problem = super().problem(status, error)
        if self.dialect != "gemini":
            return problem
        inner = {"code": status, "message": error["message"], "status": "INVALID_ARGUMENT"}
        return [{"error": inner}]  # type: ignore[return-value]

    def routes(self) -> list[web.RouteDef]:
        elsewhere = [web.post("/{path:.*}", self._elsewhere)] if self.dialect == "lmstudio" else []
        return [web.get("/v1/models", self._list), *elsewhere]

    async def _elsewhere(self, request: web.Request) -> web.Response:
        return web.json_response({"error": f"Unexpected endpoint or method. (POST {request.path})"})

    def body_refusal(self, body: Body) -> Refused | None:
        for name, value in body.items():
            if name in self.extra:
                continue
            if name not in KNOWN:
                detail = f"Unrecognized request argument supplied: {name}"
                return Refused(400, detail, name, "unknown_parameter")
            expected: Any = KNOWN[name]
            if not isinstance(value, expected) or (isinstance(value, bool) and expected is not bool):
                return Refused(400, f"Invalid type for '{name}'.", name, "invalid_type")
            if name == "reasoning_effort" and self.thinks_not:
                return Refused(400, self.thinks_not)
            if name in self.refuses:
                return Refused(400, f"Unsupported parameter: '{name}'.", name, "unsupported_parameter")
        for name in ("model", "messages"):
            if name not in body:
                detail = f"Missing required parameter: '{name}'."
                return Refused(400, detail, name, "missing_required_parameter")
        if body["model"] not in self.models:
            detail = f"The model '{body['model']}' does not exist."
            return Refused(404, detail, "model", "model_not_found")
        return (
            messages_refusal(body["messages"], sees=self.sees, own=DIALECTS[self.dialect])
            or self._own_refusal(body["messages"])
            or self._numbers(body)
            or self._options(body)
            or tools_refusal(body)
            or self._format(body)
            or self._room(body)
        )

    def _room(self, body: Body) -> Refused | None:
        """The refusal of a request that is too large or invalid."""
        read, most = self.prompt_tokens(body), max(int(body.get(name, 0)) for name in self.limit)
        if self.forbidden and self.forbidden in " ".join(self.texts(body)):
            return FILTERED[self.dialect] if self.dialect in FILTERED else FILTERED[""]
        if self.minute and read + most > self.minute:
            detail = (
                f"Request too large for model `{body['model']}` in organization `org_01kgg5588eftc8k70aes4864eb` "
                f"service tier `on_demand` on tokens per minute (TPM): Limit {self.minute}, Requested {read + most}, "
                "please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at "
                "https://console.groq.com/settings/billing"
            )
            return Refused(413, detail, code="rate_limit_exceeded", more={"type": "tokens"})
        if self.window and read + most > self.window:
            detail = (
                f"You passed {read} input tokens and requested {most} output tokens. However, the model's context "
                f"length is only {self.window} tokens, resulting in a maximum input length of {self.window - most} "
                f"tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value={read})"
            )
            more = {"type": "BadRequestError", "code": 400}
            return Refused(400, detail, "input_tokens", more=more)
        return None

    def _own_refusal(self, messages: list[Body]) -> Refused | None:
        """Check that the extra fields of a turn's calls come back unchanged."""
        for at, message in enumerate(messages):
            calls = message.get("tool_calls")
            if not calls:
                continue
            own = next((self._own[call["id"]] for call in calls if call["id"] in self._own), {})
            if self.dialect == "deepseek" and message.get("reasoning_content") != own.get(
                "reasoning_content"
            ):
                detail = f"Missing `reasoning_content` field in the assistant message at message index {at}."
                return Refused(400, detail, code="invalid_request_error")
            if self.dialect == "openrouter" and message.get("reasoning_details") != own.get(
                "reasoning_details"
            ):
                return Refused(400, "Provider returned error: the thinking blocks cannot be modified.")
            if self.dialect == "gemini" and own and calls[0].get("extra_content") != own["extra_content"]:
                detail = "Function call is missing a thought_signature in functionCall parts."
                return Refused(400, detail)
        return None

    def _numbers(self, body: Body) -> Refused | None:
        limits = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
        if len(limits) == 2:
            detail = "Set one of max_tokens and max_completion_tokens."
            return Refused(400, detail, "", "invalid_parameters")
        for name in limits:
            if name not in self.limit:
                return Refused(400, f"Unsupported parameter: '{name}'.", name, "unsupported_parameter")
            if body[name] < 1:
                return Refused(400, f"Invalid '{name}': below 1.", name, "integer_below_min_value")
            if body[name] > self.most_output:
                detail = f"{name} is too large: {body[name]}. This model supports at most {self.most_output}."
                return Refused(400, detail, name, "invalid_value")
        if "temperature" in body and not self.temperature:
            return Refused(400, "Unsupported value: 'temperature'.", "temperature", "unsupported_value")
        if not 0 <= body.get("temperature", 1) <= 2:
            return Refused(400, "Invalid 'temperature': 0 to 2.", "temperature", "decimal_out_of_range")
        return None

    def _options(self, body: Body) -> Refused | None:
        options = body.get("stream_options")
        if options is not None and self.stream_options == "refused":
            detail = "Unknown parameter: 'stream_options'."
            return Refused(400, detail, "stream_options", "unknown_parameter")
        if options is not None and not body.get("stream"):
            return Refused(400, "'stream_options' needs 'stream'.", "stream_options", "invalid_parameters")
        if options is not None and (
            set(options) != {"include_usage"} or not isinstance(options["include_usage"], bool)
        ):
            return Refused(400, "Invalid 'stream_options'.", "stream_options", "unknown_parameter")
        if body.get("reasoning_effort", "low") not in ("none", "minimal", "low", "medium", "high", "xhigh"):
            return Refused(400, "Invalid value.", "reasoning_effort", "invalid_value")
        return None

    def _format(self, body: Body) -> Refused | None:
        format = body.get("response_format")
        if format is None or format == {"type": "text"}:
            return None
        if format == {"type": "json_object"}:
            if "json" in " ".join(self.texts(body)).lower():
                return None
            return Refused(400, "'messages' must contain the word 'json'.", "messages")
        inner = format.get("json_schema")
        if set(format) != {"type", "json_schema"} or format["type"] != "json_schema":
            return Refused(400, "Invalid 'response_format'.", "response_format", "invalid_value")
        if not isinstance(inner, dict) or not set(inner) <= {"name", "description", "schema", "strict"}:
            return Refused(400, "Invalid 'json_schema'.", "response_format.json_schema", "invalid_type")
        if bad_name(inner.get("name")):
            return Refused(400, "Invalid name.", "response_format.json_schema.name", "invalid_value")
        if inner.get("strict") and (detail := schema_fault(inner.get("schema"))):
            detail = f"Invalid schema for response_format '{inner['name']}': {detail}"
            return Refused(400, detail, "response_format", "invalid_json_schema")
        return None

    def texts(self, body: Body) -> Iterator[str]:
        for message in body["messages"]:
            yield _text(message)
            for call in message.get("tool_calls", []):
                yield f"{call['function']['name']} {call['function']['arguments']}"
        for tool in body.get("tools", []):
            yield json.dumps(tool["function"])

    def last(self, body: Body) -> str:
        return _text(body["messages"][-1])

    def frames(self, turn: Turn) -> Iterator[Frame]:
        def chunk(delta: dict[str, Any] | None, kind: str = "", finish: str | None = None) -> Frame:
            choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
            about = {"id": turn.id, "object": "chat.completion.chunk", "created": 1, "model": turn.model}
            return Frame({**about, "choices": choices}, kind=kind)

        reply = turn.reply
        yield chunk({"role": "assistant", "content": ""})
        own = self._said_beside(turn)
        if self.dialect == "gemini":  # its thoughts are billed but not shown
            self.output_tokens += len(reply.reasoning)
        for n, thought in enumerate(reply.reasoning if self.dialect != "gemini" else ()):
            delta: Body = {self.thoughts: thought}
            if self.dialect == "mistral":
                delta = {"content": [_thinking(thought)]}
            if self.dialect == "openrouter":
                ending = own["reasoning_details"][0] if n == len(reply.reasoning) - 1 else _DETAIL
                delta = {"reasoning": thought, "reasoning_details": [ending | {"text": thought}]}
            yield chunk(delta, "token")
        if reply.refusal:
            yield chunk({"refusal": reply.refusal}, "token")
        for n, text in enumerate(turn.texts()):
            in_parts = self.dialect == "mistral" and n == 0
            yield chunk({"content": [{"type": "text", "text": text}] if in_parts else text}, "piece")
        for call in turn.calls if self.dialect == "gemini" else ():
            yield chunk({"tool_calls": [{"index": 0} | _call(call) | self._signed(turn, call)]}, "piece")
        for index, call in enumerate(turn.calls if self.dialect != "gemini" else ()):
            about = {"name": call.name, "arguments": ""}
            first = {"index": index, "id": call.id, "type": "function", "function": about}
            yield chunk({"tool_calls": [first]})
            for piece in call.pieces:
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, "piece")
        if turn.finish is not None:
            yield chunk({}, "end", turn.finish)
        with_usage = (
            turn.body.get("stream_options", {}).get("include_usage") and self.stream_options == "taken"
        )
        if with_usage and reply.usage != "none":
            about_usage = chunk(None, "end")
            assert isinstance(about_usage.data, dict)
            about_usage.data["usage"] = self._usage(turn)
            yield about_usage
        if reply.fault != "no_done":
            yield Frame("[DONE]", kind="end")

    def whole(self, turn: Turn) -> Body:
        message: dict[str, Any] = {
            "role": "assistant",
            "content": turn.text() or None,
            "refusal": turn.reply.refusal or None,
        }
        own = self._said_beside(turn)
        if self.dialect == "mistral":
            thoughts = [_thinking(thought) for thought in turn.reply.reasoning]
            message["content"] = [*thoughts, {"type": "text", "text": turn.text()}]
        elif turn.reply.reasoning and self.dialect not in ("gemini", "openrouter"):
            message[self.thoughts] = "".join(turn.reply.reasoning)
        if self.dialect == "openrouter" and turn.reply.reasoning:
            message |= {"reasoning": "".join(turn.reply.reasoning)} | own
        if turn.calls:
            message["tool_calls"] = [_call(call) | self._signed(turn, call) for call in turn.calls]
        choice = {"index": 0, "message": message, "finish_reason": turn.finish, "logprobs": None}
        about = {"id": turn.id, "object": "chat.completion", "created": 1, "model": turn.model}
        usage = {} if turn.reply.usage == "none" else {"usage": self._usage(turn)}
        return {**about, "choices": [choice], **usage}

    def _said_beside(self, turn: Turn) -> Body:
        """The extra fields that this service sends with text and calls, and wants back."""
        reasoning = "".join(turn.reply.reasoning)
        signature = f"sig_{hashlib.sha256(f'signed {reasoning}'.encode()).hexdigest()[:12]}"
        own: Body = {}
        if self.dialect == "deepseek" and reasoning:
            own = {"reasoning_content": reasoning}
        elif self.dialect == "openrouter" and reasoning:
            own = {"reasoning_details": [_DETAIL | {"text": reasoning, "signature": signature}]}
        elif self.dialect == "gemini" and turn.calls:
            own = {"extra_content": {"google": {"thought_signature": signature}}}
        self._own |= {call.id: own for call in turn.calls if own}
        return own

    def _usage(self, turn: Turn) -> dict[str, Any]:
        read_in, written_out, cached, cache_written = turn.counted
        details = {"cached_tokens": cached} | ({"cache_write_tokens": cache_written} if cache_written else {})
        # Gemini includes thoughts only in the total.
        thought = len(turn.reply.reasoning) if self.dialect == "gemini" and read_in else 0
        written_out -= 0 if turn.body.get("stream") else thought
        return {
            "prompt_tokens": read_in,
            "completion_tokens": written_out,
            "total_tokens": read_in + written_out + thought,
            "prompt_tokens_details": details,
        } | ({} if turn.reply.cost is None else {"cost": turn.reply.cost, "is_byok": False})

    def _signed(self, turn: Turn, call: Call) -> Body:
        return self._own[call.id] if self.dialect == "gemini" and call is turn.calls[0] else {}


def _thinking(thought: str) -> Body:
    return {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}


def _call(call: Call) -> Body:
    function = {"name": call.name, "arguments": "".join(call.pieces)}
    return {"id": call.id, "type": "function", "function": function}


def _text(message: Body) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


if __name__ == "__main__":
    from tests.fakes.serving import serve

    serve(ChatService)
