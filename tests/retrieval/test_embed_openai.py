"""The openai embedder, with its SDK, against a loopback service as strict as the real one."""

from __future__ import annotations

import asyncio
import json
import traceback
from typing import Any

import aiohttp
import numpy as np
import pytest

from bot.events import UserError
from bot.retrieval.embed_openai import OpenAIEmbedder
from tests.fakes.embeddings import EmbeddingService, Fault

MODEL = "text-embedding-3-small"
KEY = "sk-proj-verysecret123456"
SOON = {"retry-after-ms": "1"}


def made(service: EmbeddingService, model: str = MODEL, key: str | None = KEY) -> OpenAIEmbedder:
    return OpenAIEmbedder(model, api_key=key, base_url=service.base_url)


async def test_vectors_come_in_order_and_have_length_one() -> None:
    async with EmbeddingService(key=KEY) as service:
        model = made(service)
        texts = [f"passage number {n}" for n in range(300)]
        vectors = await asyncio.to_thread(model.passages, texts)
        assert vectors.shape == (300, 1536)
        assert model.dimensions == 1536
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
        question = await asyncio.to_thread(model.query, "passage number 217")
        assert int(np.argmax(vectors @ question)) == 217
        assert [len(request["input"]) for request in service.requests] == [128, 128, 44, 1]


async def test_nothing_the_service_refuses_is_sent() -> None:
    """Empty, very long and dense texts are sent in requests below the service's token limit."""
    texts = ["", "é" * 90_000, "\ud800", *["漢" * 3000] * 200]
    async with EmbeddingService(key=KEY) as service:
        vectors = await asyncio.to_thread(made(service).passages, texts)
        assert vectors.shape == (203, 1536)
        assert len(service.requests) > 2
    assert OpenAIEmbedder(MODEL, api_key=KEY, base_url="http://127.0.0.1:9/v1").passages([]).shape == (0, 0)


async def test_without_a_key_no_header_is_sent_and_the_environment_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{name}", "environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer environment\nX-Team: environment")
    async with EmbeddingService() as service:
        await asyncio.to_thread(made(service, key=None).query, "a question")
        await asyncio.to_thread(made(service).query, "a question")
        assert "Authorization" not in service.headers[0]
        assert service.headers[1]["Authorization"] == f"Bearer {KEY}"
        assert "environment" not in str([dict(header) for header in service.headers])
    own = OpenAIEmbedder(MODEL, api_key=KEY, base_url=None)
    assert str(own._client.base_url) == "https://api.openai.com/v1/"
    with pytest.raises(UserError) as refused:
        OpenAIEmbedder(MODEL, api_key=" ", base_url=None)
    assert refused.value.key == "embedding.key_missing"


@pytest.mark.parametrize(
    ("fault", "times", "reason"),
    [
        (Fault(401), 1, "HTTP 401"),
        (Fault(400), 1, "HTTP 400"),
        (Fault(429, SOON), 4, "HTTP 429"),
        (Fault(503, SOON), 4, "HTTP 503"),
        (Fault(200, body="<html>a proxy's page</html>"), 1, "unreadable answer"),
        (Fault(200, {"Content-Type": "application/json"}, body='{"data": [{"ind'), 1, "unreadable answer"),
        (Fault(200, {"Content-Type": "application/json"}, body='{"data": []}'), 1, "unreadable answer"),
    ],
)
async def test_an_error_is_one_sentence_without_the_key(fault: Fault, times: int, reason: str) -> None:
    async with EmbeddingService(key=KEY, faults=[fault] * times) as service:
        with pytest.raises(UserError) as failed:
            await asyncio.to_thread(made(service).passages, ["a text"])
    assert failed.value.key == "embedding.failed"
    assert failed.value.values["reason"] == reason
    printed = "".join(traceback.format_exception(failed.value))
    assert KEY not in printed
    assert "verysecret" not in printed
    assert failed.value.__cause__ is None
    assert failed.value.__context__ is None
    assert len(service.requests) == times


async def test_a_temporary_error_is_retried() -> None:
    faults = [Fault(429, SOON), Fault(500, SOON), Fault(drop=True)]
    async with EmbeddingService(key=KEY, faults=faults) as service:
        vectors = await asyncio.to_thread(made(service).passages, ["a text"])
        assert vectors.shape == (1, 1536)
        assert len(service.requests) == 4


async def test_a_wrong_key_and_an_unknown_model_are_distinguished() -> None:
    async with EmbeddingService(key=KEY) as service:
        for model, reason in (
            (made(service, key="sk-wrong-key-1234567"), "HTTP 401 invalid_api_key"),
            (made(service, "text-embedding-9"), "HTTP 404 model_not_found"),
        ):
            with pytest.raises(UserError) as failed:
                await asyncio.to_thread(model.query, "a question")
            assert failed.value.values["reason"] == reason
            assert "sk-wrong" not in str(failed.value)
        assert len(service.requests) == 2


async def test_vectors_of_another_size_are_refused() -> None:
    short = (
        '{"object": "list", "model": "m", "data": [{"object": "embedding", "index": 0, "embedding": [1.0]}]}'
    )
    async with EmbeddingService(key=KEY) as service:
        model = made(service)
        await asyncio.to_thread(model.query, "one")
        service.faults.append(Fault(200, {"Content-Type": "application/json"}, body=short))
        with pytest.raises(UserError) as failed:
            await asyncio.to_thread(model.query, "two")
    assert failed.value.values["reason"] == "unreadable answer"


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"input": ""}, 400, "empty string"),
        ({"input": ["a", ""]}, 400, "empty string"),
        ({"input": []}, 400, "invalid"),
        ({"input": ["a"] * 2049}, 400, "2048"),
        ({"input": ["é" * 6000] * 41}, 400, "300000 tokens"),
        ({"input": "word " * 9000}, 400, "8192"),
        ({"model": "gpt-0"}, 404, "does not exist"),
        ({"dimensions": 4096}, 400, "dimensions"),
        ({"dimensions": 0}, 400, "dimensions"),
        ({"model": "text-embedding-ada-002", "dimensions": 256}, 400, "dimensions"),
        ({"encoding_format": "int8"}, 400, "encoding_format"),
        ({"truncate": True}, 400, "truncate"),
    ],
)
async def test_the_fake_refuses_what_the_service_refuses(
    change: dict[str, Any], status: int, says: str
) -> None:
    async with EmbeddingService() as service, aiohttp.ClientSession() as session:
        body = {"model": MODEL, "input": "a text", **change}
        sent = json.dumps(body, ensure_ascii=False).encode()
        as_json = {"Content-Type": "application/json"}
        async with session.post(f"{service.base_url}/embeddings", data=sent, headers=as_json) as answer:
            assert answer.status == status
            assert says in (await answer.json())["error"]["message"]
        async with session.post(
            f"{service.base_url}/embeddings", json={"model": MODEL, "input": "a text", "dimensions": 256}
        ) as answer:
            assert len((await answer.json())["data"][0]["embedding"]) == 256
