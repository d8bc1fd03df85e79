"""A strict model service with the Messages API: a prompt cache, signed thoughts, and pauses.

`python -m tests.fakes.anthropic_messages --port 0 --script FILE.json [--log FILE]`
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from aiohttp import web

from tests.fakes.anthropic_blocks import (
    Block,
    answered,
    bare,
    blocks_of,
    content_of,
    searching,
    signature,
    turns,
    words,
)
from tests.fakes.anthropic_rules import bad, body_refusal
from tests.fakes.model_service import Body, Frame, ModelService, Refused, Reply, Turn

__all__ = ["MessagesService", "Reply"]

VERSIONS = ("2023-06-01", "2026-10-21")
KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
LOOKBACK = 20
"""How many blocks before a mark the cache is searched (Prompt caching, "How automatic prefix checking works")."""


@dataclass
class MessagesService(ModelService):
    """A service with the Messages API. `cache_least`: a marked prefix of fewer tokens is silently not cached.
    `refuses`: "effort", "format" or "thinking", which some models lack, or "output_config", "adaptive" or "ttl", which
    services with an older API do not support. `hides`: thoughts are only signed unless the request asks to show them.
    `context`: the most tokens read. `clock` tells when what was kept has expired. `manual_thinking`: thoughts may not
    even be left out when a tool's result comes back (adaptive thinking allows that, but no alteration), nor be read
    beside other tools than they were thought with. A paused turn ends with a server's tool."""

    PATH: ClassVar[str] = "/v1/messages"
    BASE: ClassVar[str] = ""
    CALL_PREFIX: ClassVar[str] = "toolu_"
    FINISHES: ClassVar[dict[str, str]] = {
        "end": "end_turn",
        "length": "max_tokens",
        "tool": "tool_use",
        "pause": "pause_turn",
        "context": "model_context_window_exceeded",
    }

    cache_least: int = 1024
    context: int = 200_000
    refuses: tuple[str, ...] = ()
    manual_thinking: bool = False
    hides: bool = False
    clock: Callable[[], float] = time.monotonic
    _cached: dict[str, tuple[float, float]] = field(default_factory=dict)  # for how long, and until when
    _thoughts: dict[str, list[Block]] = field(default_factory=dict)  # by the id of a call of that turn
    _beside: dict[str, list[Block]] = field(default_factory=dict)  # the tools of the request, likewise
    _paused: list[list[Block]] = field(default_factory=list)

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/v1/messages/count_tokens", self._count)]

    def key_refusal(self, headers: Mapping[str, str]) -> Refused | None:
        sent = headers.get("Authorization"), headers.get("x-api-key")
        if self.key is None or sent in ((f"Bearer {self.key}", None), (None, self.key)):
            return None
        return Refused(401, "invalid x-api-key" if any(sent) else "x-api-key header is required")

    def refusal(self, body: Any, headers: Mapping[str, str]) -> Refused | None:
        return self._head_refusal(headers) or super().refusal(body, headers)

    def _head_refusal(self, headers: Mapping[str, str]) -> Refused | None:
        if refused := self.key_refusal(headers):
            return refused
        version = headers.get("anthropic-version")
        if version is None:
            return bad("anthropic-version: header is required")
        if version not in VERSIONS:
            return bad(f'anthropic-version: "{version}" is not a valid version')
        return None

    def body_refusal(self, body: Body, *, counting: bool = False) -> Refused | None:
        config = body.get("output_config")
        if config and "output_config" in self.refuses:
            return bad("output_config: Extra inputs are not permitted")
        refused = body_refusal(body, self.models, self.most_output, counting=counting)
        if refused is None and config and "effort" in self.refuses and "effort" in config:
            return bad("This model does not support the effort parameter.")
        if refused is None and config and "format" in self.refuses and "format" in config:
            return bad(f"'{body['model']}' does not support output format.")
        if refused is None and "ttl" in self.refuses and any(map(_hour, blocks_of(body))):
            return bad("cache_control.ephemeral.ttl: Extra inputs are not permitted")
        if refused is None and "thinking" in body and "thinking" in self.refuses:
            return bad("adaptive thinking is not supported on this model")
        if refused is None and "thinking" in body and "adaptive" in self.refuses:
            return bad(
                "thinking: Input tag 'adaptive' does not match any of the expected tags: 'disabled', 'enabled'"
            )
        if refused is None and not self.sees and any(block["type"] == "image" for block in _said(body)):
            return bad(f"'{body['model']}' does not support image input.")
        return refused or self._length(body) or self._prefill(body) or self._signed(body)

    def _length(self, body: Body) -> Refused | None:
        tokens = self.prompt_tokens(body)
        if tokens > self.context:
            return bad(f"prompt is too long: {tokens} tokens > {self.context} maximum")
        if tokens + (most := body.get("max_tokens", 0)) > self.context:
            return bad(
                f"input length and `max_tokens` exceed context limit: {tokens} + {most} > {self.context}, decrease "
                "input length or `max_tokens` and try again"
            )
        return None

    def _prefill(self, body: Body) -> Refused | None:
        role, last = turns(body["messages"])[-1]
        if role == "user" or [bare(block) for block in last] in self._paused:
            return None
        return bad("This model does not support assistant message prefill.")

    def _signed(self, body: Body) -> Refused | None:
        """Check that thoughts come back unchanged: all of the latest turn's or, with adaptive thinking, none."""
        latest: list[Block] = []
        for at, (role, blocks) in enumerate(turns(body["messages"])):
            latest = blocks if role == "assistant" else latest
            for place, block in enumerate(blocks):
                if block["type"] == "thinking" and block["signature"] != signature(block["thinking"]):
                    return bad(f"messages.{at}.content.{place}: Invalid `signature` in `thinking` block")
        thoughts = [block for block in latest if block["type"] == "thinking"]
        ids = [block["id"] for block in latest if block["type"] == "tool_use"]
        meant = next((self._thoughts[id] for id in ids if id in self._thoughts), None)
        if meant is None or (not thoughts and not (meant and self.manual_thinking)):
            return None
        if not thoughts or latest[0]["type"] != "thinking":
            return bad(f"Expected `thinking` or `redacted_thinking`, but found `{latest[0]['type']}`.")
        if thoughts != meant:
            return bad("`thinking` blocks in the latest assistant message cannot be modified.")
        if any(self._beside[id] != _tools(body) for id in ids if id in self._beside):
            return bad("`thinking` block is bound to a different conversation.")
        return None

    def refuse(self, refused: Refused) -> web.Response:
        error = {"message": refused.message}
        return web.json_response(self.problem(refused.status, error), status=refused.status)

    def problem(self, status: int, error: Mapping[str, Any]) -> Body:
        kind = KINDS.get(status) or error.get("type")
        details = {"details": {"error_code": error["code"]}} if error.get("code") else {}
        inner = {
            "type": kind if kind in KINDS.values() else "api_error",
            "message": error["message"],
            **details,
        }
        return {"type": "error", "error": inner, "request_id": self.new_id("req_")}

    def error_frame(self, turn: Turn) -> Frame:
        return Frame(self.problem(0, turn.reply.said()), "error")

    def texts(self, body: Body) -> Iterator[str]:
        for block in blocks_of(body):
            yield words(block)

    def last(self, body: Body) -> str:
        return "\n".join(words(block) for block in content_of(body["messages"][-1]))

    def conversation(self, body: Body) -> Any:
        return [bare(block) for block in blocks_of(body)]

    async def _count(self, request: web.Request) -> web.Response:
        body = await request.json()
        refused = self._head_refusal(request.headers) or self.body_refusal(body, counting=True)
        if refused:
            return self.refuse(refused)
        return web.json_response({"input_tokens": self.prompt_tokens(body)})

    def cache(self, body: Body, reply: Reply) -> tuple[int, int]:
        """The usage that the reply sets, otherwise that of a prefix cache.

        The longest cached prefix before a breakpoint is read, and everything from there to the last one is written.
        """
        if reply.cached or reply.cache_writes:
            return reply.cached, reply.cache_writes
        blocks = list(blocks_of(body))
        # Another output format changes the prefix from its beginning; so do other tools, which come first.
        form = body.get("output_config", {}).get("format")
        head = f"{body['model']} {json.dumps(form, sort_keys=True)}"
        prefixes, ends, so_far, tokens = [], [], hashlib.sha256(head.encode()), 0
        first = len(blocks) - sum(1 for _ in _said(body))
        for at, block in enumerate(blocks):
            if at == first:  # everything before the messages is still cached
                so_far.update(json.dumps(body.get("tool_choice"), sort_keys=True).encode())
            so_far.update(json.dumps(bare(block), sort_keys=True).encode())
            tokens += len(words(block).split())
            prefixes.append(so_far.hexdigest())
            ends.append(tokens)
        marks = [at for at, block in enumerate(blocks) if "cache_control" in block]
        marks = [at for at in marks if ends[at] >= self.cache_least]
        if not marks:
            return 0, 0
        near = [at for mark in marks for at in range(max(0, mark - LOOKBACK), mark + 1)]
        now = self.clock()
        self._cached = {prefix: kept for prefix, kept in self._cached.items() if kept[1] > now}
        found = max((at for at in near if prefixes[at] in self._cached), key=ends.__getitem__, default=None)
        if found is not None:  # a read extends the lifetime
            kept_s, _ = self._cached[prefixes[found]]
            self._cached[prefixes[found]] = kept_s, now + kept_s
        for at in marks:
            kept_s = 3_600.0 if _hour(blocks[at]) else 300.0
            kept_s = max(kept_s, self._cached.get(prefixes[at], (0.0, 0.0))[0])
            self._cached[prefixes[at]] = kept_s, now + kept_s
        read = 0 if found is None else ends[found]
        return read, max(0, ends[marks[-1]] - read)

    def frames(self, turn: Turn) -> Iterator[Frame]:
        def frame(kind: str, event: str, **data: Any) -> Frame:
            return Frame({"type": event, **data}, event, kind)

        reply, index = turn.reply, 0

        def start(block: Block) -> Frame:
            return frame("", "content_block_start", index=index, content_block=block)

        def delta(of: str, kind: str = "", **data: Any) -> Frame:
            return frame(kind, "content_block_delta", index=index, delta={"type": of, **data})

        yield frame("", "message_start", message=self._message(turn, [], None, 1))
        yield Frame({"type": "ping"}, "ping")
        if not reply.endless:
            self._remember(turn)
        if reply.reasoning:
            yield start({"type": "thinking", "thinking": "", "signature": ""})
            for thought in reply.reasoning if self._shows(turn) else ():
                yield delta("thinking_delta", "token", thinking=thought)
            yield delta("signature_delta", signature=signature("".join(reply.reasoning)))
            yield frame("", "content_block_stop", index=index)
            index += 1
        if reply.refusal or reply.content():
            yield start({"type": "text", "text": ""})
            if reply.refusal:
                yield delta("text_delta", "token", text=reply.refusal)
            for text in turn.texts():
                yield delta("text_delta", "piece", text=text)
            yield frame("", "content_block_stop", index=index)
            index += 1
        for call in turn.calls:
            yield start({"type": "tool_use", "id": call.id, "name": call.name, "input": {}})
            yield delta("input_json_delta", partial_json="")
            for piece in call.pieces:
                yield delta("input_json_delta", "piece", partial_json=piece)
            yield frame("", "content_block_stop", index=index)
            index += 1
        if turn.finish == "pause_turn":
            block = searching(turn)
            yield start(block | {"input": {}})
            yield delta("input_json_delta", partial_json=json.dumps(block["input"]))
            yield frame("", "content_block_stop", index=index)
        # Read late, so that everything sent has been counted.
        ended = {"stop_reason": _reason(turn), "stop_sequence": None}
        yield frame("end", "message_delta", delta=ended, **_usage(turn, turn.counted[1]))
        if reply.fault != "no_done":
            yield frame("end", "message_stop")

    def whole(self, turn: Turn) -> Body:
        self._remember(turn)
        return self._message(turn, answered(turn), _reason(turn), turn.counted[1])

    def _message(self, turn: Turn, content: list[Block], reason: str | None, output: int) -> Body:
        about = {"id": turn.id, "type": "message", "role": "assistant", "model": turn.model}
        ended = {"stop_reason": reason, "stop_sequence": None}
        return {**about, "content": content, **ended, **_usage(turn, output)}

    def _shows(self, turn: Turn) -> bool:
        return not self.hides or turn.body.get("thinking", {}).get("display") == "summarized"

    def _remember(self, turn: Turn) -> None:
        role, last = turns(turn.body["messages"])[-1]
        before = [bare(block) for block in last] if role == "assistant" else []  # of a continued turn
        blocks = before + answered(turn)
        thoughts = [block for block in blocks if block["type"] == "thinking"]
        self._thoughts |= {call.id: thoughts for call in turn.calls}
        self._beside |= {call.id: _tools(turn.body) for call in turn.calls}
        if turn.finish == "pause_turn":
            self._paused.append(blocks)


def _hour(block: Block) -> bool:
    return bool(block.get("cache_control", {}).get("ttl") == "1h")


def _tools(body: Body) -> list[Block]:
    return [bare(tool) for tool in body.get("tools", [])]


def _said(body: Body) -> Iterator[Block]:
    for message in body["messages"]:
        yield from content_of(message)


def _reason(turn: Turn) -> str | None:
    return "refusal" if turn.reply.refusal and turn.finish == "end_turn" else turn.finish


def _usage(turn: Turn, output: int) -> Body:
    if turn.reply.usage == "none":
        return {}
    read_in, _, cached, written = turn.counted
    counts: Body = {
        "input_tokens": read_in - cached - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
    }
    hour = written if any(_hour(block) for block in blocks_of(turn.body)) else 0
    counts["cache_creation"] = {
        "ephemeral_5m_input_tokens": written - hour,
        "ephemeral_1h_input_tokens": hour,
    }
    return {"usage": {**counts, "output_tokens": output if read_in else 0}}


if __name__ == "__main__":
    from tests.fakes.serving import serve

    serve(MessagesService)
