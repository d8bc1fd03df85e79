"""Indexing a turn costs only its own pieces, however long the story is."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median

import pytest

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from storage.db import Database
from storage.story_vectors import StoryVectors
from tests.works.story.tale import Tale, prose


@pytest.fixture
async def memory() -> AsyncIterator[Memory]:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig("none")))
    yield Memory(StoryVectors(db), embedding, RecallConfig())
    await db.close()


@pytest.mark.slow
async def test_the_next_turn_of_a_long_story_is_indexed_in_a_hundred_milliseconds(memory: Memory) -> None:
    tale = Tale()
    for number in range(1_000):
        tale.turn(f"I go down to step {number}.", prose(number, 60))
    story, spent = tale.story, list[float]()

    async def found(query: str) -> list[int]:
        return [
            moment.number for moment in await memory.recall("local", "story", "main", story, Query(query), 3)
        ]

    await found("step 999")
    for number in range(1_000, 1_005):
        first = len(tale.nodes)
        tale.turn(f"I go down to step {number}.", prose(number, 2_000))
        for node in tale.nodes[first:]:
            story.add(node)
        began = time.process_time()
        assert (await found(f"step {number}"))[0] == number + 1, "searched, too"
        spent.append(time.process_time() - began)
    assert median(spent) < 0.1, spent
