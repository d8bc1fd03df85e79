"""Two spaces with stories of the same title, cast, words and branches do not see each other's memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.events import Place
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.log.logs import Logs, PlayedStory, node, spot
from bot.works.story.log.nodes import Kind
from bot.works.story.memory.memory import Memory, by_sentence
from bot.works.story.memory.ranking import Query
from storage.db import Database
from storage.stories import Stories
from storage.story_vectors import StoryVectors
from tests.fakes import migrated
from tests.fakes.embedder import Letters

ONE = "openai:one"
TURNS = 12


class Hammered:
    """One storage and one memory, in which each space has a story "The lighthouse" with a branch "aside"."""

    def __init__(self, db: Database) -> None:
        self.logs, self.vectors = Logs(Stories(db)), StoryVectors(db)
        embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(ONE)))
        embedding.load = Letters(ONE).load
        self.memory = Memory(self.vectors, embedding, RecallConfig())

    def place(self, space: str, thread: str) -> Place:
        return Place("terminal", space, "terminal", thread)

    async def played(self, space: str, thread: str) -> PlayedStory:
        played = await self.logs.played_in(self.place(space, thread))
        assert played is not None
        return played

    async def append(self, space: str, thread: str, run: str, kind: Kind, text: str, turn: str = "") -> str:
        body = {"mode": "say", "text": text, "name": "Ana"} if kind == "act" else {"text": text}
        made = node(f"{space}/{thread}/{run}", kind, kind, body, turn=turn, author="ana")
        await self.logs.append(await self.played(space, thread), made)
        return made.id

    async def turn(self, space: str, thread: str, number: int, secret: str) -> None:
        act = await self.append(
            space, thread, f"{number}", "act", f"I ask number {number} for the word of the lighthouse."
        )
        scene = f"Mira whispers at the lighthouse: the word number {number} is {secret}."
        await self.append(space, thread, f"{number}", "scene", scene, act)

    async def begin(self, space: str) -> None:
        stories = self.logs.stories
        await stories.create(spot(self.place(space, "main")), f"{space} story", "The lighthouse", "ana")
        await self.turn(space, "main", 0, f"trunk-{space}")
        played = await self.played(space, "main")
        await self.logs.fork(played, f"{space} aside", "aside", played.story.path[-1], "ana")
        await stories.play(spot(self.place(space, "aside")), f"{space} story", f"{space} aside", "run")

    async def hammer(self, space: str, thread: str) -> None:
        """Turns, vectors and searches at the same time; only this branch's scenes may be found."""
        own = f"own-{space}-{thread}"
        for number in range(1, TURNS + 1):
            await self.turn(space, thread, number, own)
            texts, learnt = await asyncio.gather(self.found(space, thread), self.learn(space, thread))
            assert learnt >= 0
            for text in texts:
                assert own in text or f"trunk-{space}" in text or "I ask number" in text
            assert any(own in text for text in texts)
        assert any(f"trunk-{space}" in text for text in await self.found(space, thread)), (
            "a fork finds the trunk"
        )

    async def learn(self, space: str, thread: str) -> int:
        played = await self.played(space, thread)
        return await self.memory.learn(space, played.row.id, played.branch, played.story)

    async def found(self, space: str, thread: str) -> list[str]:
        played = await self.played(space, thread)
        story, known = played.story, {}
        query = Query(f"own-{space} own-one own-two trunk-one trunk-two word lighthouse whispers Mira")
        pieces = await self.memory.recall(space, played.row.id, played.branch, story, query, 1_000)
        for turn in story.turns.values():
            known.update(
                {act.id: act.text for act in turn.acts} | {scene.id: scene.text for scene in turn.scenes}
            )
        assert {piece.node for piece in pieces} <= known.keys(), "all of this story, and of this branch"
        return [known[piece.node] for piece in pieces]


async def test_stories_with_the_same_names_at_once_do_not_mix(tmp_path: Path) -> None:
    db = await Database.open(migrated.database(tmp_path / migrated.STORAGE))
    try:
        resources = Hammered(db)
        for space in ("one", "two"):
            await resources.begin(space)
        tables = [(space, thread) for space in ("one", "two") for thread in ("main", "aside")]
        async with asyncio.TaskGroup() as group:
            for space, thread in tables:
                group.create_task(resources.hammer(space, thread))
        for space, other in (("one", "two"), ("two", "one")):
            await resources.learn(space, "main")
            nodes = [turn.act.id for turn in (await resources.played(space, "main")).story.current_turns]
            assert len(
                await resources.vectors.by_node(space, f"{space} story", by_sentence(ONE), nodes)
            ) == len(nodes)
            assert await resources.vectors.by_node(other, f"{space} story", by_sentence(ONE), nodes) == {}
            assert await resources.vectors.by_node(other, f"{other} story", by_sentence(ONE), nodes) == {}
    finally:
        await db.close()
