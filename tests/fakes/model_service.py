"""A strict loopback model service with scripted answers and faults, whichever wire it speaks.

Knows nothing of the bot. What a test sees is the same on every wire:

    async with ChatService([Reply("one two"), Reply(status=429, times=3)], key="sk-1") as service:
        service.base_url      what the config of a provider wants
        service.requests      the body of every POST that asked for an answer, refused or not; `calls` of them
        service.headers       their headers
        service.counts        paid calls by prompt hash; input_tokens, output_tokens, cache_read_tokens,
                              cache_write_tokens: what was paid (input without what the cache gave or took)
        service.issued        the ids of all tool calls
        service.asked         set once a request has come
        service.closed        set once a client went away in the middle of an answer
        service.freed         set it to end what hangs

A call is paid once the answer begins (never for a refusal or a status other than 200). Tokens are words in
what is read and pieces in what is written: each piece of text, thought, refusal and tool arguments is one.

A wire is a subclass; tests/fakes/chat_completions.py is the one to read beside this. It gives
    PATH, BASE, FINISHES       where it listens, how base_url ends, its own word for each neutral finish
    body_refusal(body)         what the real service would refuse, as Refused, or None
    frames(turn)               the answer as server-sent events. They are pulled one by one, so that a frame
                               made late (usage) sees what `turn` has counted so far. kind="piece" marks a
                               delta of text or tool arguments (a gate may hold it, faults strike before it),
                               "token" another delta that is paid (a thought, a refusal), "end" the first
                               frame after the last piece. turn.texts() are the text's pieces (without end if
                               the reply is endless), turn.calls the tool calls with their ids, turn.finish
                               the wire's word (None: say none). "no_done" leaves the wire's last frame out.
    whole(turn)                the answer as one JSON body; turn.text() is its text
    texts(body)                every text of a request that the model reads, for counting
    last(body)                 the text of the last message, for the rules of a script
and may override
    problem(status, error)     the body of an error, in a response or in an "error" event (`error_frame`)
    key_refusal(headers)       by default: Authorization: Bearer
    cache(body, reply)         (read, written) tokens, by default what the reply says
    conversation(body)         what the prompt hash is made of, by default body["messages"]
    routes()                   more routes (counting tokens), beside PATH
As a process it is run by tests/fakes/serving.py.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from aiohttp import web

from tests.fakes.reply import Body, Call, Frame, Refused, Reply, Script, Turn

__all__ = ["Body", "Call", "Frame", "ModelService", "Refused", "Reply", "Script", "Turn"]

S = TypeVar("S", bound="ModelService")


@dataclass
class ModelService:
    """See the module's docstring. `most_output`: the largest output limit. `sees`: its models accept images."""

    PATH: ClassVar[str]
    BASE: ClassVar[str] = "/v1"
    FINISHES: ClassVar[Mapping[str, str]] = {}
    CALL_PREFIX: ClassVar[str] = "call_"

    script: Script = field(default_factory=list)
    key: str | None = None
    models: tuple[str, ...] = ("small",)
    most_output: int = 64_000
    sees: bool = True
    thinks: int = 0  # hidden tokens of thinking before the text, which count towards the limit
    port: int = 0
    log: Path | None = None
    requests: list[Any] = field(default_factory=list)
    streams: bool = True
    wants: tuple[str, ...] = ()  # required query parameters, such as Azure's api-version
    queries: list[dict[str, str]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    issued: list[str] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def body_refusal(self, body: Body) -> Refused | None:
        raise NotImplementedError

    def frames(self, turn: Turn) -> Iterator[Frame]:
        raise NotImplementedError

    def whole(self, turn: Turn) -> Body:
        raise NotImplementedError

    def texts(self, body: Body) -> Iterator[str]:
        raise NotImplementedError

    def last(self, body: Body) -> str:
        raise NotImplementedError

    def problem(self, status: int, error: Mapping[str, Any]) -> Body:
        """OpenAI's shape of an error."""
        return {"error": dict(error)}

    def error_frame(self, turn: Turn) -> Frame:
        return Frame(self.problem(0, turn.reply.said()))

    def key_refusal(self, headers: Mapping[str, str]) -> Refused | None:
        sent = headers.get("Authorization")
        if self.key is None or sent == f"Bearer {self.key}":
            return None
        detail = "You didn't provide an API key." if sent is None else f"Incorrect API key provided: {sent}"
        return Refused(401, detail, code="invalid_api_key")

    def cache(self, body: Body, reply: Reply) -> tuple[int, int]:
        return reply.cached, reply.cache_writes

    def conversation(self, body: Body) -> Any:
        return body["messages"]

    def routes(self) -> list[web.RouteDef]:
        return []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.BASE}"

    @property
    def calls(self) -> int:
        return len(self.requests)

    async def __aenter__(self: S) -> S:
        app = web.Application(client_max_size=64 * 2**20)
        app.add_routes([web.post(self.PATH, self._answer), *self.routes()])
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.freed.set()
        await self._runner.cleanup()

    def refusal(self, body: Any, headers: Mapping[str, str]) -> Refused | None:
        """The refusal of the real service, or None."""
        if refused := self.key_refusal(headers):
            return refused
        if not isinstance(body, dict):
            return Refused(400, "The body must be a JSON object.", code="invalid_json")
        return self.body_refusal(body)

    def refuse(self, refused: Refused) -> web.Response:
        """A refusal as a response."""
        error = {
            "message": refused.message,
            "type": "invalid_request_error",
            "param": refused.param or None,
            "code": refused.code or None,
            **refused.more,
        }
        return web.json_response(self.problem(refused.status, error), status=refused.status)

    def new_id(self, prefix: str) -> str:
        return f"{prefix}{next(self._ids)}"

    def prompt_tokens(self, body: Body) -> int:
        """This service's tokens are words."""
        return sum(len(text.split()) for text in self.texts(body))

    def prompt_hash(self, body: Body) -> str:
        text = json.dumps(self.conversation(body), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            body = await request.json()
        except ValueError:
            body = None
        self.requests.append(body)
        self.headers.append(request.headers)
        self.queries.append(dict(request.query))
        self.asked.set()
        if request.query.keys() < set(self.wants):
            return self.refuse(Refused(404, "Resource not found"))
        if not self.streams and isinstance(body, dict) and body.get("stream"):
            detail = "Your organization must be verified to stream this model. Please go to the settings."
            return self.refuse(Refused(400, detail, "stream", "unsupported_value"))
        if refused := self.refusal(body, request.headers):
            return self.refuse(refused)
        reply = self._next(body)
        if reply is None:
            return self.refuse(Refused(400, "The script has no more replies."))
        try:
            if reply.fault == "half_open":
                await self.freed.wait()
                raise ConnectionResetError
            if reply.status != 200:
                return self._plain(reply)
            turn = self._begin(body, reply)
            if reply.body is not None:
                return self._plain(reply)
            if body.get("stream"):
                return await self._stream(request, turn)
            return await self._whole(request, turn)
        except (ConnectionError, asyncio.CancelledError):
            self.closed.set()
            raise

    def _next(self, body: Body) -> Reply | None:
        if callable(self.script):
            return self.script(body)
        if not self.script:
            return None
        reply = self.script[0]
        if reply.times <= 1:
            return self.script.pop(0)
        # A copy, because a test may use a reply in several places.
        self.script[0] = replace(reply, times=reply.times - 1)
        return reply

    def _plain(self, reply: Reply) -> web.Response:
        if reply.body is not None:
            headers = {"Content-Type": "text/html", **reply.headers}
            return web.Response(status=reply.status, text=reply.body, headers=headers)
        body = self.problem(reply.status, reply.said())
        return web.json_response(body, status=reply.status, headers=reply.headers)

    def _begin(self, body: Body, reply: Reply) -> Turn:
        limits = ("max_tokens", "max_completion_tokens", "max_output_tokens")
        room = max((body[name] for name in limits if name in body), default=self.most_output) - self.thinks
        if self.thinks and len(reply.content()) > room:
            reply = replace(reply, pieces=reply.content()[: max(0, room)], finish="length")
        calls = [
            Call(self.new_id(self.CALL_PREFIX), name, [text] if isinstance(text, str) else text)
            for name, text in reply.calls
        ]
        self.issued += [call.id for call in calls]
        finish = "tool" if calls and reply.finish == "end" else reply.finish
        if finish is not None:
            finish = self.FINISHES.get(finish, finish)
        read, written = self.cache(body, reply)
        total = self.prompt_tokens(body)
        prompt = self.prompt_hash(body)
        self.counts[prompt] += 1
        self.input_tokens += total - read - written
        self.cache_read_tokens += read
        self.cache_write_tokens += written
        if self.log is not None:
            line = {"prompt": prompt, "model": body["model"], "call": self.counts[prompt]}
            with self.log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        return Turn(body, reply, self.new_id("answer_"), calls, finish, total, read, written)

    async def _stream(self, request: web.Request, turn: Turn) -> web.StreamResponse:
        reply = turn.reply
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **reply.headers})
        await response.prepare(request)
        at = turn.pieces if reply.at is None else min(reply.at, turn.pieces)
        for frame in self.frames(turn):
            for _ in range(reply.comments):
                await response.write(b": OPENROUTER PROCESSING\n\n")
            await response.write(reply.idle.encode())
            if frame.kind in ("piece", "end"):
                if turn.sent == at and await self._fault(request, response, turn, frame):
                    return response
                if frame.kind == "piece" and turn.sent in reply.gates:
                    await reply.gates[turn.sent].wait()
                if frame.kind == "piece" and reply.delay_s:
                    await asyncio.sleep(reply.delay_s)
            await response.write(frame.text().encode())
            # A write alone does not yield to other tasks until megabytes of buffers are full.
            await asyncio.sleep(0)
            turn.sent += frame.kind == "piece"
            if frame.kind in ("piece", "token"):
                turn.output_tokens += 1
                self.output_tokens += 1
        return response

    async def _whole(self, request: web.Request, turn: Turn) -> web.StreamResponse:
        reply = turn.reply
        for number in range(turn.pieces):
            if number in reply.gates:
                await reply.gates[number].wait()
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        if reply.fault == "error":
            return web.json_response(self.problem(500, reply.said()), status=500, headers=reply.headers)
        turn.sent = turn.pieces
        turn.output_tokens = turn.pieces + len(reply.reasoning) + bool(reply.refusal)
        self.output_tokens += turn.output_tokens
        text = json.dumps(self.whole(turn)).encode()
        if reply.fault not in ("truncate", "drop", "hang", "malformed"):
            return web.Response(body=text, content_type="application/json", headers=reply.headers)
        head = {"Content-Type": "application/json", **reply.headers}
        half = text[: len(text) // 2]
        if reply.fault == "malformed":
            return web.Response(body=half, headers=head)
        response = web.StreamResponse(headers={**head, "Content-Length": str(len(text))})
        await response.prepare(request)
        await response.write(half)
        if reply.fault == "hang":
            await self.freed.wait()
        assert request.transport is not None
        request.transport.abort()
        return response

    async def _fault(
        self, request: web.Request, response: web.StreamResponse, turn: Turn, frame: Frame
    ) -> bool:
        """Whether the reply's fault has ended the answer here, instead of `frame`."""
        fault = turn.reply.fault
        if fault in ("malformed", "truncate"):
            text = frame.text()
            half = text[: -len(text) // 3]
            await response.write(f"{half}\n\n".encode() if fault == "malformed" else half.encode())
        elif fault == "error":
            await response.write(self.error_frame(turn).text().encode())
        elif fault == "drop":
            assert request.transport is not None
            request.transport.abort()
        elif fault == "hang":
            await self.freed.wait()
        else:
            return False
        return True
