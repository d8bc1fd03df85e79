"""Which spans are traced, and what they say about an error."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path

import pytest

from bot import tracing
from bot.config import ProviderConfig
from bot.events import UserError
from bot.llm.base import Message, Meter, ModelError, Prompt
from bot.llm.completion import Completion, Usage
from bot.retrieval.embed_openai import OpenAIEmbedder
from bot.retrieval.results import SearchResult
from bot.tracing import Tracing
from tests.fakes.collector import Collector, Taken
from tests.fakes.embeddings import EmbeddingService, Fault
from tests.fakes.traced import ASKED, NOW, config, traced

ROOT = Path(__file__).resolve().parents[1]
PROMPT = Prompt("system", (Message("user", "question"),), max_tokens=9)
SERVICE = ProviderConfig("mine", "openai", "https://user:word@models.example:8443/v1")


async def test_without_an_endpoint_nothing_is_traced() -> None:
    async def answer() -> AsyncGenerator[str | Completion, None]:
        yield "a"

    idle = Tracing(config())
    await idle.start()
    with idle.run(ASKED, NOW, resumed=False):
        pieces = tracing.chat(answer(), "answerer", SERVICE, "m", PROMPT, Meter())
        assert [piece async for piece in pieces] == ["a"]
        tracing.replayed("b")
        with tracing.opened("retrieval", {}) as span:
            assert not span.is_recording()
        tracing.note("strategy", "single")
        tracing.failed(ValueError())
    await idle.close()


async def spans_of(body: AsyncGenerator[str | Completion, None], meter: Meter) -> Sequence[Taken]:
    """The spans that the collector gets for one model call within a run."""
    async with Collector() as collector:
        mine = Tracing(config(collector.endpoint))
        await mine.start()
        with mine.run(ASKED, NOW, resumed=False) as run:
            run.outcome = "done"
            try:
                async with aclosing(tracing.chat(body, "chair", SERVICE, "m-1", PROMPT, meter)) as pieces:
                    async for _ in pieces:
                        pass
            except (ModelError, ZeroDivisionError) as error:
                tracing.failed(error)
                run.outcome = "failed"
        await mine.close()
        return collector.spans


async def test_cached_tokens_count_as_input_and_addresses_lose_their_secrets() -> None:
    meter = Meter(Usage(10, 7, 300, 20))

    async def answer() -> AsyncGenerator[str | Completion, None]:
        yield "text"
        yield Completion("text", "length", "mine:m-1", meter.usage)

    call, _ = await spans_of(answer(), meter)
    assert call.name == "chat m-1"
    assert call.about["gen_ai.provider.name"] == "openai"
    assert call.about["server.address"] == "models.example"
    assert call.about["gen_ai.response.finish_reasons"] == ["length"]
    usage = {name: value for name, value in call.about.items() if name.startswith("gen_ai.usage.")}
    assert usage == {
        "gen_ai.usage.input_tokens": 330,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 300,
        "gen_ai.usage.cache_creation.input_tokens": 20,
    }


async def test_a_request_for_vectors_is_a_span_below_its_search() -> None:
    async with (
        Collector() as collector,
        EmbeddingService(key="sk-1", faults=[Fault(401, body="what a person said")]) as service,
    ):
        embedder = OpenAIEmbedder("text-embedding-3-small", api_key="sk-1", base_url=service.base_url)

        @tracing.retrieval
        async def search() -> SearchResult:
            await asyncio.to_thread(embedder.query, "question")
            return SearchResult([], confident=False)

        mine = Tracing(config(collector.endpoint))
        await mine.start()
        with mine.run(ASKED, NOW, resumed=False) as run:
            run.outcome = "done"
            with pytest.raises(UserError):
                await search()
            await search()
        await mine.close()
        refused, failed, made, searched, root = collector.spans
    assert (made.name, made.kind) == ("embeddings text-embedding-3-small", 3)
    assert made.about == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.provider.name": "127.0.0.1",
        "gen_ai.request.model": "text-embedding-3-small",
        "server.address": "127.0.0.1",
    }
    assert [span.above for span in (refused, failed, made, searched, root)] == [
        failed.id, root.id, searched.id, root.id, "",
    ]  # fmt: skip
    assert [span.about.get("error.type") for span in (refused, failed, root)] == [
        *["embedding.failed"] * 2,
        None,
    ]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://openai.com.example.org/v1", "openai.com.example.org"),
        ("http://me:hush@vectors:8080/v1", "vectors"),
    ],
)
async def test_a_service_of_vectors_is_named_by_its_address(address: str, name: str) -> None:
    async with Collector() as collector:
        mine = Tracing(config(collector.endpoint))
        await mine.start()
        with mine.run(ASKED, NOW, resumed=False) as run:
            run.outcome = "done"
            with tracing.embeddings("m", address):
                pass
        await mine.close()
        made, _ = collector.spans
    assert made.about["gen_ai.provider.name"] == name


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ModelError("rate_limit", "mine:m-1", "what a person said"), "model.rate_limit"),
        (ZeroDivisionError("what a person said"), "ZeroDivisionError"),
    ],
)
async def test_an_error_is_traced_by_its_kind_without_its_message(error: Exception, kind: str) -> None:
    async def answer() -> AsyncGenerator[str | Completion, None]:
        yield "a word"
        raise error

    for span in await spans_of(answer(), Meter()):
        assert (span.failed, span.said, span.events, span.about["error.type"]) == (True, "", 0, kind)


async def test_a_run_that_does_not_end_in_this_process_is_not_sent() -> None:
    async with Collector() as collector:
        mine = Tracing(config(collector.endpoint))
        await mine.start()
        with pytest.raises(asyncio.CancelledError), mine.run(ASKED, NOW, resumed=False):
            raise asyncio.CancelledError
        await traced(mine)
        await traced(mine, since=NOW + timedelta(seconds=1))  # another bot's run of the same message
        await mine.close()
        one, other = collector.spans
        assert one.trace != other.trace
        again = Tracing(config(collector.endpoint))
        await again.start()
        await traced(again)
        await again.close()
        last = collector.spans[-1]
        assert (last.trace, last.id) == (one.trace, one.id)
        assert one.begun == int(NOW.timestamp()) * 10**9
