"""A strict model service with the Responses API: a prompt cache, and encrypted reasoning.

`python -m tests.fakes.openai_responses --port 0 --script FILE.json [--log FILE]`
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from aiohttp import web

from tests.fakes.model_service import Body, Frame, ModelService, Refused, Reply, Turn
from tests.fakes.responses_items import (
    Item,
    called,
    id_of,
    items_of,
    message,
    part_of,
    reasoned,
    response,
    seal,
    status_of,
    usage_of,
    words,
)
from tests.fakes.responses_rules import bad, body_refusal

__all__ = ["Reply", "ResponsesService"]

STEP = 128
"""Tokens by which a cached prefix grows (Prompt caching, "Requirements")."""
READ_MARKS, WRITTEN_MARKS = 80, 4
"""So many of the last breakpoints are looked for in the cache, and put into it (the SDK's `PromptCacheOptions`)."""


@dataclass
class ResponsesService(ModelService):
    """`reasons`: a reasoning model, which accepts no temperature; other models accept no effort and encrypt nothing.
    `refuses`: further parameters that this model, or a server with the same API, does not accept. `verified`: the
    key's owner may see summaries of reasoning. `aloud`: reasoning is streamed as a summary without a request for one.
    `nested`: an error event has its error
    inside. `counting`: it has the route that counts. `context`: the most tokens read. `forbidden`: a word that no
    prompt may hold. `cache_least`: a shorter prompt is not cached. A reply with finish "failed" fails with its
    `error`."""

    PATH: ClassVar[str] = "/v1/responses"
    FINISHES: ClassVar[dict[str, str]] = {
        "end": "completed",
        "tool": "completed",
        "length": "max_output_tokens",
        "refusal": "content_filter",
    }

    reasons: bool = True
    refuses: tuple[str, ...] = ()
    verified: bool = True
    aloud: bool = False
    nested: bool = False
    counting: bool = True
    context: int = 400_000
    cache_least: int = 1024
    forbidden: str = ""
    _cached: set[str] = field(default_factory=set)
    _thought: dict[str, str] = field(default_factory=dict)  # an item's id → that of the reasoning before it
    _numbers: Counter[str] = field(default_factory=Counter)

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/v1/responses/input_tokens", self._count)] if self.counting else []

    def body_refusal(self, body: Body) -> Refused | None:
        for name in self.refuses:
            if name in body:
                return bad(f"Unsupported parameter: '{name}'.", name, "unsupported_parameter")
        refused = body_refusal(body, self.models) or self._model(body) or self._reasoning(body)
        if refused is None and self.prompt_tokens(body) > self.context:
            detail = "Your input exceeds the context window of this model. Please adjust your input."
            return bad(detail, "input", "context_length_exceeded")
        if refused is None and self.forbidden and self.forbidden in " ".join(self.texts(body)):
            detail = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
            return bad(detail, code="invalid_prompt")
        return refused

    def _model(self, body: Body) -> Refused | None:
        """Check the parameters that depend on the model."""
        if body.get("max_output_tokens", 0) > self.most_output:
            detail = f"Invalid 'max_output_tokens': this model supports at most {self.most_output}."
            return bad(detail, "max_output_tokens", "integer_above_max_value")
        parts = [
            part for item in items_of(body) for part in item.get("content") or () if isinstance(part, dict)
        ]
        if not self.sees and any(part.get("type") == "input_image" for part in parts):
            return bad("This model does not support image inputs.", "input", "unsupported_value")
        for name in ("temperature", "top_p"):
            if self.reasons and name in body:
                return bad(f"Unsupported parameter: '{name}' is not supported with this model.", name)
        reasoning = body.get("reasoning", {})
        if "summary" in reasoning and not self.verified:
            detail = "Your organization must be verified to generate reasoning summaries."
            return bad(detail, "reasoning.summary", "unsupported_value")
        if self.reasons:
            return None
        for name in ("effort", "summary"):
            if name in reasoning:
                detail = f"Unsupported parameter: 'reasoning.{name}' is not supported with this model."
                return bad(detail, f"reasoning.{name}", "unsupported_parameter")
        if "reasoning.encrypted_content" in body.get("include", []):
            return bad("Encrypted content is not supported with this model.", "include")
        return None

    def _reasoning(self, body: Body) -> Refused | None:
        """Check that reasoning comes back unchanged, together with the items that followed it."""
        items = items_of(body)
        for item in items:
            if item.get("type") != "reasoning":
                continue
            sealed = item.get("encrypted_content")
            if sealed is None:
                detail = (
                    f"Item with id '{item['id']}' not found. Items are not persisted when `store` is false."
                )
                return Refused(404, detail, "input")
            if sealed != seal(item["id"], body["model"]):
                detail = f"The encrypted content {sealed[:4]}...{sealed[-4:]} could not be verified."
                return bad(detail, code="invalid_encrypted_content")
        ids = {item.get("id") for item in items}
        for item in items:
            if (reasoning_id := self._thought.get(item.get("id", ""), item.get("id"))) not in ids:
                detail = (
                    f"Item '{item['id']}' of type '{item.get('type', 'message')}' was provided without its"
                    f" required 'reasoning' item: '{reasoning_id}'."
                )
                return bad(detail, "input")
        return None

    def error_frame(self, turn: Turn) -> Frame:
        said = turn.reply.said()
        error = {"code": said.get("code"), "message": said["message"], "param": None}
        inner = {"error": {"type": said.get("type"), **error}} if self.nested else error
        return self._frame(turn, "error", "", **inner)

    def conversation(self, body: Body) -> Any:
        return [body.get("instructions", ""), body["input"]]

    def texts(self, body: Body) -> Iterator[str]:
        for tool in body.get("tools", []):
            yield json.dumps(tool)
        yield body.get("instructions", "")
        for item in items_of(body):
            yield words(item)

    def last(self, body: Body) -> str:
        return words(items_of(body)[-1])

    async def _count(self, request: web.Request) -> web.Response:
        body = await request.json()
        refused = self.key_refusal(request.headers) or body_refusal(body, self.models, counting=True)
        if refused := refused or self._model(body) or self._reasoning(body):
            return self.refuse(refused)
        return web.json_response(
            {"object": "response.input_tokens", "input_tokens": self.prompt_tokens(body)}
        )

    def cache(self, body: Body, reply: Reply) -> tuple[int, int]:
        """The usage that the reply sets, otherwise that of a prefix cache, with a separate machine for each
        `prompt_cache_key`: the longest known prefix is read, and the rest is written in whole steps. In explicit mode
        only prefixes that end at a breakpoint are written. A schema comes before everything else."""
        if reply.cached or reply.cache_writes:
            return reply.cached, reply.cache_writes
        if body.get("prompt_cache_options", {}).get("mode") == "explicit":
            return self._at_breakpoints(body)
        tokens = [token for text in self.texts(body) for token in text.split()]
        so_far = hashlib.sha256(f"{body['model']} {body.get('prompt_cache_key')}".encode())
        read = longest = 0
        for at, token in enumerate(tokens, 1):
            so_far.update(f" {token}".encode())
            if at >= self.cache_least and (at - self.cache_least) % STEP == 0:
                longest = at
                if so_far.hexdigest() in self._cached:
                    read = at
                self._cached.add(so_far.hexdigest())
        return read, longest - read

    def _at_breakpoints(self, body: Body) -> tuple[int, int]:
        head = json.dumps([body.get("text"), body.get("tools"), body.get("instructions")])
        so_far = hashlib.sha256(f"{body['model']} {body.get('prompt_cache_key')} {head}".encode())
        tokens = len(
            " ".join([*map(json.dumps, body.get("tools", [])), body.get("instructions", "")]).split()
        )
        marked: dict[str, int] = {}
        for item in items_of(body):
            content = item.get("content")
            for part in content if isinstance(content, list) else [{"text": words(item)}]:
                so_far.update(str(part.get("text")).encode())
                tokens += len(str(part.get("text")).split())
                if "prompt_cache_breakpoint" in part and tokens >= self.cache_least:
                    marked[so_far.hexdigest()] = tokens
        read = max((marked[mark] for mark in list(marked)[-READ_MARKS:] if mark in self._cached), default=0)
        self._cached |= set(list(marked)[-WRITTEN_MARKS:])
        return read, max(0, max(marked.values(), default=0) - read)

    def _frame(self, turn: Turn, event: str, kind: str, **data: Any) -> Frame:
        number = self._numbers[turn.id]
        self._numbers[turn.id] += 1
        return Frame({"type": event, "sequence_number": number, **data}, event, kind)

    def frames(self, turn: Turn) -> Iterator[Frame]:
        reply, index = turn.reply, -1

        def frame(event: str, kind: str = "", **data: Any) -> Frame:
            if not kind and index >= bool(reply.reasoning) and turn.sent == turn.pieces:
                kind = "end"
            return self._frame(turn, f"response.{event}", kind, **data)

        def item(event: str, of: Item) -> Frame:
            return frame(f"output_item.{event}", output_index=index, item=of)

        def part(event: str, kind: str = "", **data: Any) -> Frame:
            return frame(event, kind, item_id=id_of(turn, "msg"), output_index=index, **data)

        def started(event: str) -> Frame:
            return frame(event, response=response(turn, "in_progress", [], None))

        yield started("created")
        yield started("in_progress")
        if reply.reasoning:
            index += 1
            yield from self._think(turn, index)
        if turn.reply.refusal or reply.content():
            index += 1
            begun: Item = {"id": id_of(turn, "msg"), "type": "message", "status": "in_progress"}
            yield item("added", begun | {"content": [], "role": "assistant"})
            if reply.refusal:
                empty = {"type": "refusal", "refusal": ""}
                yield part("content_part.added", content_index=0, part=empty)
                yield part("refusal.delta", "token", content_index=0, delta=reply.refusal)
                yield part("refusal.done", content_index=0, refusal=reply.refusal)
                yield part("content_part.done", content_index=0, part=empty | {"refusal": reply.refusal})
            if reply.content():
                place = int(bool(reply.refusal))
                yield part("content_part.added", content_index=place, part=part_of(""))
                for text in turn.texts():
                    said = {"delta": text, "logprobs": [], "obfuscation": "xyz"}
                    yield part("output_text.delta", "piece", content_index=place, **said)
                yield part("output_text.done", content_index=place, text=turn.text(), logprobs=[])
                yield part("content_part.done", content_index=place, part=part_of(turn.text()))
            yield item("done", message(turn))
        for number, call in enumerate(turn.calls):
            index += 1
            whole = called(turn, number)
            yield item("added", whole | {"status": "in_progress", "arguments": ""})
            about = {"item_id": whole["id"], "output_index": index}
            for piece in call.pieces:
                yield frame("function_call_arguments.delta", "piece", delta=piece, **about)
            yield frame("function_call_arguments.done", arguments=whole["arguments"], **about)
            yield item("done", whole)
        if turn.finish is not None and reply.fault != "no_done":
            status = status_of(turn)
            whole = response(turn, status, self._output(turn), usage_of(turn))
            yield frame(status, "end", response=whole)

    def whole(self, turn: Turn) -> Body:
        return response(turn, status_of(turn), self._output(turn), usage_of(turn))

    def _think(self, turn: Turn, index: int) -> Iterator[Frame]:
        """Send the thoughts, which are paid, and shown as a summary at most."""
        item = reasoned(turn, aloud=self.aloud)
        shown = bool(item["summary"])
        about = {"item_id": item["id"], "output_index": index, "summary_index": 0}
        added = item | {"summary": []}
        yield self._frame(turn, "response.output_item.added", "", output_index=index, item=added)
        part = {"type": "summary_text", "text": ""}
        if shown:
            yield self._frame(turn, "response.reasoning_summary_part.added", "", part=part, **about)
            for piece in turn.reply.reasoning:
                yield self._frame(
                    turn, "response.reasoning_summary_text.delta", "token", delta=piece, **about
                )
            part = item["summary"][0]
            yield self._frame(turn, "response.reasoning_summary_text.done", "", text=part["text"], **about)
            yield self._frame(turn, "response.reasoning_summary_part.done", "", part=part, **about)
        else:
            turn.output_tokens += len(turn.reply.reasoning)
            self.output_tokens += len(turn.reply.reasoning)
        yield self._frame(turn, "response.output_item.done", "", output_index=index, item=item)

    def _output(self, turn: Turn) -> list[Item]:
        """The items of a complete answer; records which of them follow from reasoning."""
        reply = turn.reply
        items = [reasoned(turn, aloud=self.aloud)] if reply.reasoning else []
        items += [message(turn)] if reply.refusal or reply.content() else []
        items += [called(turn, number) for number in range(len(turn.calls))]
        if reply.reasoning:
            self._thought |= {item["id"]: items[0]["id"] for item in items[1:]}
        return items


if __name__ == "__main__":
    from tests.fakes.serving import serve

    serve(ResponsesService)
