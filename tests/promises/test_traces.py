"""Each run has one trace, which contains its actions but no texts; an interrupted run continues in the same trace."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from opentelemetry import trace

from bot.app import App
from bot.platforms import Platform
from tests.fakes.anthropic_messages import MessagesService
from tests.fakes.chat_completions import ChatService, Reply
from tests.fakes.collector import Collector, Taken
from tests.fakes.scripted_app import Recorder, asked
from tests.promises.talk import ANSWER, ASK, KEY, PATIENCE_S, ROOT, settings, status, talking

WORDS = '[embedding]\nmodel = "none"\n'
SAID = (
    "grappled creature",
    "Grappled",
    "becomes zero",
    "handbook",
    "Handbook",
    "rules.md",
    "fake:small",
    KEY,
)


def to(collector: Collector) -> str:
    return f'{WORDS}[tracing]\nendpoint = "{collector.endpoint}"\n'


def below(spans: Sequence[Taken], root: Taken) -> list[Taken]:
    return sorted((span for span in spans if span.above == root.id), key=lambda span: span.begun)


def run_of(spans: Sequence[Taken], verb: str = "ask") -> Taken:
    (found,) = [span for span in spans if span.name == "run" and span.about["sutradhar.verb"] == verb]
    return found


async def test_a_questions_trace_is_a_tree_of_its_parts(stocked: Path) -> None:
    async with Collector() as collector, ChatService([Reply(text=ANSWER)]) as service:
        async with talking(settings(stocked, service, toml=to(collector))) as talk:
            assert status(events := await talk.say(ASK)) == "done"
            assert status(await talk.say("/rules books")) == "done"
        # The bot's tracer provider is not the global one.
        assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
        run, books = run_of(collector.spans), run_of(collector.spans, "books")
        search, answer = below(collector.spans, run)

    assert run.trace != books.trace
    assert {one.trace for one in (search, answer)} == {run.trace}
    assert run.above == ""
    assert (run.failed, run.kind) == (False, 2)  # SPAN_KIND_SERVER
    assert run.about == {
        "sutradhar.run": events[0]["run"],
        "sutradhar.work": "rules",
        "sutradhar.verb": "ask",
        "sutradhar.platform": "terminal",
        "sutradhar.strategy": "single",
        "sutradhar.resumed": False,
        "sutradhar.outcome": "done",
    }
    assert run.begun < search.begun < search.ended <= answer.begun < answer.ended <= run.ended
    assert search.name == "retrieval"
    assert search.about == {
        "gen_ai.operation.name": "retrieval",
        "sutradhar.retrieval.passages": search.about["sutradhar.retrieval.passages"],
        "sutradhar.retrieval.documents": 1,
        "sutradhar.retrieval.confident": True,
        "sutradhar.retrieval.titled": search.about["sutradhar.retrieval.titled"],
        "sutradhar.retrieval.notices": [],
        "sutradhar.strategy": "single",
    }
    assert search.about["sutradhar.retrieval.passages"] > 0
    assert (answer.name, answer.kind) == ("chat small", 3)  # SPAN_KIND_CLIENT
    first = answer.about["gen_ai.response.time_to_first_chunk"]
    assert 0 < first <= (answer.ended - answer.begun) / 1e9
    assert answer.about == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "fake",
        "gen_ai.request.model": "small",
        "gen_ai.request.max_tokens": answer.about["gen_ai.request.max_tokens"],
        "gen_ai.output.type": "text",
        "gen_ai.response.time_to_first_chunk": first,
        "gen_ai.response.finish_reasons": ["end"],
        "gen_ai.usage.input_tokens": service.input_tokens,
        "gen_ai.usage.output_tokens": service.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "server.address": "127.0.0.1",
        "sutradhar.role": "answerer",
    } | {name: answer.about[name] for name in answer.about if name == "gen_ai.request.temperature"}
    assert run.resource["service.name"] == "sutradhar"


async def test_no_text_of_messages_or_books_is_exported(stocked: Path, tmp_path: Path) -> None:
    book = tmp_path / "handbook-two.md"
    book.write_text("# Grappled again\n\nThe grappled creature becomes zero.\n", encoding="utf-8")
    refused = {"message": "what happens to the grappled creature?", "type": "x", "code": "x"}
    async with (
        Collector() as collector,
        MessagesService([Reply(text=ANSWER), Reply(status=400, error=refused, times=9)]) as service,
    ):
        async with talking(
            settings(stocked, service, toml=to(collector)), thread="grappled creature"
        ) as talk:
            for line in (
                ASK,
                ASK,
                f"/library add {book} --shelf Grappled",
                "/rules lookup Grappled --shelf no",
            ):
                await talk.say(line)
        sent = b"".join(collector.raw).decode("utf-8", "replace")
        assert len([span for span in collector.spans if span.name == "run"]) == 4
        assert [span for span in collector.spans if span.name.startswith("chat") and span.failed]

    assert [said for said in (*SAID, str(tmp_path)) if said in sent] == []
    assert [span for span in collector.spans if span.events or span.said] == []
    header = json.dumps([dict(headers) for headers in service.headers])
    assert "traceparent" not in header.lower()  # Anthropic's SDK would add it by itself


async def test_a_failure_is_named_by_its_type(stocked: Path) -> None:
    async with (
        Collector() as collector,
        ChatService([Reply(status=401, times=9)]) as first,
        ChatService([Reply(text=ANSWER)]) as second,
    ):
        async with talking(settings(stocked, first, second, toml=to(collector))) as talk:
            assert status(await talk.say(ASK)) == "done"
            assert status(await talk.say("/rules see 7")) == "failed"
        run, see = run_of(collector.spans), run_of(collector.spans, "see")
        calls = [span for span in below(collector.spans, run) if span.name.startswith("chat")]

    assert [(call.failed, call.about.get("error.type")) for call in calls] == [
        (True, "model.auth"),
        (False, None),
    ]
    assert [call.about["gen_ai.provider.name"] for call in calls] == ["fake", "second"]
    assert (run.failed, "error.type" in run.about) == (False, False)
    assert see.failed
    assert see.about["error.type"].startswith("rules.")
    assert see.about["sutradhar.outcome"] == "failed"


async def test_a_stopped_run_is_no_error(stocked: Path) -> None:
    held = Reply(text=ANSWER, gates={3: asyncio.Event()})
    async with Collector() as collector, ChatService([held]) as service:
        async with talking(settings(stocked, service, toml=to(collector))) as talk:
            await talk.type(ASK)
            await talk.until(lambda events: any("speed" in event.get("text", "") for event in events))
            await talk.say("/stop")
            await talk.until(lambda events: any(event.get("status") == "stopped" for event in events))
        run = run_of(collector.spans)
        (answer,) = [span for span in below(collector.spans, run) if span.name.startswith("chat")]

    assert (run.about["sutradhar.outcome"], run.failed) == ("stopped", False)
    assert (answer.about["sutradhar.outcome"], answer.failed) == ("stopped", False)
    assert answer.about["gen_ai.usage.output_tokens"] > 0
    assert "gen_ai.response.finish_reasons" not in answer.about


async def test_concurrent_runs_have_separate_traces(stocked: Path) -> None:
    both = asyncio.Event()
    async with Collector() as collector:

        def answered(_: object) -> Reply:
            if service.calls == 2:
                both.set()
            return Reply(text=ANSWER, gates={1: both})

        async with ChatService(answered) as service:
            app, seen = await App.open(settings(stocked, service, toml=to(collector))), Recorder()
            app.attach(Platform("terminal", seen.view))
            await app.start()
            question = ASK.removeprefix("/rules ask ")
            tickets = [await app.perform(asked(thread, question, thread=thread)) for thread in ("one", "two")]
            assert [await ticket.wait() for ticket in tickets] == ["done", "done"]
            await app.close()
        roots = {span.about["sutradhar.run"]: span for span in collector.spans if span.name == "run"}

    one, two = roots["one"], roots["two"]
    assert one.begun < two.ended
    assert two.begun < one.ended
    assert one.trace != two.trace
    for root in (one, two):
        under = below(collector.spans, root)
        assert [span.name for span in under] == ["retrieval", "chat small"]
        assert {span.trace for span in under} == {root.trace}


async def test_an_interrupted_run_continues_in_the_same_trace(stocked: Path) -> None:
    held = Reply(text=ANSWER, gates={3: asyncio.Event()})
    async with Collector() as collector, ChatService([held, Reply(text=ANSWER)]) as service:
        given = settings(stocked, service, toml=to(collector))
        app, seen = await App.open(given), Recorder()
        app.attach(Platform("terminal", seen.view))
        await app.start()
        await app.perform(asked("cut", ASK.removeprefix("/rules ask ")))
        await service.asked.wait()
        await app.close()
        first = list(collector.spans)
        async with talking(given) as again:
            await again.until(lambda events: any(event["event"] == "done" for event in events))
        run = run_of(collector.spans)

    assert [(one.name, one.about.get("sutradhar.outcome")) for one in first] == [
        ("retrieval", None),
        ("chat small", "stopped"),
    ]
    assert {span.trace for span in collector.spans} == {run.trace}
    assert [span.name for span in below(collector.spans, run)] == [
        "retrieval",
        "chat small",
        "replayed step",
        "replayed step",
        "chat small",
    ]
    assert run.about["sutradhar.resumed"] is True
    assert run.about["sutradhar.outcome"] == "done"
    assert run.begun <= first[0].begun
    assert run.about["sutradhar.strategy"] == "single"
    replayed = [span.about for span in collector.spans if span.name == "replayed step"]
    assert replayed == [
        {"sutradhar.step": name, "sutradhar.replayed": True} for name in ("snapshot", "search")
    ]


def test_without_an_endpoint_no_exporter_is_imported(stocked: Path) -> None:
    given = settings(stocked)
    code = "import sys; from bot.cli import main; code = main(); print(*sys.modules); sys.exit(code)"
    command = (
        sys.executable,
        "-c",
        code,
        "--config",
        str(given.file),
        "--data",
        str(stocked),
        "chat",
        "--json",
    )
    ran = subprocess.run(
        command, input=ASK, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert '"done"' in ran.stdout
    modules = ran.stderr.split()
    assert "bot.tracing" in modules
    senders = ("opentelemetry.sdk", "opentelemetry.exporter", "bot.tracing.otlp")
    assert [module for module in modules if module.startswith(senders)] == []
