"""A provider's settings also apply to its requests for transcription, speech and vectors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from aiohttp import web

from bot.budget import Budget
from bot.config import BudgetConfig, Config, ProviderConfig, RolesConfig, Secrets
from bot.config.settings import EmbeddingConfig
from bot.events import UserError
from bot.retrieval.embedding import Embedding
from bot.speech.engines.service import Service
from bot.speech.listening.ears import Ears
from bot.speech.recording import Recording
from bot.speech.transcriber import Transcriber
from bot.words import words
from storage.db import Database
from storage.ledger import Ledger
from tests.fakes import migrated
from tests.fakes.scripted_app import asked
from tests.fakes.speech_service import tone


@dataclass
class Anything:
    """A service that answers any request, and records its path and headers."""

    address: str = ""
    requests: list[web.Request] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(request)
        await request.read()
        if request.path.endswith("/speech"):
            return web.Response(body=tone(0.1), content_type="audio/wav")
        vectors = [{"index": 0, "embedding": [0.6, 0.8], "object": "embedding"}]
        return web.json_response(
            {"text": "I open the door.", "data": vectors, "model": "m", "object": "list"}
        )


@pytest.fixture
async def anything() -> AsyncIterator[Anything]:
    made = Anything()
    app = web.Application()
    app.add_routes([web.post("/{path:.*}", made.answer)])
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.address = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield made
    await runner.cleanup()


def config(anything: Anything, secrets: dict[str, str]) -> Config:
    provider = ProviderConfig(
        "openai",
        "openai",
        f"{anything.address}?api-version=2026-10-21",
        None,
        headers={"X-Table": "7"},
        headers_env={"api-key": "AZURE_KEY"},
        query={"tier": "a b"},
    )
    return Config(
        Path("data"),
        Path("models"),
        providers={"openai": provider},
        roles=RolesConfig(transcriber=("openai:whisper-1",)),
        embedding=EmbeddingConfig("openai:m", "none"),
        secrets=Secrets(secrets, {}),
    )


async def test_headers_and_query_go_with_recordings_speech_and_vectors(
    tmp_path: Path, anything: Anything
) -> None:
    made = config(anything, {"AZURE_KEY": "azure-4711"})
    database = await Database.open(migrated.database(tmp_path / "sutradhar.db"))
    budget = Budget(Ledger(database), BudgetConfig())
    text = await Transcriber(made, budget, Ears(made)).text(asked("r1", ""), Recording("a.ogg", 2.0), b"OggS")
    engine = Service(made.providers["openai"], made)
    assert (await engine.say("The door opens.", "", 1.0, "en")).rate
    embedder = await Embedding(made).get()
    assert embedder is not None
    await asyncio.to_thread(embedder.query, "door")
    assert text == "I open the door."
    assert [request.path for request in anything.requests] == [
        "/v1/audio/transcriptions", "/v1/audio/speech", "/v1/embeddings",
    ]  # fmt: skip
    for request in anything.requests:
        assert dict(request.query) == {"api-version": "2026-10-21", "tier": "a b"}, request.path
        assert (request.headers["X-Table"], request.headers["api-key"]) == ("7", "azure-4711")
        assert "Authorization" not in request.headers
    await engine.close()
    await database.close()


async def test_a_header_without_its_secret_is_not_sent_and_costs_nothing(
    tmp_path: Path, anything: Anything
) -> None:
    made = config(anything, {})
    database = await Database.open(migrated.database(tmp_path / "sutradhar.db"))
    ledger = Ledger(database)
    with pytest.raises(UserError) as missing:
        await Transcriber(made, Budget(ledger, BudgetConfig()), Ears(made)).text(
            asked("r1", ""), Recording("a.ogg", 2.0), b"OggS"
        )
    assert (missing.value.key, missing.value.values["variable"]) == ("model.key_missing", "AZURE_KEY")
    lacking = Service(made.providers["openai"], made).absent()
    assert lacking is not None
    assert words("pt")(lacking.key, **lacking.values) == "AZURE_KEY não está definida"
    embedding = Embedding(made)
    assert (await embedding.get(), embedding.missing and embedding.missing.key) == (None, "model.key_missing")
    assert await ledger.entries(asked("r1", "").place.space, "r1") == []
    assert not anything.requests
    await database.close()
