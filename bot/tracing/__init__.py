"""Traces of runs for the bot's operator: how long each part took, what it cost and what failed, without any text that
people or models wrote.

A span's parent is the span that is open where it begins. Without a configured endpoint all spans are those of
OpenTelemetry's no-op tracer, and its SDK (`bot.tracing.otlp`) is not imported. docs/tracing.md lists what is sent;
names under `gen_ai.` are those of OpenTelemetry's semantic conventions for generative AI.

OpenTelemetry's own variables or config.toml say where traces are sent. Sources: OpenTelemetry's specification,
"OpenTelemetry Protocol Exporter" and "Environment Variable Specification"; its "Semantic conventions for generative
client AI spans". Questions and answers (`gen_ai.input.messages` and others in these conventions) are not sent.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import re
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeAlias
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, NoOpTracer, Span, SpanKind, StatusCode, Tracer
from opentelemetry.trace import set_span_in_context as context_of

from bot.events import Ended, Request, UserError
from bot.llm.completion import Completion
from storage.worker_threads import in_own_thread

if TYPE_CHECKING:
    from datetime import datetime

    from bot.config import Config, ProviderConfig
    from bot.llm.base import Meter, Prompt
    from bot.retrieval.results import SearchResult
    from bot.tracing.otlp import Spans

P = ParamSpec("P")
Pieces: TypeAlias = AsyncGenerator[str | Completion, None]
Value: TypeAlias = str | bool | int | float | list[str]

PATH: Final = "/v1/traces"
"""The path of a collector below the base URL in OTEL_EXPORTER_OTLP_ENDPOINT."""

FLUSH_S = 3.0
"""How many seconds shutting down waits until the last spans are sent."""

_OTHER = "_OTHER"  # the conventions' error.type for an error without a name
_KINDS = ("openai", "anthropic")  # the conventions use the same names for these services
_STRATEGY = "sutradhar.strategy"

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class TracedRun:
    """The trace of a run; the code that runs it sets how it ended."""

    tracer: Tracer = field(default_factory=NoOpTracer)
    outcome: Ended | None = None
    error: str = ""
    notes: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenSpan:
    """The span that is open here, and its run."""

    run: TracedRun
    span: Span

    def begin(self, name: str, about: Mapping[str, Value], *, client: bool = False) -> Span:
        kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
        parent = context_of(self.span, Context())
        return self.run.tracer.start_span(name, parent, kind, attributes=about)


def fail(span: Span, error: str) -> None:
    """Mark the span as failed with this `error_type`. It gets no description, which would repeat the error's text."""
    span.set_status(StatusCode.ERROR)
    span.set_attribute("error.type", error)


_NO_RUN: Final = OpenSpan(TracedRun(), INVALID_SPAN)

# A context variable of our own instead of OpenTelemetry's: Chroma's client and the SDKs of model services look there,
# and would send data that the collector must not get, or reveal our traces to those services.
current: ContextVar[OpenSpan] = ContextVar("sutradhar_span", default=_NO_RUN)
"""The span that is open here."""


class Tracing:
    """The tracing of this process. Sends nothing before `start`, or without a configured endpoint."""

    def __init__(self, config: Config, *, flush_s: float = FLUSH_S) -> None:
        self._config = config
        self._flush_s = flush_s
        self._spans: Spans | None = None

    async def start(self) -> None:
        """Begin to send. Errors in the settings are only logged: no question may fail because of a trace."""
        if (endpoint := endpoint_of(self._config)) is None:
            return
        host = host_of(endpoint)
        try:
            self._spans = await asyncio.to_thread(_spans, endpoint, _headers(self._config))
        except Exception as error:
            # Without the error's text, which may repeat a header.
            _log.warning("no traces to %s: these settings cannot be used: %s", host, type(error).__name__)
        else:
            _log.info("traces are sent to %s", host)

    @contextmanager
    def run(self, request: Request, since: datetime, *, resumed: bool) -> Iterator[TracedRun]:
        """Trace one run, asked for at `since`, or the last part of a run that is `resumed` after its process ended.

        The run's span has the same id in every process that works on it. The process that ends the run sends it; the
        spans that the others have sent are its children, too.
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
            if run.outcome is not None:  # otherwise this process is closing and another one continues
                ended: dict[str, Value] = {"sutradhar.resumed": resumed, "sutradhar.outcome": run.outcome}
                span.set_attributes(run.notes | ended)
                if run.outcome == "failed":
                    fail(span, run.error or _OTHER)
                span.end()

    async def close(self) -> None:
        """Send the remaining spans, for `flush_s` seconds at most."""
        if self._spans is None:
            return
        spans, self._spans = self._spans, None
        closing = in_own_thread(spans.close)
        if not (await asyncio.wait({closing}, timeout=self._flush_s))[0]:
            spans.abandon()


def note(name: str, value: Value) -> None:
    """Set an attribute of the run's span: `sutradhar.<name>`."""
    current.get().run.notes[f"sutradhar.{name}"] = value


def failed(error: BaseException) -> None:
    """Note the `error` with which the run fails."""
    current.get().run.error = error_type(error)


def replayed(step: str) -> None:
    """Mark a step that was not run, because its result was stored before."""
    # Only the first word: the rest may be the name of a shelf or of a space's prompt.
    word = re.split(r"[-:]", step, maxsplit=1)[0]
    current.get().begin("replayed step", {"sutradhar.step": word, "sutradhar.replayed": True}).end()


@contextmanager
def opened(name: str, about: Mapping[str, Value], *, client: bool = False) -> Iterator[Span]:
    """Open a child of the current span, and make it the current span inside the block."""
    parent = current.get()
    span = parent.begin(name, about, client=client)
    token = current.set(replace(parent, span=span))
    try:
        yield span
    except Exception as error:
        fail(span, error_type(error))
        raise
    finally:
        current.reset(token)
        span.end()


def retrieval(
    search: Callable[P, Coroutine[Any, Any, SearchResult]],
) -> Callable[P, Coroutine[Any, Any, SearchResult]]:
    """Trace each search as a span: how many passages it found and how confidently, but neither the question nor the
    passages.
    """

    @functools.wraps(search)
    async def traced(*args: P.args, **kwargs: P.kwargs) -> SearchResult:
        if not current.get().span.is_recording():
            return await search(*args, **kwargs)
        with opened("retrieval", {"gen_ai.operation.name": "retrieval"}) as span:
            result = await search(*args, **kwargs)
            about: dict[str, Value] = {
                "sutradhar.retrieval.passages": len(result.passages),
                "sutradhar.retrieval.documents": len({passage.document for passage in result.passages}),
                "sutradhar.retrieval.confident": result.confident,
                "sutradhar.retrieval.titled": result.titled,
                "sutradhar.retrieval.notices": result.notices,
            }
            if strategy := current.get().run.notes.get(_STRATEGY):
                about[_STRATEGY] = strategy
            span.set_attributes(about)
            return result

    return traced


@contextmanager
def embeddings(model: str, address: str) -> Iterator[None]:
    """Trace one call for vectors of OpenAI or a compatible service at this address, without its texts. Another service
    than OpenAI's is named by its host.
    """
    host = host_of(address)
    about = {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "openai" if f".{host}".endswith(".openai.com") else host,
        "gen_ai.request.model": model,
        "server.address": host,
    }
    with opened(f"embeddings {model}", about, client=True):
        yield


async def chat(
    pieces: Pieces, role: str, service: ProviderConfig, model: str, prompt: Prompt, meter: Meter
) -> Pieces:
    """The model's answer, traced as a span while it streams."""
    about: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": service.kind if service.kind in _KINDS else service.name,
        "gen_ai.request.model": model,
        "gen_ai.request.max_tokens": prompt.max_tokens,
        "gen_ai.output.type": "text" if prompt.schema is None else "json",
        "sutradhar.role": role,
    }
    if prompt.temperature is not None:
        about["gen_ai.request.temperature"] = prompt.temperature
    if host := host_of(service.base_url or ""):
        about["server.address"] = host
    span = current.get().begin(f"chat {model}", about, client=True)
    began, finish, learnt = time.monotonic(), "", dict[str, Value]()
    try:
        async with aclosing(pieces) as source:
            async for piece in source:
                if isinstance(piece, Completion):
                    finish = piece.finish
                elif "gen_ai.response.time_to_first_chunk" not in learnt:
                    learnt["gen_ai.response.time_to_first_chunk"] = time.monotonic() - began
                yield piece
    except (GeneratorExit, asyncio.CancelledError):
        if not finish:
            learnt["sutradhar.outcome"] = "stopped"
        raise
    except Exception as error:
        fail(span, error_type(error))
        raise
    finally:
        if finish:
            learnt["gen_ai.response.finish_reasons"] = [finish]
        # By the conventions, tokens read from a cache and written to it count as input.
        read, written = meter.usage.cache_read_tokens, meter.usage.cache_write_tokens
        learnt["gen_ai.usage.input_tokens"] = meter.usage.input_tokens + read + written
        learnt["gen_ai.usage.output_tokens"] = meter.usage.output_tokens
        learnt["gen_ai.usage.cache_read.input_tokens"] = read
        learnt["gen_ai.usage.cache_creation.input_tokens"] = written
        span.set_attributes(learnt)
        span.end()


def error_type(error: BaseException) -> str:
    """The name of an error without its text: the key of its message, or its class."""
    return error.key if isinstance(error, UserError) else type(error).__qualname__


def endpoint_of(config: Config) -> str | None:
    """Where spans are sent, as a complete URL; None for nowhere. Environment variables come before config.toml."""
    if (config.secret("OTEL_SDK_DISABLED") or "").strip().lower() == "true":
        return None
    exporters = config.secret("OTEL_TRACES_EXPORTER")
    if exporters is not None and "otlp" not in (exporter.strip() for exporter in exporters.split(",")):
        return None
    endpoint = (config.secret("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or "").strip()
    base = (config.secret("OTEL_EXPORTER_OTLP_ENDPOINT") or "").strip() or config.tracing.endpoint
    url = endpoint or base
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
    return url if endpoint or url.rstrip("/").endswith(PATH) else url.rstrip("/") + PATH


@functools.cache  # the config has few addresses
def host_of(url: str) -> str:
    """The host alone, without a password; "" if there is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _headers(config: Config) -> str:
    """The headers to send, a key for example: "name=value,name=value"."""
    return (
        config.secret("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
        or config.secret("OTEL_EXPORTER_OTLP_HEADERS")
        or ""
    )


def _spans(endpoint: str, headers: str) -> Spans:
    from bot.tracing.otlp import Spans

    return Spans(endpoint, host_of(endpoint), headers)
