"""Nothing made of a deleted person's words is left."""

from __future__ import annotations

from pathlib import Path

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.events import Place
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.log.logs import Logs, PlayedStory, node, spot
from bot.works.story.memory.memory import Memory, by_sentence
from storage.db import Database
from storage.people import People
from storage.stories import Stories
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.fakes.embedder import Letters

ONE = "openai:one"
HERE = Place("terminal", "local", "terminal", "t")


async def test_vectors_of_a_reworded_scene_are_deleted_with_the_person_who_reworded_it(
    tmp_path: Path,
) -> None:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    try:
        logs, vectors = Logs(Stories(db)), StoryVectors(db)
        embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(ONE)))
        embedding.load = Letters(ONE).load
        memory = Memory(vectors, embedding, RecallConfig())
        await logs.stories.create(spot(HERE), "story", "The door", "ana")

        async def here() -> PlayedStory:
            played = await logs.played_in(HERE)
            assert played is not None
            return played

        act = node("1", "act", "act", {"mode": "act", "text": "I wait.", "name": "Ana"}, author="ana")
        written = node("1", "scene", "scene", {"text": "The sea is flat."}, turn=act.id)
        edited = node(
            "2", "scene", "scene", {"text": "The sea is a mirror.", "edited": True}, turn=act.id, author="bo"
        )
        found = {"scene": edited.id, "summary": "The sea mirrors the sky."}
        noted = node("3", "extracted-1", "extracted", found, turn=act.id, author="bo")
        nodes = [act, written, edited, noted]
        await logs.append(await here(), act, written)
        await memory.learn("local", "story", "story", (await here()).story)
        await logs.append(await here(), edited, noted)
        await memory.learn("local", "story", "story", (await here()).story)
        kept = await vectors.by_node("local", "story", by_sentence(ONE), [node.id for node in nodes])
        assert kept.keys() == {node.id for node in nodes}

        await People(db).delete("local", "bo", "later", lambda payload: payload)
        kept = await vectors.by_node("local", "story", by_sentence(ONE), [node.id for node in nodes])
        assert kept.keys() == {act.id, written.id}, "the writer's version and Ana's turn stay"
    finally:
        await db.close()
