"""A forgotten scene or line is not in a writer's excerpts, not even as a neighbour of a find."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.log.story import Story
from bot.works.story.memory.excerpts import as_prompt, excerpts
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from storage.db import Database
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.works.story.tale import Tale, prose

SECRET = "The word of the vault is xanadu."


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig("none")))
    yield Memory(StoryVectors(db), embedding, RecallConfig())
    await db.close()


async def related(memory: Memory, story: Story) -> str:
    """The writer's excerpts for a turn on the pagoda."""
    query, by = Query("the roof of the purple pagoda"), RecallConfig()
    return as_prompt(story, await excerpts(memory, "local", "story", "main", story, query, by, 2_000, ()))


async def test_a_forgotten_scene_is_not_quoted_with_its_turn(memory: Memory) -> None:
    tale = Tale()
    turn = tale.turn("We climb to the roof of the purple pagoda.", SECRET)
    scene = tale.nodes[-1].id
    for number in range(9):
        tale.turn(f"I do {number}.", prose(number, 40))
    assert SECRET in await related(memory, tale.story)
    tale.add("forgotten", {"node": scene})
    told = await related(memory, tale.story)
    assert "purple pagoda" in told
    assert SECRET not in told
    tale.add("forgotten", {"node": turn})
    assert "pagoda" not in await related(memory, tale.story)


async def test_a_forgotten_line_of_a_chat_log_is_not_quoted_with_its_neighbours(memory: Memory) -> None:
    tale = Tale()
    lines = [
        tale.add("act", {"mode": "say", "text": text, "name": "Ana", "label": text, "group": "1"})
        for text in ("The purple pagoda has a roof of tin.", SECRET, "Right.")
    ]
    story = tale.story
    query, by = Query("the roof of the purple pagoda"), RecallConfig()
    chosen = await excerpts(memory, "local", "story", "main", story, query, by, 2_000, ())
    assert SECRET in as_prompt(story, chosen)
    tale.add("forgotten", {"node": lines[1]})
    for told in (await related(memory, tale.story), as_prompt(tale.story, chosen)):
        assert "purple pagoda" in told
        assert SECRET not in told
