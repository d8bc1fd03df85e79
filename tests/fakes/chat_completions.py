"""A strict loopback service that speaks chat completions over SSE, with scripted answers and faults.

Knows nothing of the bot. In a test: `async with ChatService(...) as service`. As a process:
`python -m tests.fakes.chat_completions --port 0 --script FILE.json [--log FILE]`; prints its port, and
logs each paid call as a JSON line {"prompt": hash, "model", "call"} before it answers.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

KNOWN = {
    "model": str,
    "messages": list,
    "stream": bool,
    "stream_options": dict,
    "max_tokens": int,
    "max_completion_tokens": int,
    "temperature": (int, float),
}
FAULTS = ("truncate", "drop", "hang", "malformed", "no_done", "error")


@dataclass
class Reply:
    """What to answer. `pieces` are content deltas (by default `text` word by word).

    `fault` strikes before piece `at` (after the last by default): "truncate" ends the body early,
    "drop" breaks the connection, "hang" says no more, "malformed" sends half a JSON, "error" sends an
    error event, "no_done" leaves the last line out. `gates[i]` holds piece i until it is set.
    """

    text: str = ""
    pieces: list[str] | None = None
    finish: str | None = "stop"
    usage: str = "given"  # "given", "none", "zero"
    cached: int = 0
    reasoning: list[str] = field(default_factory=list)
    refusal: str = ""
    status: int = 200
    error: dict[str, Any] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None  # sent instead of SSE
    fault: str | None = None
    at: int | None = None
    endless: bool = False
    delay_s: float = 0.0
    gates: dict[int, asyncio.Event] = field(default_factory=dict)

    def content(self) -> list[str]:
        return self.pieces if self.pieces is not None else [word + " " for word in self.text.split()]


Script = list[Reply] | Callable[[dict[str, Any]], Reply]


@dataclass
class ChatService:
    """`limit`: which names of the limit are taken. `counts`: paid calls by prompt hash."""

    script: Script = field(default_factory=list)
    key: str | None = None
    models: tuple[str, ...] = ("small",)
    limit: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    temperature: bool = True
    stream_options: str = "taken"  # "taken", "refused", "ignored"
    port: int = 0
    log: Path | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)  # a client went away mid-answer
    freed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        return len(self.requests)

    async def __aenter__(self) -> ChatService:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.freed.set()
        await self._runner.cleanup()

    def refusal(self, body: Any, authorization: str | None) -> tuple[int, str, str, str] | None:
        """(status, message, param, code) of what the real service would refuse, or None."""
        if authorization is None and self.key is not None:
            return 401, "You didn't provide an API key.", "", "invalid_api_key"
        if self.key is not None and authorization != f"Bearer {self.key}":
            return 401, f"Incorrect API key provided: {authorization}", "", "invalid_api_key"
        if not isinstance(body, dict):
            return 400, "The body must be a JSON object.", "", "invalid_json"
        for name, value in body.items():
            if name not in KNOWN:
                return 400, f"Unrecognized request argument supplied: {name}", name, "unknown_parameter"
            wanted: Any = KNOWN[name]
            if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
                return 400, f"Invalid type for '{name}'.", name, "invalid_type"
        for name in ("model", "messages"):
            if name not in body:
                return 400, f"Missing required parameter: '{name}'.", name, "missing_required_parameter"
        if body["model"] not in self.models:
            return 404, f"The model '{body['model']}' does not exist.", "model", "model_not_found"
        return self._messages(body["messages"]) or self._numbers(body)

    def _messages(self, messages: list[Any]) -> tuple[int, str, str, str] | None:
        if not messages:
            return 400, "'messages' is too short.", "messages", "empty_array"
        for message in messages:
            if not isinstance(message, dict) or set(message) != {"role", "content"}:
                return 400, "A message has a role and a content.", "messages", "invalid_type"
            if message["role"] not in ("system", "developer", "user", "assistant"):
                return 400, f"Invalid value: '{message['role']}'.", "messages.role", "invalid_value"
            if not isinstance(message["content"], str):
                return 400, "Invalid type for 'content'.", "messages.content", "invalid_type"
        return None

    def _numbers(self, body: dict[str, Any]) -> tuple[int, str, str, str] | None:
        limits = [name for name in ("max_tokens", "max_completion_tokens") if name in body]
        if len(limits) == 2:
            return 400, "Set one of max_tokens and max_completion_tokens.", "", "invalid_parameters"
        for name in limits:
            if name not in self.limit:
                return 400, f"Unsupported parameter: '{name}'.", name, "unsupported_parameter"
            if body[name] < 1:
                return 400, f"Invalid '{name}': below 1.", name, "integer_below_min_value"
        if "temperature" in body and not self.temperature:
            return 400, "Unsupported value: 'temperature'.", "temperature", "unsupported_value"
        if not 0 <= body.get("temperature", 1) <= 2:
            return 400, "Invalid 'temperature': 0 to 2.", "temperature", "decimal_out_of_range"
        options = body.get("stream_options")
        if options is not None and self.stream_options == "refused":
            return 400, "Unknown parameter: 'stream_options'.", "stream_options", "unknown_parameter"
        if options is not None and not body.get("stream"):
            return 400, "'stream_options' needs 'stream'.", "stream_options", "invalid_parameters"
        if options is not None and (
            set(options) != {"include_usage"} or not isinstance(options["include_usage"], bool)
        ):
            return 400, "Invalid 'stream_options'.", "stream_options", "unknown_parameter"
        if not body.get("stream"):
            return 400, "This service only streams.", "stream", "unsupported_value"
        return None

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            body = await request.json()
        except ValueError:
            body = None
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        if refused := self.refusal(body, request.headers.get("Authorization")):
            status, message, param, code = refused
            said = {"message": message, "type": "invalid_request_error", "param": param or None, "code": code}
            return web.json_response({"error": said}, status=status)
        reply = self.script(body) if callable(self.script) else self.script.pop(0)
        if reply.status != 200:
            return self._plain(reply)
        self._paid(body)
        if reply.body is not None:
            return self._plain(reply)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **reply.headers})
        await response.prepare(request)
        try:
            await self._stream(request, response, body, reply)
        except (ConnectionError, asyncio.CancelledError):
            self.closed.set()
            raise
        return response

    def _plain(self, reply: Reply) -> web.Response:
        if reply.body is not None:
            return web.Response(
                status=reply.status, text=reply.body, headers={"Content-Type": "text/html", **reply.headers}
            )
        error = reply.error or {"message": f"fault {reply.status}", "type": "fault", "code": None}
        return web.json_response({"error": error}, status=reply.status, headers=reply.headers)

    def _paid(self, body: dict[str, Any]) -> None:
        prompt = prompt_hash(body["messages"])
        self.counts[prompt] += 1
        self.input_tokens += prompt_tokens(body)
        if self.log is not None:
            line = {"prompt": prompt, "model": body["model"], "call": self.counts[prompt]}
            with self.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

    async def _stream(
        self, request: web.Request, response: web.StreamResponse, body: dict[str, Any], reply: Reply
    ) -> None:
        async def send(data: dict[str, Any] | str) -> None:
            text = data if isinstance(data, str) else json.dumps(data)
            await response.write(f"data: {text}\n\n".encode())

        async def delta(values: dict[str, Any], finish: str | None = None) -> None:
            await send(_chunk(body["model"], [{"index": 0, "delta": values, "finish_reason": finish}]))

        content = reply.content()
        sent = 0
        await delta({"role": "assistant", "content": ""})
        for thought in reply.reasoning:
            await delta({"reasoning_content": thought})
        if reply.refusal:
            await delta({"refusal": reply.refusal})
        at = len(content) if reply.at is None else reply.at
        for number in range(len(content) + 1):
            if number == at and reply.fault in ("truncate", "drop", "hang", "malformed", "error"):
                await self._fault(request, response, reply)
                return
            if number == len(content):
                break
            if number in reply.gates:
                await reply.gates[number].wait()
            if reply.delay_s:
                await asyncio.sleep(reply.delay_s)
            await delta({"content": content[number]})
            sent += 1
            self.output_tokens += 1
        while reply.endless:
            await delta({"content": content[-1]})
            self.output_tokens += 1
        if reply.finish is not None:
            await delta({}, reply.finish)
        wanted = body.get("stream_options", {}).get("include_usage") and self.stream_options == "taken"
        if wanted and reply.usage != "none":
            some = reply.usage == "given"
            usage = {
                "prompt_tokens": prompt_tokens(body) if some else 0,
                "completion_tokens": sent + len(reply.reasoning) if some else 0,
                "prompt_tokens_details": {"cached_tokens": reply.cached},
            }
            await send(_chunk(body["model"], []) | {"usage": usage})
        if reply.fault != "no_done":
            await send("[DONE]")

    async def _fault(self, request: web.Request, response: web.StreamResponse, reply: Reply) -> None:
        if reply.fault == "malformed":
            await response.write(b'data: {"choices": [{"delta"\n\n')
        elif reply.fault == "error":
            await response.write(f"data: {json.dumps({'error': reply.error})}\n\n".encode())
        elif reply.fault == "truncate":
            await response.write(b'data: {"choi')
        elif reply.fault == "drop":
            assert request.transport is not None
            request.transport.abort()
        else:
            await self.freed.wait()


def prompt_hash(messages: list[dict[str, str]]) -> str:
    return hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).hexdigest()[:16]


def prompt_tokens(body: dict[str, Any]) -> int:
    """This service's tokens are words."""
    return sum(len(message["content"].split()) for message in body["messages"])


def _chunk(model: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": model,
        "choices": choices,
    }


def from_script(script: Mapping[str, Any]) -> tuple[Script, dict[str, Any]]:
    """{"service": {…}, "answers": [Reply…], "rules": [{"contains", "answer"}], "default": Reply}.

    The first rule whose words are in the last message answers; then the queue; then the default.
    """
    queue = [Reply(**values) for values in script.get("answers", [])]

    def answer(body: dict[str, Any]) -> Reply:
        last = body["messages"][-1]["content"]
        for rule in script.get("rules", []):
            if rule["contains"] in last:
                return Reply(**rule["answer"])
        return queue.pop(0) if queue else Reply(**script.get("default", {"status": 500}))

    service = dict(script.get("service", {}))
    for name in ("models", "limit"):
        if name in service:
            service[name] = tuple(service[name])
    return answer, service


async def _serve(port: int, script: str, log: Path | None) -> None:
    answer, settings = from_script(json.loads(script))
    async with ChatService(answer, port=port, log=log, **settings) as service:
        print(service.port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    asyncio.run(_serve(given.port, given.script.read_text(encoding="utf-8"), given.log))
