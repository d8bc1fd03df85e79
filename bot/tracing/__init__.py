"""Traces of runs for whoever operates the bot: what took how long, what it cost, what failed, and no word of anybody.

A span lies below the one that is open where it begins. Without a configured endpoint all spans are those of
OpenTelemetry's no-op tracer, and its SDK (`bot.tracing.otlp`) is not imported. docs/tracing.md lists what is sent;
names under `gen_ai.` are those of OpenTelemetry's semantic conventions for generative AI.

Where to is said by OpenTelemetry's own variables, or by config.toml. Sources: OpenTelemetry's specification,
"OpenTelemetry Protocol Exporter" and "Environment Variable Specification".
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, NoOpTracer, Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace import set_span_in_context as context_of

from bot.events import Ended, Request, UserError
from bot.waiting import in_own_thread

if TYPE_CHECKING:
    from datetime import datetime

    from bot.config import Config
    from bot.tracing.otlp import Spans

T = TypeVar("T")
Body: TypeAlias = Callable[[], Awaitable[T]]
Value: TypeAlias = str | bool | int | float | list[str]

PATH: Final = "/v1/traces"
"""Where a collector takes them, below the base that OTEL_EXPORTER_OTLP_ENDPOINT names."""

FLUSH_S = 3.0
"""How long leaving waits for the last spans to be taken."""

_OTHER = "_OTHER"  # error.type of what has no name, by the conventions

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class TracedRun:
    """A run; whoever runs it says how it ended."""

    tracer: Tracer = field(default_factory=NoOpTracer)
    outcome: Ended | None = None
    error: str = ""
    notes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenSpan:
    """The span that is open here, in which run."""

    run: TracedRun
    span: Span

    def begin(self, name: str, about: Mapping[str, Value], *, client: bool = False) -> Span:
        kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
        above = context_of(self.span, Context())
        return self.run.tracer.start_span(name, above, kind, attributes=about)


def fail(span: Span, error: str) -> None:
    """Mark the span as failed by this `error_type`, without a description, which would be what the error says."""
    span.set_status(StatusCode.ERROR)
    span.set_attribute("error.type", error)


_NO_RUN: Final = OpenSpan(TracedRun(), INVALID_SPAN)

# Ours instead of OpenTelemetry's own: Chroma's client and the SDKs of model services look there, and would send
# what is no business of the collector's, or name our traces to those services.
current: ContextVar[OpenSpan] = ContextVar("sutradhar_span", default=_NO_RUN)
"""The span that is open here."""


class Tracing:
    """The tracing of this process. Sends nothing before `start`, or without a configured endpoint."""

    def __init__(self, config: Config, *, flush_s: float = FLUSH_S) -> None:
        self._config = config
        self._flush_s = flush_s
        self._spans: Spans | None = None

    async def start(self) -> None:
        """Begin to send. What is wrong with the settings is logged: nobody's question fails for a trace."""
        if (endpoint := endpoint_of(self._config)) is None:
            return
        host = host_of(endpoint)
        try:
            self._spans = await asyncio.to_thread(_spans, endpoint, _headers(self._config))
        except Exception as error:
            # Not its words: they may repeat a header.
            _log.warning("no traces to %s: these settings cannot be used: %s", host, type(error).__name__)
        else:
            _log.info("traces are sent to %s", host)

    @contextmanager
    def run(self, request: Request, since: datetime, *, resumed: bool) -> Iterator[TracedRun]:
        """One run, asked for at `since`, or the last part of one that is `resumed` after its process has ended.

        Its span has the same id in every process that works on it and is sent by the one that ends it; what the
        others have sent lies below it, too.
        """
        about = {
            "sutradhar.run": request.id,
            "sutradhar.work": request.work,
            "sutradhar.verb": request.verb,
            "sutradhar.platform": request.place.platform,
        }
        run, span = TracedRun(), _NO_RUN.span
        if self._spans is not None:
            run = TracedRun(self._spans.tracer)
            span = self._spans.root("run", about, request.id, since)
        token = current.set(OpenSpan(run, span))
        try:
            yield run
        except Exception as error:
            run.outcome, run.error = "failed", error_type(error)
            raise
        finally:
            current.reset(token)
            if run.outcome is not None:  # else the process is leaving, and another one goes on
                notes = {f"sutradhar.{name}": value for name, value in run.notes.items()}
                span.set_attributes(notes | {"sutradhar.resumed": resumed, "sutradhar.outcome": run.outcome})
                if run.outcome == "failed":
                    fail(span, run.error or _OTHER)
                span.end()

    async def close(self) -> None:
        """Send what is left, for `flush_s` at most."""
        if self._spans is None:
            return
        spans, self._spans = self._spans, None
        closing = in_own_thread(spans.close)
        if not (await asyncio.wait({closing}, timeout=self._flush_s))[0]:
            spans.abandon()


def note(name: str, value: Value) -> None:
    """Set an attribute of the run's span: `sutradhar.<name>`."""
    current.get().run.notes[name] = value


def failed(error: BaseException) -> None:
    """Note the `error` with which the run fails."""
    current.get().run.error = error_type(error)


async def step(name: str, keep: Callable[[Body[T]], Awaitable[T]], body: Body[T]) -> T:
    """What `keep` makes of `body`; marked in the trace where it has not called it, but knew what it had returned."""
    called = False

    async def marked() -> T:
        nonlocal called
        called = True
        return await body()

    value = await keep(marked)
    if not called:
        # The first word alone: the rest may be a shelf's name, or what a space calls its prompts.
        word = re.split(r"[-:]", name, maxsplit=1)[0]
        current.get().begin("replayed step", {"sutradhar.step": word, "sutradhar.replayed": True}).end()
    return value


@contextmanager
def opened(name: str, about: Mapping[str, Value], *, client: bool = False) -> Iterator[Span]:
    """A span below the open one, with what happens in it below this."""
    above = current.get()
    span = above.begin(name, about, client=client)
    token = current.set(replace(above, span=span))
    try:
        yield span
    except Exception as error:
        fail(span, error_type(error))
        raise
    finally:
        current.reset(token)
        span.end()


def error_type(error: BaseException) -> str:
    """What an error is called, without what it says: the key of a sentence, or its class."""
    return error.key if isinstance(error, UserError) else type(error).__qualname__


def endpoint_of(config: Config) -> str | None:
    """Where spans are sent, as a whole URL; None for nowhere. Variables come before config.toml."""
    if (config.secret("OTEL_SDK_DISABLED") or "").strip().lower() == "true":
        return None
    exporters = config.secret("OTEL_TRACES_EXPORTER")
    if exporters is not None and "otlp" not in (exporter.strip() for exporter in exporters.split(",")):
        return None
    whole = (config.secret("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or "").strip()
    base = (config.secret("OTEL_EXPORTER_OTLP_ENDPOINT") or "").strip() or config.tracing.endpoint
    url = whole or base
    if not url:
        return None
    if not url.startswith(("http://", "https://")):
        _log.warning("no traces are sent: the endpoint does not begin with http:// or https://")
        return None
    protocol = config.secret("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or config.secret(
        "OTEL_EXPORTER_OTLP_PROTOCOL"
    )
    if protocol is not None and protocol.strip() != "http/protobuf":
        _log.warning(
            "no traces are sent: OTLP is spoken as http/protobuf alone, port 4318 of most collectors"
        )
        return None
    return url if whole or url.rstrip("/").endswith(PATH) else url.rstrip("/") + PATH


def host_of(url: str) -> str:
    """The host alone, without a password; "" where there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _headers(config: Config) -> str:
    """What is sent along, a key for example: "name=value,name=value"."""
    return (
        config.secret("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
        or config.secret("OTEL_EXPORTER_OTLP_HEADERS")
        or ""
    )


def _spans(endpoint: str, headers: str) -> Spans:
    from bot.tracing.otlp import Spans

    return Spans(endpoint, host_of(endpoint), headers)
