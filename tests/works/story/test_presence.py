"""Nobody recalls a scene in which they were not present: by words and by meaning, on any branch."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random

import pytest

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.log.nodes import Part
from bot.works.story.log.story import Story, fold
from bot.works.story.memory.excerpts import as_prompt, excerpts
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from bot.works.story.memory.recall import moments
from bot.works.story.world.state import known_name, turns_unknown_to
from storage.db import Database
from storage.stories import Spot, Stories
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.fakes.embedder import Letters
from tests.fakes.reply import Reply
from tests.works.story.extractor import Service, looked_into, playing, standing
from tests.works.story.tale import Tale
from tests.works.story.test_recall import failed
from tests.works.story.writer import START, choices, texts

CAST = ("Mira", "Bo", "Zoe")
ONE = "openai:one"


class Told(Tale):
    """Scenes with one secret each, and for each secret who was present according to the test."""

    def __init__(self, random: Random, first: int = 2) -> None:
        super().__init__()
        self._numbers = count(first)
        self._random = random
        self.there: dict[str, set[str]] = {}

    def scene(self, text: str, there: set[str], turn: str, *, looked_into: bool = True) -> None:
        node = self.add("scene", {"text": text, "at": 1}, turn)
        if looked_into:
            state = [{"name": name, "where": "here", "present": name in there} for name in CAST]
            self.add("extracted", {"scene": node, "summary": text, "state": state}, turn)

    def secret_turn(self, number: int) -> None:
        secret = f"secret{number}{self._random.randrange(10**6)}"
        there = {name for name in CAST if self._random.random() < 0.4}
        player = self._random.choice(["", *CAST])
        speaker = self._random.choice(CAST) if self._random.random() < 0.2 else ""
        body = {"mode": "act", "text": f"I ask {number}.", "name": "Ana", "character": player}
        turn = self.add("act", body | ({"speaker": speaker} if speaker else {}))
        named = ", ".join(CAST)
        seen = self._random.random() < 0.8
        text = f"The word of the vault is {secret}: {named} are spoken of."
        if self._random.random() < 0.3:  # a version that counts no more, in which everybody was
            self.scene(f"The word of the vault is gone{number}.", set(CAST), turn)
        self.scene(text, there, turn, looked_into=seen)
        self.there[secret] = (there if seen else set()) | ({player, speaker} - {""})


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    await Stories(db).create(Spot("local", "terminal", "terminal", "t"), "story", "A story", "ana")
    embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(ONE)))
    embedding.load = Letters(ONE).load
    yield Memory(StoryVectors(db), embedding, RecallConfig())
    await db.close()


async def recalled(memory: Memory, branch: str, story: Story, character: str) -> str:
    """Everything that any search can return for the character, as the writer and as a player gets it.

    A player is shown the first moments alone: each secret is asked for by itself, too.
    """
    by, unknown = RecallConfig(scenes=100), turns_unknown_to(story, character)
    query = Query("the word of the vault secret " + " ".join(CAST))
    found = await excerpts(memory, "local", "story", branch, story, query, by, 100_000, unknown)
    pieces = await memory.recall("local", "story", branch, story, query, 1_000, unknown)
    assert not unknown & {piece.turn for piece in pieces}
    secrets = {
        word
        for turn in story.current_turns
        for word in re.findall(r"secret\d+", turn.scene.text if turn.scene else "")
    }
    asked = [f"the word of the vault is {secret}" for secret in sorted(secrets)]
    shown = [
        moment.quote
        for text in asked
        for moment in await moments(memory, "local", "story", branch, story, text, character, by)
    ]
    told, read = "\n".join(shown), as_prompt(story, found)
    assert {secret for secret in secrets if secret in told} == {
        secret for secret in secrets if secret in read
    }
    return read


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))])
async def test_nobody_recalls_a_secret_without_having_been_there(memory: Memory, seed: int) -> None:
    tale = Told(Random(seed))
    for number in range(12):
        tale.secret_turn(number)
    trunk = tale.story.path[7]
    cut = tale.story.turns[tale.story.path[8]].first - 1
    shared = list(tale.there)[:8]
    aside = Told(Random(seed + 100), first=1_000)
    for number in range(20, 26):
        aside.secret_turn(number)
    on_aside = [replace(node, branch_id="aside") for node in aside.nodes[1:]]
    fork = fold([Part("main", len(tale.nodes), cut, trunk), Part("aside")], [*tale.nodes, *on_aside])
    there = tale.there | aside.there
    of_fork = {*shared, *aside.there}
    for branch, story, secrets in (("main", tale.story, set(tale.there)), ("aside", fork, of_fork)):
        await memory.learn("local", "story", branch, story)
        for name in CAST:
            told = await recalled(memory, branch, story, name)
            mine = {secret for secret in secrets if name in there[secret]}
            assert {secret for secret in there if secret in told} == mine, (branch, name)
            assert "gone" not in told


def test_in_a_chat_log_speakers_are_present_and_player_names_do_not_count() -> None:
    tale = Tale()
    for group, name in (("1", "Gina"), ("1", "Jon"), ("2", "Jon"), ("3", "Ana")):
        body = {"mode": "say", "text": "Hello.", "name": name, "label": f"{group}{name}", "group": group}
        tale.add("act", body)
    tale.turn("I, Ana, say nothing to Gina.", "Gina is spoken of.")
    first, second, third, fourth, fifth = tale.story.path
    assert turns_unknown_to(tale.story, "gina") == {third, fourth, fifth}
    assert turns_unknown_to(tale.story, "JON") == {fourth, fifth}
    assert turns_unknown_to(tale.story, "Ana") == {first, second, third, fifth}
    assert known_name(tale.story, "  gina ") == "Gina"
    assert known_name(tale.story, "Mira") == ""


def test_another_version_has_nobody_present_until_it_is_read() -> None:
    tale = Told(Random(1))
    turn = tale.add("act", {"mode": "act", "text": "I wait.", "name": "Ana"})
    tale.scene("Zoe is there.", {"Zoe"}, turn)
    assert turns_unknown_to(tale.story, "Zoe") == set()
    assert known_name(tale.story, "zoe") == "Zoe", "of no cast"
    tale.scene("Bo is there.", {"Bo"}, turn, looked_into=False)
    assert turns_unknown_to(tale.story, "Zoe") == {turn}
    first = next(node.id for node in tale.nodes if node.kind == "scene")
    tale.add("flip", {"scene": first}, turn)
    assert turns_unknown_to(tale.story, "Zoe") == set()


async def test_players_recall_for_a_character_the_scenes_in_which_the_extractor_saw_it(
    tmp_path: Path,
) -> None:
    service = Service()
    async with playing(tmp_path / "data", service) as talk:
        secrets = ("The vault opens at dawn.", "The vault opens at dusk.")
        there = [standing("Mira"), standing("Bo", where="at sea", present=False)]
        service.finds(characters=there)
        service.next.append(Reply(secrets[0]))
        await talk.say(f"{START} --cast 'Mira; Bo'")
        await looked_into(talk, 1)
        service.finds(characters=[standing("Bo"), standing("Mira", present=False)])
        service.next.append(Reply(secrets[1]))
        await talk.say("I wait.")
        await looked_into(talk, 2)
        for name, knows, not_this in (("Mira", *secrets), ("bo", *reversed(secrets))):
            events = await talk.say(f"/story recall when does the vault open? --character {name}")
            assert knows in texts(events)
            assert not_this not in str(events)
            assert not_this not in str(choices(events))
        assert "Ada" in failed(await talk.say("/story recall it --character Ada"))
        text = texts(await talk.say("/story characters"))
        assert "**Bo**: last seen in scene 2, in 1 scene" in text
        assert "**Mira**: last seen in scene 1, in 1 scene" in text
