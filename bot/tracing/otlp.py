"""Sends spans with OpenTelemetry's SDK: in batches, by OTLP over HTTP, from a separate thread.

The provider is not the global one, because some libraries (Chroma's client, the SDKs of model services) trace
themselves as soon as there is one. Imported only if an endpoint is configured: the import takes half a second.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from datetime import datetime
from hashlib import sha256

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Span, SpanKind, Tracer
from opentelemetry.util.re import parse_env_headers
from opentelemetry.util.types import AttributeValue

NAME = "sutradhar"

SAY_AGAIN_S = 3_600.0
"""For how many seconds after one logged failure of the collector no other is logged."""

_log = logging.getLogger(__name__)


class _Ids(RandomIdGenerator):
    """Random ids, except for a run's span."""

    def __init__(self) -> None:
        self.fixed: ContextVar[tuple[int, int] | None] = ContextVar("sutradhar_span_ids", default=None)

    def generate_trace_id(self) -> int:
        ids = self.fixed.get()
        return ids[0] if ids is not None else super().generate_trace_id()

    def generate_span_id(self) -> int:
        ids = self.fixed.get()
        return ids[1] if ids is not None else super().generate_span_id()


class Spans:
    """Opens spans and sends them once they have ended. Raises the SDK's errors for settings it cannot use."""

    def __init__(self, endpoint: str, host: str, headers: str) -> None:
        """`endpoint` is a complete URL, `host` the host's name for messages; `headers` are as in
        OTEL_EXPORTER_OTLP_HEADERS.

        The SDK reads everything else from its own variables: sampling, batches, compression, certificates.
        """
        # The SDK would log a header that it cannot read.
        logging.getLogger("opentelemetry.util.re").setLevel(logging.CRITICAL)
        self._ids = _Ids()
        self._provider = TracerProvider(
            resource=_resource(),
            id_generator=self._ids,
            shutdown_on_exit=False,
        )
        exporter = OTLPSpanExporter(endpoint, headers=parse_env_headers(headers, liberal=True))
        self._exporter = LoggedOnce(exporter, host)
        self._provider.add_span_processor(BatchSpanProcessor(self._exporter))
        self.tracer: Tracer = self._provider.get_tracer(NAME)

    def root(self, name: str, about: Mapping[str, AttributeValue], run: str, since: datetime) -> Span:
        """Open a run's span, with the same ids in every process that works on the run.

        The ids are computed from `since` too, because two bots that read the same message have runs with the same id.
        """
        digest = sha256(f"{run} {since.isoformat()}".encode()).digest()
        # W3C Trace Context forbids zero for both.
        ids = (int.from_bytes(digest[:16]) or 1, int.from_bytes(digest[16:24]) or 1)
        token = self._ids.fixed.set(ids)
        try:
            start = min(int(since.timestamp() * 1e9), time.time_ns())  # the clock may have been set back
            return self.tracer.start_span(
                name, Context(), SpanKind.SERVER, attributes=about, start_time=start
            )
        finally:
            self._ids.fixed.reset(token)

    def close(self) -> None:
        """Send the remaining spans, however long that takes."""
        self._provider.shutdown()

    def abandon(self) -> None:
        """Called when the caller of `close` no longer waits for it."""
        self._exporter.say("still being sent")


class LoggedOnce(SpanExporter):
    """An exporter that logs its first failure, and then no other for an hour."""

    def __init__(
        self, exporter: SpanExporter, host: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._exporter = exporter
        self._host = host
        self._clock = clock
        self._failing = False
        self._logged_at: float | None = None
        # The SDK's exporter logs each try and each batch.
        logging.getLogger(OTLPSpanExporter.__module__).addFilter(_WHY)
        # The SDK would log each span that finds the queue full.
        logging.getLogger("opentelemetry.sdk._shared_internal").setLevel(logging.CRITICAL)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        _WHY.last = "no answer"
        try:
            result = self._exporter.export(spans)
        except Exception as error:
            _WHY.last, result = type(error).__name__, SpanExportResult.FAILURE
        was, self._failing = self._failing, result is not SpanExportResult.SUCCESS
        if self._failing and not was:
            self.say(_WHY.last)
        return result

    def say(self, why: str) -> None:
        now = self._clock()
        if self._logged_at is None or now - self._logged_at > SAY_AGAIN_S:
            self._logged_at = now
            _log.warning("cannot send traces to %s (%s); the bot keeps working", self._host, why)

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


class _Why(threading.local):
    """A filter for a logger: holds back what an exporter logs, and keeps its gist for the same thread."""

    last = "no answer"

    def filter(self, record: logging.LogRecord) -> bool:
        for value in record.args if isinstance(record.args, tuple) else ():
            if isinstance(value, BaseException):
                self.last = type(value).__name__
                break
            if isinstance(value, int):
                self.last = f"HTTP {value}"
                break
            if isinstance(value, str) and value != "spans":  # "Service Unavailable"
                self.last = ascii(value[:40])
                break
        return False


_WHY = _Why()  # shared: after a filter that rejects a record no other is called


def _resource() -> Resource:
    """The service as OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES describe it; otherwise its name."""
    detected = Resource.create()
    named = not str(detected.attributes.get(SERVICE_NAME)).startswith("unknown_service")
    return detected if named else detected.merge(Resource({SERVICE_NAME: NAME}))
