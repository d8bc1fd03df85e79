"""kill -9 during an answer: both processes' spans belong to one trace, below the run that the second one ends."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.collector import Collector
from tests.kill.conftest import QUESTION, Chat, Service
from tests.kill.instants import ALL

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture
def collector() -> Iterator[Collector]:
    """A collector on a separate event loop, which continues while a test waits for a process."""
    found, loop = Collector(), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    asyncio.run_coroutine_threadsafe(found.__aenter__(), loop).result(60)
    yield found
    asyncio.run_coroutine_threadsafe(found.__aexit__(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(60)
    loop.close()


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
def test_a_killed_answer_is_one_trace(
    data: Path,
    chat: Chat,
    by_words: Path,
    service: Service,
    collector: Collector,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    config = tmp_path / "traced.toml"
    traced = f'[tracing]\nendpoint = "{collector.endpoint}"\n'
    config.write_text(by_words.read_text(encoding="utf-8") + traced, encoding="utf-8")
    before = service.calls()
    with chat(QUESTION, config=config) as bot:
        asked = lambda: bool(collector.spans) and service.calls() > before  # noqa: E731
        assert bot.strike_once(asked) == -signal.SIGKILL, bot.complaints()
    first = list(collector.spans)
    with chat(config=config) as again:
        assert again.end() == 0, again.complaints()

    assert [one.name for one in first] == ["retrieval"]
    (run,) = [span for span in collector.spans if span.name == "run"]
    assert {span.trace for span in collector.spans} == {run.trace}
    assert {span.above for span in collector.spans} == {run.id, ""}
    assert [span.name for span in sorted(collector.spans, key=lambda span: span.begun)] == [
        "run",
        "retrieval",
        "replayed step",
        "replayed step",
        "chat small",
    ]
    assert (run.about["sutradhar.resumed"], run.about["sutradhar.outcome"]) == (True, "done")
