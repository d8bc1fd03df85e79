"""Whatever order verbs are played in, the shown and remembered story equals that of a small reference model."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bot.config import Config
from bot.config.settings import EmbeddingConfig
from bot.events import Place
from bot.retrieval.embedding import Embedding
from bot.works.story.config import RecallConfig
from bot.works.story.log.logs import Logs, PlayedStory, node, spot
from bot.works.story.log.turn import Act
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from bot.works.story.memory.recalled import Recalled
from bot.works.story.turn import context
from bot.works.story.world import state
from storage.db import Database
from storage.stories import Stories
from storage.story_vectors import StoryVectors
from tests.fakes.embedder import Letters
from tests.kill.instants import ALL
from tests.works.story.tale import shown

ONE = "openai:one"
PREMISE = (
    "The keeper of a lighthouse finds a door in the sea, and whoever walks through it comes back changed. "
    * 9
)
TEXTS = st.text("abc é\n", min_size=1, max_size=8)
FRAME = context.Frame("", "", tokens=100_000, answer=100)


@dataclass
class Told:
    """A turn in the reference model: the ids of its words, and the order in which versions were chosen."""

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
    pending: set[str] = field(default_factory=set)
    """What others want to do, by the last words."""


SPACES = count(1)


@cache
def opened() -> tuple[asyncio.AbstractEventLoop, Database]:
    """One database for all examples, with a space for each."""
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
        self.after: dict[str, str] = {}
        """The turn before each turn, "" before the first."""
        self.of: dict[str, set[str]] = {}
        """What was told in each turn and behind it, by the last words."""
        self.gone: set[str] = set()
        """Turns that went with a stop card."""
        self.pinned: set[str] = set()
        """Scenes of which something is pinned."""
        self.lines: dict[str, Line] = {}
        self.branch = ""
        self.vectors, self.letters = StoryVectors(self.db), Letters(ONE)
        self.embedding = Embedding(Config(Path(), Path(), embedding=EmbeddingConfig(ONE)))
        self.embedding.load = self.letters.load
        self.memory = self.new_memory()

    def new_memory(self) -> Memory:
        """A memory with nothing indexed yet."""
        return Memory(self.vectors, self.embedding, RecallConfig())

    @property
    def line(self) -> Line:
        return self.lines[self.branch]

    def played(self) -> PlayedStory:
        played = self.loop.run_until_complete(self.logs.played_in(self.here))
        assert played is not None
        return played

    def append(
        self, kind: str, body: dict[str, object], *, turn: str = "", author: str = "ana", run: str = ""
    ) -> str:
        run = run or f"{self.story}/{next(self.numbers)}"
        made = node(run, kind, kind, body, turn=turn, author=author)  # type: ignore[arg-type]
        self.loop.run_until_complete(self.logs.append(self.played(), made))
        return made.id

    @initialize()
    def begin(self) -> None:
        self.loop.run_until_complete(self.stories.create(spot(self.here), self.story, "A story", "ana"))
        self.branch = self.story
        self.lines[self.story] = Line()
        self.append("set", {"premise": PREMISE})  # long enough to tell the story's language, whatever follows

    @property
    def head(self) -> str:
        return self.line.path[self.line.length - 1].id if self.line.length else ""

    def told(self, text: str, turn: str) -> str:
        """A unique text for this turn, which can be found by its last word."""
        self.said.append(f"{text} and so it was word{next(self.numbers)}")
        self.of.setdefault(turn, set()).add(self.said[-1].split()[-1])
        return self.said[-1]

    @rule(text=TEXTS, mode=st.sampled_from(["act", "say", "continue"]))
    def act(self, text: str, mode: str) -> None:
        number, line = f"{self.story}/{next(self.numbers)}", self.line
        told = self.told(text, f"{number}/act")
        id = self.append("act", {"mode": mode, "text": told}, run=number)
        self.words[id], self.after[id] = told, self.head
        self.of[id] |= line.pending
        line.pending = set()
        del line.path[line.length :]
        line.path.append(Told(id, [id], note_before=line.note))
        line.length += 1
        self.scene(text)

    @precondition(lambda self: self.branch and self.line.length)
    @rule(text=TEXTS)
    def scene(self, text: str) -> None:
        turn = self.line.path[self.line.length - 1]
        text = self.told(text, turn.id)
        id = self.append("scene", {"text": text}, turn=turn.id, author="")
        self.words[id] = text
        turn.scenes.append(id)
        turn.pointed.append((id, False))

    @precondition(lambda self: self.branch and self.line.length)
    @rule(text=TEXTS, data=st.data())
    def edit(self, text: str, data: st.DataObject) -> None:
        turn = data.draw(st.sampled_from(self.line.path[: self.line.length]))
        text = self.told(text, turn.id)
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
        self.append("head", {}, turn=self.head)

    @rule(note=TEXTS)
    def direct(self, note: str) -> None:
        self.append("set", {"note": note})
        self.line.note = note

    @rule(text=TEXTS)
    def intend(self, text: str) -> None:
        self.append("intent", {"name": "Bia", "text": self.told(text, "intended")})
        self.line.pending.add(self.said[-1].split()[-1])

    @rule(text=TEXTS)
    def begin_chapter(self, text: str) -> None:
        number = f"chapter{next(self.numbers)}"
        self.append("chapter", {"id": number, "title": self.told(text, self.head)}, turn=self.head)

    @rule(text=TEXTS)
    def correct(self, text: str) -> None:
        body: dict[str, object] = {"character": "Bo", "field": "holding", "value": self.told(text, self.head)}
        self.append("corrected", body, turn=self.head)

    @precondition(
        lambda self: self.branch and self.line.length and self.line.path[self.line.length - 1].scenes
    )
    @rule(text=TEXTS)
    def look_into(self, text: str) -> None:
        """Add a small model's findings for the scene, and a person's pin."""
        turn = self.line.path[self.line.length - 1]
        scene, text = turn.scenes[-1], self.told(text, turn.id)
        memory = {"character": "Bo", "kind": "action", "text": text}
        body: dict[str, object] = {
            "scene": scene,
            "state": [{"name": "Bo", "where": text}],
            "memories": [memory],
            "events": [text],
        }
        self.append("extracted", body, turn=turn.id, author="")
        if self.words[scene]:
            number = f"pin{next(self.numbers)}"
            self.append("memory", {"id": number, "text": f"Scene 1: {self.words[scene]}"})
            self.pinned.add(scene)

    @precondition(lambda self: self.branch and self.line.path)
    @rule(data=st.data())
    def stopcard(self, data: st.DataObject) -> None:
        """Play it under a scene that counts, or that was undone."""
        turn = data.draw(st.sampled_from(self.line.path)).id
        self.append("stopcard", {}, turn=turn, author="")
        self.gone.add(turn)
        for later, before in self.after.items():  # in the order in which they were played
            if before in self.gone:
                self.gone.add(later)
        for line in self.lines.values():
            left = [told for told in line.path if told.id not in self.gone]
            if len(left) < len(line.path):
                line.path, line.length, line.pending = left, min(line.length, len(left)), set()
        self.nowhere()

    @precondition(lambda self: self.gone)
    @rule()
    def nowhere(self) -> None:
        """Check that no branch has words of a stopped scene: in prompt, state, chapters, memories."""
        left = set().union(
            *(words for turn, words in self.of.items() if turn not in self.gone and turn != "intended"),
            *(line.pending for line in self.lines.values()),
        )
        every, here = " ".join(self.said), self.here.space
        for branch in self.lines:
            story = self.loop.run_until_complete(self.logs.story(here, self.story, branch))
            asked = context.prompt(story, FRAME, last=context.action(Act("", "", "", "act", "")))
            recall = self.memory.recall(
                here, self.story, branch, story, Query(every), 1_000, by=RecallConfig()
            )
            assert self.gone.isdisjoint(piece.turn for piece in self.loop.run_until_complete(recall))
            found = [
                *(message.text for message in asked.messages),
                *(text for pair in story.intents.values() for text in pair),
                *(title for _, title in state.chapter_titles(story, story.path)),
                *(memory.text for _, memory in state.memories(story, "Bo")),
                *(event for turn in story.current_turns if turn.extracted for event in turn.extracted.events),
            ]
            assert set(re.findall(r"\bword\d+", " ".join(found))) <= left

    @precondition(lambda self: self.words.keys() - self.pinned)
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        id = data.draw(st.sampled_from([id for id in self.words if id not in self.pinned]))
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
        # It does not get plans that later turns have used.
        pending = set(line.pending) if at == len(line.path) else set[str]()
        self.lines[id] = Line(copy.deepcopy(line.path[:at]), at, note, pending)

    @rule(data=st.data())
    def switch(self, data: st.DataObject) -> None:
        self.branch = data.draw(st.sampled_from(list(self.lines)))
        self.loop.run_until_complete(self.stories.play(spot(self.here), self.story, self.branch, "switched"))

    @rule()
    def kill(self) -> None:
        """Drop everything but the database."""
        self.logs = Logs(self.stories)
        self.memory = self.new_memory()

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
        """Check that memory finds exactly what the branch shows, as if no other branch had been indexed."""
        nodes = [node for turn in self.line.path[: self.line.length] for node in self._nodes(turn)]
        shown = {node: self.words[node] for node in nodes if node and self.words[node]}
        every = " ".join(self.said)
        by = RecallConfig(meaning=data.draw(st.sampled_from([0.0, 0.8])))
        found = self.recalled(self.memory, every, by)
        assert {moment.node for moment in found} <= shown.keys()
        alone = self.recalled(self.new_memory(), every, by)
        # The products of float32 vectors differ in their last digits with the number of vectors, so scores that are
        # nearly the same may rank either way.
        scores = {moment.node: moment.score for moment in found}
        assert scores == pytest.approx({moment.node: moment.score for moment in alone}, rel=1e-5, abs=1e-5)
        asked = data.draw(st.sampled_from([*self.words])) if self.words else ""
        if text := self.words.get(asked):
            first = self.recalled(self.memory, text.split()[-1], RecallConfig().without(["meaning"]))[:1]
            assert [moment.node for moment in first] == ([asked] if asked in shown else [])

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
        """The current wording and version, "" for none."""
        act = next((id for id in reversed(turn.acts) if self.words[id]), turn.acts[0])
        left = [id for id in turn.scenes if self.words[id]]
        pointed = next((id for id, flipped in reversed(turn.pointed) if flipped or self.words[id]), "")
        scene = pointed if pointed in left else left[-1] if left else ""
        return act, scene


Table.TestCase.settings = settings(
    max_examples=12, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestTable = Table.TestCase


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_any_sequence_of_verbs_folds_into_the_expected_story() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Table,
        settings=settings(
            max_examples=150 if ALL else 15,
            stateful_step_count=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
