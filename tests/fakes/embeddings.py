"""A strict loopback service that speaks /v1/embeddings, refusing what the real one refuses.

Knows nothing of the bot. Vectors are made of the words' letters, so that alike texts are alike:

    async with EmbeddingService(key="sk-1") as service:
        service.base_url, service.requests, service.headers   what a client wants, and what it sent
        service.faults.append(Fault(429, {"Retry-After": "0"}))   the next answers, in this order
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

MOST_INPUTS = 2048
MOST_TOKENS = 300_000
MOST_TOKENS_EACH = 8192
SIZES = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
KNOWN = {"model", "input", "encoding_format", "dimensions", "user"}


@dataclass
class Fault:
    """An answer instead of vectors; `body` is sent as it is, "drop" breaks the connection."""

    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    drop: bool = False


@dataclass
class EmbeddingService:
    """With `key` None no key is needed. `held` delays every answer until it is set."""

    key: str | None = None
    faults: list[Fault] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    held: asyncio.Event | None = None
    port: int = 0

    async def __aenter__(self) -> EmbeddingService:
        app = web.Application(client_max_size=64 * 2**20)
        app.add_routes([web.post("/v1/embeddings", self._answer)])
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(request.headers)
        if self.held is not None:
            await self.held.wait()
        if self.faults:
            fault = self.faults.pop(0)
            if fault.drop:
                assert request.transport is not None
                request.transport.abort()
            if fault.body is not None:
                return web.Response(status=fault.status, text=fault.body, headers=fault.headers)
            return _refuse(fault.status, f"fault {fault.status}", headers=fault.headers)
        sent = request.headers.get("Authorization")
        if self.key is not None and sent != f"Bearer {self.key}":
            return _refuse(401, f"Incorrect API key provided: {sent}", code="invalid_api_key")
        if refused := refusal(body):
            return refused
        value = body["input"]
        texts = [value] if isinstance(value, str) else value
        size = body.get("dimensions", SIZES[body["model"]])
        data = [
            {"object": "embedding", "index": at, "embedding": _coded(vector(text, size), body)}
            for at, text in enumerate(texts)
        ]
        used = sum(tokens(text) for text in texts)
        usage = {"prompt_tokens": used, "total_tokens": used}
        # The order is not guaranteed: clients must use the index.
        return web.json_response(
            {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}
        )


def refusal(body: Mapping[str, Any]) -> web.Response | None:
    """The refusal of the real service, or None."""
    if unknown := set(body) - KNOWN:
        return _refuse(400, f"Unrecognized request argument supplied: {sorted(unknown)[0]}")
    model = body.get("model")
    if model not in SIZES:
        detail = f"The model `{model}` does not exist or you do not have access to it."
        return _refuse(404, detail, code="model_not_found")
    size = body.get("dimensions")
    if size is not None and "-3-" not in model:
        return _refuse(400, "This model does not support specifying dimensions.", param="dimensions")
    if size is not None and (not isinstance(size, int) or not 1 <= size <= SIZES[model]):
        return _refuse(400, f"Invalid value for 'dimensions' = {size}.", param="dimensions")
    if body.get("encoding_format", "float") not in ("float", "base64"):
        return _refuse(400, "Invalid encoding_format.", param="encoding_format")
    value = body.get("input")
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
        return _refuse(400, "'$.input' is invalid.", param="input")
    if len(texts) > MOST_INPUTS:
        return _refuse(400, f"'$.input' is invalid: at most {MOST_INPUTS} inputs.", param="input")
    if any(not text for text in texts):
        return _refuse(400, "'$.input' is invalid: input cannot be an empty string.", param="input")
    if any(tokens(text) > MOST_TOKENS_EACH for text in texts):
        detail = f"This model's maximum context length is {MOST_TOKENS_EACH} tokens."
        return _refuse(400, detail, param="input", code="context_length_exceeded")
    if sum(tokens(text) for text in texts) > MOST_TOKENS:
        return _refuse(400, f"Requested more than the max {MOST_TOKENS} tokens per request.", param="input")
    return None


def tokens(text: str) -> int:
    """A high estimate of tokens: one per character outside ASCII, one per four within."""
    return sum(1 if ord(letter) > 127 else 0 for letter in text) + math.ceil(len(text) / 4)


def vector(text: str, size: int) -> list[float]:
    """Counts of letter triples, hashed; length 1."""
    vector = [0.0] * size
    padded = f"  {text.lower()} "
    for at in range(len(padded) - 2):
        digest = hashlib.blake2b(padded[at : at + 3].encode("utf-8", "replace"), digest_size=4).digest()
        vector[int.from_bytes(digest, "big") % size] += 1.0
    length = math.sqrt(sum(number * number for number in vector)) or 1.0
    return [number / length for number in vector]


def _coded(row: list[float], body: Mapping[str, Any]) -> list[float] | str:
    if body.get("encoding_format") == "base64":
        return base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()
    return row


def _refuse(
    status: int, message: str, *, param: str = "", code: str = "", headers: Mapping[str, str] | None = None
) -> web.Response:
    error = {
        "message": message,
        "type": "invalid_request_error",
        "param": param or None,
        "code": code or None,
    }
    return web.json_response({"error": error}, status=status, headers=headers)
