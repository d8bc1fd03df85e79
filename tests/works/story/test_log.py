"""Whatever is played in whatever order: what is seen, and what is remembered, is what a small model says."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import text

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.events import Place
from bot.retrieval.embedding import Embedding
from bot.works.story.log import Story
from bot.works.story.logs import PAST, Logs, Played, node, spot
from bot.works.story.memory.config import RecallConfig
from bot.works.story.memory.memory import Memory, Recalled
from bot.works.story.memory.ranking import Query
from storage.db import Database
from storage.stories import Stories
from storage.story_vectors import StoryVectors
from tests.fakes.embedder import Letters
from tests.kill.instants import ALL

HERE = Place("terminal", "local", "terminal", "t")
ONE = "openai:one"
PREMISE = (
    "The keeper of a lighthouse finds a door in the sea, and whoever walks through it comes back changed. "
    * 9
)
TEXTS = st.text("abc é\n", min_size=1, max_size=8)


@dataclass
class Told:
    """A turn as the model has it: the ids of its words, and the order in which versions were pointed at."""

    id: str
    acts: list[str]
    scenes: list[str] = field(default_factory=list)
    pointed: list[tuple[str, bool]] = field(default_factory=list)
    """Each with whether it was flipped to, rather than written."""
    note_before: str = ""


@dataclass
class Line:
    """A branch: its turns, how many of them count, and the writer's note."""

    path: list[Told] = field(default_factory=list)
    length: int = 0
    note: str = ""


SPACES = count(1)


@cache
def opened() -> tuple[asyncio.AbstractEventLoop, Database]:
    """One database for all examples, each of which has a space of its own."""
    loop = asyncio.new_event_loop()
    return loop, loop.run_until_complete(Database.open("sqlite+aiosqlite:///:memory:"))


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    yield
    if opened.cache_info().currsize:
        loop, db = opened()
        loop.run_until_complete(db.close())
        loop.close()
        opened.cache_clear()


class Table(RuleBasedStateMachine):
    """Plays at random on a real database; `words` are those of all nodes, "" once withdrawn."""

    def __init__(self) -> None:
        super().__init__()
        self.loop, self.db = opened()
        self.stories = Stories(self.db)
        self.here = Place("terminal", f"space{next(SPACES)}", "terminal", "t")
        self.story = f"story in {self.here.space}"
        self.logs = Logs(self.stories)
        self.numbers = count(1)
        self.words: dict[str, str] = {}
        self.said: list[str] = []
        self.lines: dict[str, Line] = {}
        self.branch = ""
        self.vectors, self.letters = StoryVectors(self.db), Letters(ONE)
        self.embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(ONE)))
        self.embedding.load = self.letters.load
        self.memory = self.remembering()

    def remembering(self) -> Memory:
        """A memory in which nothing is indexed yet."""
        return Memory(self.vectors, self.embedding, RecallConfig())

    @property
    def line(self) -> Line:
        return self.lines[self.branch]

    def played(self) -> Played:
        played = self.loop.run_until_complete(self.logs.here(self.here))
        assert played is not None
        return played

    def append(self, kind: str, body: dict[str, object], *, turn: str = "", author: str = "ana") -> str:
        made = node(f"{self.story}/{next(self.numbers)}", kind, kind, body, turn=turn, author=author)  # type: ignore[arg-type]
        self.loop.run_until_complete(self.logs.append(self.played(), made))
        return made.id

    @initialize()
    def begin(self) -> None:
        self.loop.run_until_complete(self.stories.create(spot(self.here), self.story, "A story", "ana"))
        self.branch = self.story
        self.lines[self.story] = Line()
        self.append("set", {"premise": PREMISE})  # long enough to tell the story's language, whatever follows

    def told(self, text: str) -> str:
        """A text that no other one is like: by its last word it is found."""
        self.said.append(f"{text} word{next(self.numbers)}")
        return self.said[-1]

    @rule(text=TEXTS, mode=st.sampled_from(["act", "say", "continue"]))
    def act(self, text: str, mode: str) -> None:
        told = self.told(text)
        id = self.append("act", {"mode": mode, "text": told})
        self.words[id] = told
        line = self.line
        del line.path[line.length :]
        line.path.append(Told(id, [id], note_before=line.note))
        line.length += 1
        self.scene(text)

    @precondition(lambda self: self.branch and self.line.length)
    @rule(text=TEXTS)
    def scene(self, text: str) -> None:
        text, turn = self.told(text), self.line.path[self.line.length - 1]
        id = self.append("scene", {"text": text}, turn=turn.id, author="")
        self.words[id] = text
        turn.scenes.append(id)
        turn.pointed.append((id, False))

    @precondition(lambda self: self.branch and self.line.length)
    @rule(text=TEXTS, data=st.data())
    def edit(self, text: str, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(self.line.path[: self.line.length]))
        text = self.told(text)
        id = self.append("act", {"mode": "act", "text": text}, turn=turn.id)
        self.words[id] = text
        turn.acts.append(id)

    @precondition(lambda self: self.branch and self.line.length)
    @rule(data=st.data())
    def flip(self, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(self.line.path[: self.line.length]))
        if turn.scenes:
            to = data.draw(st.sampled_from(turn.scenes))
            self.append("flip", {"scene": to}, turn=turn.id)
            turn.pointed.append((to, True))

    @rule(data=st.data())
    def undo_or_redo(self, data: st.DataObject) -> None:
        line = self.line
        line.length = data.draw(st.integers(0, len(line.path)))
        self.append("head", {}, turn=line.path[line.length - 1].id if line.length else "")

    @rule(note=TEXTS)
    def direct(self, note: str) -> None:
        self.append("set", {"note": note})
        self.line.note = note

    @precondition(lambda self: self.words)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from(list(self.words)))
        self.words[id] = ""

        async def blank() -> None:
            from storage.tables import story_nodes

            async with self.db.write() as connection:
                await connection.execute(story_nodes.update().where(story_nodes.c.id == id).values(body=""))

        self.loop.run_until_complete(blank())

    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        line, played = self.line, self.played()
        at = data.draw(st.integers(0, len(line.path)))
        id = f"{self.story}/branch{next(self.numbers)}"
        turn = line.path[at - 1].id if at else ""
        self.loop.run_until_complete(self.logs.fork(played, id, id, turn, "ana"))
        note = line.path[at].note_before if at < len(line.path) else line.note
        self.lines[id] = Line(copy.deepcopy(line.path[:at]), at, note)

    @rule(data=st.data())
    def switch(self, data: st.DataObject) -> None:
        self.branch = data.draw(st.sampled_from(list(self.lines)))
        self.loop.run_until_complete(self.stories.play(spot(self.here), self.story, self.branch, "switched"))

    @rule()
    def kill(self) -> None:
        """Nothing but the database is left."""
        self.logs = Logs(self.stories)
        self.memory = self.remembering()

    @precondition(lambda self: self.branch)
    @rule()
    def learn(self) -> None:
        learnt = self.memory.learn(self.here.space, self.story, self.branch, self.played().story)
        self.loop.run_until_complete(learnt)

    def recalled(self, memory: Memory, query: str, by: RecallConfig) -> list[Recalled]:
        story = self.played().story
        return self.loop.run_until_complete(
            memory.recall(self.here.space, self.story, self.branch, story, Query(query), 1_000, by=by)
        )

    @precondition(lambda self: self.branch)
    @rule(data=st.data())
    def remembered(self, data: st.DataObject) -> None:
        """All that the branch shows is found, and nothing else, just as if no other branch had ever been indexed."""
        nodes = [node for turn in self.line.path[: self.line.length] for node in self._nodes(turn)]
        shown = {node: self.words[node] for node in nodes if node and self.words[node]}
        every = " ".join(self.said)
        by = RecallConfig(meaning=data.draw(st.sampled_from([0.0, 0.8])))
        found = self.recalled(self.memory, every, by)
        assert {one.node for one in found} <= shown.keys()
        assert [(one.node, one.score) for one in found] == [
            (one.node, one.score) for one in self.recalled(self.remembering(), every, by)
        ]
        asked = data.draw(st.sampled_from([*self.words])) if self.words else ""
        if text := self.words.get(asked):
            first = self.recalled(self.memory, text.split()[-1], RecallConfig().without(["meaning"]))[:1]
            assert [one.node for one in first] == ([asked] if asked in shown else [])

    @invariant()
    def seen(self) -> None:
        if self.branch:
            story = self.played().story
            assert shown(story) == [self._turn(turn) for turn in self.line.path[: self.line.length]]
            assert story.settings.get("note", "") == self.line.note

    def _turn(self, turn: Told) -> tuple[str, str]:
        act, scene = self._nodes(turn)
        return self.words[act], self.words.get(scene, "")

    def _nodes(self, turn: Told) -> tuple[str, str]:
        """The wording and the version that count, "" for none."""
        act = next((id for id in reversed(turn.acts) if self.words[id]), turn.acts[0])
        left = [id for id in turn.scenes if self.words[id]]
        pointed = next((id for id, flipped in reversed(turn.pointed) if flipped or self.words[id]), "")
        scene = pointed if pointed in left else left[-1] if left else ""
        return act, scene


def shown(story: Story) -> list[tuple[str, str]]:
    return [(turn.act.text, turn.scene.text if turn.scene is not None else "") for turn in story.told]


Table.TestCase.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestTable = Table.TestCase


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_long_sequences() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Table,
        settings=settings(
            max_examples=150 if ALL else 30,
            stateful_step_count=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


async def test_what_is_appended_twice_is_there_once_and_what_was_withdrawn_stays_so(tmp_path: Path) -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    stories = Stories(db)
    logs = Logs(stories)
    await stories.create(spot(HERE), "story", "A story", "ana")
    for _ in range(2):
        await stories.create(spot(HERE), "story", "A story", "ana")
        act = node("run", "act", "act", {"mode": "act", "text": "I knock."}, author="ana")
        await stories.append("local", "story", "story", [act])
    played = await logs.here(HERE)
    assert played is not None
    assert shown(played.story) == [("I knock.", "")]
    with pytest.raises(KeyError):
        await stories.append("another", "story", "story", [act])
    assert await stories.nodes("another", "story", [("story", None)]) == []
    await db.close()


async def test_how_a_branch_stood_is_read_once_until_words_are_withdrawn() -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    try:
        stories = Stories(db)
        logs = Logs(stories)
        await stories.create(spot(HERE), "story", "A story", "ana")
        for run in ("one", "two"):
            act = node(run, "act", "act", {"mode": "act", "text": f"I knock, {run}."}, author="ana")
            seq = await stories.append("local", "story", "story", [act])
        then = await logs.story("local", "story", "story", seq - 1)
        assert shown(then) == [("I knock, one.", "")]
        assert await logs.story("local", "story", "story", seq - 1) is then
        async with db.write() as connection:
            await connection.execute(text("UPDATE story_nodes SET body = '' WHERE run_id = 'one'"))
        assert shown(await logs.story("local", "story", "story", seq - 1)) == [("", "")]
        for number in range(20):
            await stories.append(
                "local", "story", "story", [node(f"run{number}", "act", "act", {"mode": "act"})]
            )
            await logs.story("local", "story", "story", seq + number)
        assert len(logs._past) <= PAST
    finally:
        await db.close()
