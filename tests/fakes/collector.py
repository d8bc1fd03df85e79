"""A collector of traces on loopback: accepts OTLP as protobuf over HTTP, and can be slow or refuse.

Knows nothing of the bot.

async with Collector() as collector:
        collector.endpoint     the base URL, as OTEL_EXPORTER_OTLP_ENDPOINT has it
        collector.spans        what has come, in the order in which it ended
        collector.raw          the bodies as they came; collector.headers
        await collector.until(lambda spans: …)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE_S = 60.0


@dataclass(frozen=True)
class Taken:
    """One span. `trace`, `id` and `above` are ids in hex ("" for no parent), times are in nanoseconds."""

    name: str
    trace: str
    id: str
    above: str
    kind: int
    begun: int
    ended: int
    failed: bool
    said: str
    events: int
    about: Mapping[str, Any]
    resource: Mapping[str, Any]


class Collector:
    def __init__(self, *, status: int = 200, hold: bool = False) -> None:
        """A collector that answers with `status`; with `hold`, only once `freed` is set."""
        self.status = status
        self.spans: list[Taken] = []
        self.raw: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        self.asked = asyncio.Event()
        self.freed = asyncio.Event()
        self._news = asyncio.Event()
        self.port = 0
        if not hold:
            self.freed.set()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Collector:
        app = web.Application()
        app.add_routes([web.post("/v1/traces", self._take)])
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.freed.set()
        await self._runner.cleanup()

    async def until(self, ready: Callable[[list[Taken]], bool]) -> None:
        """Wait until `ready(spans)` is true."""
        async with asyncio.timeout(PATIENCE_S):
            while not ready(self.spans):
                self._news.clear()
                await self._news.wait()

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.asked.set()
        await self.freed.wait()
        if self.status == 200:
            assert request.content_type == "application/x-protobuf"
            self.raw.append(body)
            self.headers.append(dict(request.headers))
            self.spans += decoded(body)
            self._news.set()
        return web.Response(status=self.status, content_type="application/x-protobuf")


def decoded(body: bytes) -> list[Taken]:
    """The spans of one export."""
    request = ExportTraceServiceRequest.FromString(body)
    return [
        Taken(
            span.name,
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex(),
            span.kind,
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            span.status.code == 2,
            span.status.message,
            len(span.events),
            _values(span.attributes),
            _values(some.resource.attributes),
        )
        for some in request.resource_spans
        for scope in some.scope_spans
        for span in scope.spans
    ]


def _values(attributes: Any) -> dict[str, Any]:
    return {attribute.key: _value(attribute.value) for attribute in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(value) for value in value.array_value.values]
    return getattr(value, kind)
