"""An embedder fails for a while over HTTP: the search uses words, and the vectors are made later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.events import UserError
from bot.retrieval.embed_openai import OpenAIEmbedder
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.log.story import Story
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from bot.works.story.memory.recalled import Recalled
from storage.db import Database
from storage.stories import Spot, Stories
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.fakes.embeddings import EmbeddingService, Fault
from tests.works.story.tale import Tale, prose

KEY = "sk-memory"
MODEL = "openai:text-embedding-3-small"
REFUSED = Fault(400)
"""The SDK does not try it again."""


class Table:
    """A story that goes on, what it remembers, and the service that embeds it."""

    def __init__(self, service: EmbeddingService, db: Database) -> None:
        self.service, self.tale, self.asked = service, Tale(), 0
        self._vectors = StoryVectors(db)
        self._service = service
        self.memory = self.new_memory()

    def new_memory(self, waits: float = 60.0) -> Memory:
        """As after a start."""
        embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(MODEL)))
        made = OpenAIEmbedder(MODEL.partition(":")[2], api_key=KEY, base_url=self._service.base_url)
        embedding.load = lambda _: made
        return Memory(self._vectors, embedding, RecallConfig(), waits=waits)

    @property
    def story(self) -> Story:
        return self.tale.story

    async def learn(self) -> int:
        return await self.memory.learn("local", "story", "story", self.story)

    async def recall(self, memory: Memory | None = None) -> list[Recalled]:
        self.asked += 1  # the vector of the same query is not asked for again
        asked = Query(f"the lanterns of the harbour, {self.asked}")
        return await (memory or self.memory).recall("local", "story", "story", self.story, asked, 3)

    @property
    def embedded(self) -> int:
        return sum(len(request["input"]) for request in self.service.requests)


@pytest.fixture
async def table(tmp_path: Path) -> AsyncIterator[Table]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    await Stories(db).create(Spot("local", "terminal", "terminal", "t"), "story", "A story", "ana")
    async with EmbeddingService(key=KEY) as service:
        yield Table(service, db)
    await db.close()


def by_meaning(recalled: list[Recalled]) -> bool:
    return any("meaning" in moment.reasons for moment in recalled)


async def test_a_story_uses_words_and_its_vectors_are_made_later(table: Table) -> None:
    table.tale.turn("We light the lanterns of the harbour.", prose(1, 20))
    assert await table.learn() == 2
    assert by_meaning(await table.recall())
    before = table.embedded
    table.service.faults += [REFUSED] * 3
    for number in range(2, 4):
        table.tale.turn(f"I go down to step {number}.", prose(number, 20))
        with pytest.raises(UserError, match="failed"):
            await table.learn()
    recalled = await table.recall()
    assert recalled[0].number == 1, "by its words"
    assert not by_meaning(recalled)
    assert not table.service.faults
    asked = len(table.service.requests)
    assert not by_meaning(await table.recall())
    assert len(table.service.requests) == asked, "it is left alone for a while"

    table.tale.turn("I come back.", prose(4, 20))
    before = table.embedded
    assert await table.learn() == 6, "those of three turns, and none twice"
    assert table.embedded == before + 6
    assert by_meaning(await table.recall())
    assert await table.learn() == 0


async def test_texts_embedded_before_a_restart_are_not_embedded_again(table: Table) -> None:
    for number in range(20):
        table.tale.turn(f"I go down to step {number}.", prose(number, 20))
    await table.recall()  # the service's first answer is the query's
    asked = table.embedded
    table.service.faults += [Fault(400)]
    with pytest.raises(UserError):
        await table.learn()
    assert await table.learn() == 40
    table.tale.turn("I come back.", prose(21, 20))
    table.memory = table.new_memory()
    assert await table.learn() == 2
    assert table.embedded == asked + 16 + 42, "besides the 16 that were refused each once"


async def test_a_service_that_hangs_blocks_no_search_and_no_lock(table: Table) -> None:
    table.tale.turn("We light the lanterns of the harbour.", prose(1, 20))
    await table.learn()
    hasty = table.new_memory(waits=0.01)
    table.service.held = asyncio.Event()
    table.tale.turn("I wait.", prose(2, 20))
    learning = asyncio.create_task(table.learn())
    async with asyncio.timeout(60):
        recalled = await table.recall(hasty)
        assert recalled[0].number == 1
        assert not by_meaning(recalled)
        assert await table.learn() == 0, "somebody is at it"
        table.service.held.set()
        assert await learning == 2


async def test_vectors_are_read_before_a_services_model_has_reported_its_dimensions(table: Table) -> None:
    table.tale.turn("We light the lanterns of the harbour.", prose(1, 20))
    await table.learn()
    table.memory = table.new_memory()
    assert by_meaning(await table.recall())
