"""Odd queries and stories cost little, and the memory still finds what is there."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from bot.works.story.memory.recalled import Recalled
from storage.db import Database
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.works.story.tale import Tale, prose

EVERYONE = "Ana, Bo, Caio, Davi, Mira and Zoe"


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    yield Memory(
        StoryVectors(db),
        Embedding(Config(Path(), Path(), embedding=EmbeddingConfig("none"))),
        RecallConfig(),
    )
    await db.close()


async def found(memory: Memory, tale: Tale, query: str) -> list[Recalled]:
    return await memory.recall("local", "story", "story", tale.story, Query(query), 5)


async def test_a_query_of_100_000_characters_costs_little(memory: Memory) -> None:
    tale = Tale()
    for number in range(300):
        tale.turn(f"I go down to step {number}.", prose(number, 60))
    await found(memory, tale, "loads what is loaded once")
    began = time.process_time()
    pieces = await found(memory, tale, "step 217 " + " ".join(f"nonsense{at}" for at in range(8_000)))
    assert time.process_time() - began < 2
    assert pieces[0].number == 218
    assert await found(memory, tale, "?" * 100_000) == []


async def test_scenes_that_all_mention_everyone_are_still_distinguished(memory: Memory) -> None:
    tale = Tale()
    for number in range(60):
        wears = "Zoe wears the red sundress. " if number == 20 else ""
        tale.turn(f"I ask {EVERYONE}.", f"{wears}{EVERYONE} look at each other. {prose(number, 20)}")
    assert (await found(memory, tale, f"When did {EVERYONE} see the sundress?"))[0].number == 21


async def test_dates_that_jump_back_do_not_change_the_order(memory: Memory) -> None:
    tale = Tale()
    for number, when in enumerate(("9 May 2031", "2 May 1923", "", "31 December 2099", "2 May 1923"), 1):
        body = {"mode": "say", "text": f"The boat number {number} leaves.", "name": "Ana", "when": when}
        tale.add("act", body)
    pieces = await found(memory, tale, "the boat of May 1923")
    assert {piece.number for piece in pieces[:2]} == {2, 5}
    assert [turn.act.text[16:17] for turn in tale.story.current_turns] == list("12345")


async def test_the_language_of_a_memory_follows_its_story(memory: Memory) -> None:
    tale = Tale()
    tale.turn("I wait.", "The sea is flat.")
    assert await found(memory, tale, "navegamos") == []
    for number in range(8):
        tale.turn("Eu subo a escada.", f"Ninguém quer navegar hoje, e o farol número {number} fica escuro.")
    pieces = await found(memory, tale, "navegamos")
    assert {piece.number for piece in pieces} <= set(range(2, 10)), "by the stem that both words have"
    assert pieces
