"""Settings decide where traces go, and people notice nothing if the collector fails."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from bot.tracing import Tracing, endpoint_of
from bot.tracing.otlp import SAY_AGAIN_S, LoggedOnce
from tests.fakes.collector import Collector
from tests.fakes.traced import config, traced


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spans are sent as soon as they end, not after five seconds."""
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")


@pytest.fixture(autouse=True)
def _loggers() -> Iterator[None]:
    names = ("opentelemetry.util.re", "opentelemetry.sdk._shared_internal")
    levels = {name: logging.getLogger(name).level for name in names}
    yield
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.parametrize(
    ("set_in_file", "environ", "endpoint"),
    [
        (None, {}, None),
        ("http://file:4318", {}, "http://file:4318/v1/traces"),
        ("http://file:4318/", {}, "http://file:4318/v1/traces"),
        ("http://file:4318/v1/traces", {}, "http://file:4318/v1/traces"),
        ("http://file", {"OTEL_EXPORTER_OTLP_ENDPOINT": "https://env/otlp"}, "https://env/otlp/v1/traces"),
        (None, {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://env/as/it/is"}, "http://env/as/it/is"),
        ("http://file", {"OTEL_SDK_DISABLED": "TRUE"}, None),
        ("http://file", {"OTEL_SDK_DISABLED": "false"}, "http://file/v1/traces"),
        ("http://file", {"OTEL_TRACES_EXPORTER": "none"}, None),
        ("http://file", {"OTEL_TRACES_EXPORTER": "console, otlp"}, "http://file/v1/traces"),
        ("http://file", {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, None),
        ("http://file", {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, "http://file/v1/traces"),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, None),
    ],
)
def test_opentelemetrys_variables_set_the_endpoint_before_the_file(
    set_in_file: str | None, environ: dict[str, str], endpoint: str | None
) -> None:
    assert endpoint_of(config(set_in_file, **environ)) == endpoint


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("fault", ["down", "slow", "refuses"])
async def test_a_failing_collector_gets_one_log_line_and_delays_nobody(
    fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Collector(status=401, hold=fault == "slow") as collector:
        endpoint = "http://127.0.0.1:9" if fault == "down" else collector.endpoint
        headers = {"OTEL_EXPORTER_OTLP_HEADERS": "x-key=hush, not a header"}
        mine = Tracing(config(endpoint, **headers), flush_s=60 if fault == "refuses" else 0.1)
        await mine.start()
        began = time.monotonic()
        for _ in range(3):
            await traced(mine)
        await mine.close()
        assert time.monotonic() - began < 9  # by default the SDK would try for ten seconds
        records = [record for record in caplog.records if record.levelno >= logging.WARNING]
        assert [one.name for one in records] == ["bot.tracing.otlp"]
        why = "HTTP 401" if fault == "refuses" else "still being sent"
        assert records[0].getMessage() == f"cannot send traces to 127.0.0.1 ({why}); the bot keeps working"
        assert "hush" not in caplog.text
        assert "not a header" not in caplog.text


async def test_headers_are_sent_to_the_collector_and_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with Collector() as collector:
        given = config(collector.endpoint, OTEL_EXPORTER_OTLP_HEADERS="x-key=hush,x-team=a%20b")
        mine = Tracing(given)
        await mine.start()
        await traced(mine)
        await mine.close()
        assert (collector.headers[0]["x-key"], collector.headers[0]["x-team"]) == ("hush", "a b")
        assert "hush" not in caplog.text


async def test_unusable_settings_do_not_stop_the_bot(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "1")  # smaller than a batch
    mine = Tracing(config("http://127.0.0.1:9"))
    await mine.start()
    await traced(mine)
    await mine.close()
    (sentence,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert sentence == "no traces to 127.0.0.1: these settings cannot be used: ValueError"


async def test_an_invalid_address_does_not_stop_the_bot(caplog: pytest.LogCaptureFixture) -> None:
    mine = Tracing(config("http://[half"), flush_s=0.1)
    await mine.start()
    await traced(mine)
    await mine.close()
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


class Scripted(SpanExporter):
    """Succeeds or fails as scripted; raises for None."""

    def __init__(self) -> None:
        self.well: bool | None = True

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if self.well is None:
            raise OSError
        return SpanExportResult.SUCCESS if self.well else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        pass


def test_an_outage_is_logged_once_and_many_at_most_hourly(caplog: pytest.LogCaptureFixture) -> None:
    now, inner = [0.0], Scripted()
    exporter = LoggedOnce(inner, "there", lambda: now[0])

    def after(seconds: float, *course: bool | None) -> int:
        caplog.clear()
        now[0] += seconds
        for inner.well in course:
            exporter.export([])
        return len(caplog.records)

    assert after(0, True) == 0
    assert after(1, False, None, False) == 1
    assert after(2 * SAY_AGAIN_S, False, False) == 0  # still the same one
    assert after(1, True, None) == 1
    assert after(60, True, False, True, False) == 0
    assert after(2 * SAY_AGAIN_S, True, False) == 1
    exporter.shutdown()
