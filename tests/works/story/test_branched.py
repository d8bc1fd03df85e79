"""A branch that is folded from its parent in memory equals the one folded from its nodes."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import fields
from pathlib import Path

from bot.events import Place
from bot.works.story.log import logs as log
from bot.works.story.log.logs import Logs, spot
from bot.works.story.log.nodes import OF_ALL, SHARED_UP_TO_CUT, Part
from bot.works.story.log.story import Story, cut_at, fold
from storage.db import Database
from storage.stories import NodeRow, Stories
from tests.works.story.tale import Tale

HERE = Place("terminal", "local", "terminal", "t")
WAYS = {
    "changes",  # how it came to this state
    "seq",
    "turns",  # a turn that the branch does not have may include what was set behind the cut
}


def test_a_branch_forked_in_memory_equals_the_one_from_its_log() -> None:
    tale = Tale()
    tale.add("cast", {"name": "Mira", "sheet": {"about": "a diver"}})
    turns = [tale.turn(f"I do thing {n}.", f"Scene {n}.") for n in range(6)]
    tale.add("scene", {"text": "Another version.", "at": 3}, turns[2])
    tale.add("corrected", {"character": "Mira", "field": "where", "value": "below"}, turns[2])
    tale.add("extracted", {"scene": tale.nodes[-1].id, "summary": "It happens."}, turns[4])
    tale.add("head", {}, turns[4])
    parent = tale.story
    for turn in (*turns[:5], ""):
        cut, until = cut_at(parent, turn), parent.seq
        assert parent.settings_seq <= cut or turn == "", "nothing was set behind the cut"
        if parent.settings_seq <= cut:
            parts = [Part("main", until=until, cut=cut, turn=turn), Part("aside")]
            assert parent.branched(turn) == fold(parts, tale.nodes)
    branch, same = parent.branched(turns[3]), parent.branched(turns[3])
    count = len(tale.nodes)
    tale.add("choices", {"scene": parent.turns[turns[1]].scenes[0].id, "choices": ["Go."]}, turns[1])
    tale.add("scene", {"text": "One more.", "at": 3}, turns[1])
    tale.add("act", {"mode": "act", "text": "In other words.", "name": "Ana"}, turns[0])
    tale.add("cast", {"name": "Bo", "sheet": {"about": "a thief"}})
    tale.turn("I go on.", "And on.")
    for node in tale.nodes[count:]:
        parent.add(node)
    assert branch == same, "what comes later on the parent is not the branch's"
    assert parent.turns[turns[1]] != branch.turns[turns[1]]
    assert branch.turns[turns[2]] is parent.turns[turns[2]], "a turn is copied once one of them changes it"
    tale.add("scene", {"text": "Of the branch.", "at": 3}, turns[2])
    branch.add(tale.nodes[-1])
    for story in (parent, same):
        assert [scene.text for scene in story.turns[turns[2]].scenes] == ["Scene 2.", "Another version."]


def test_settings_made_after_the_cut_are_undone_in_memory() -> None:
    tale = Tale()

    def put(name: str) -> None:
        """Add one of everything that can be set."""
        tale.add("set", {"note": f"Tell of {name}.", name: "set"})
        tale.add("cast", {"name": "Mira", "sheet": {"about": name}})
        tale.add("lore", {"id": name, "entry": {"content": f"{name} burns."}})
        tale.add("lore", {"id": "one", "entry": {"content": name} if name == "one" else None})
        tale.add("memory", {"id": name, "text": f"{name} must not go out."})
        tale.add("idea", {"id": name, "text": name})
        tale.add("preset", {"pair": ["Mira", "Bo"], "preset": "rivals", "lines": [name]})
        tale.add("forgotten", {"node": name})
        tale.add("chapter", {"id": name, "title": name, "key_events": []}, turns[-1])
        tale.add("party", {"person": "ana", "name": name, "here": True})
        tale.add("whisper", {"to": "bo", "name": "Bo", "text": name})
        tale.add("safety", {"lines": name})
        tale.add("intent", {"name": "Bo", "text": f"I take {name}."})

    turns = [tale.turn("I knock.", "Scene 1.")]
    for name in ("one", "two", "three"):
        put(name)
        turns.append(tale.turn(f"I do {name}.", f"Scene of {name}."))
    put("four")
    parent = tale.story
    for turn in (*turns, ""):
        cut, until = cut_at(parent, turn), parent.seq
        parts = [Part("main", until=until, cut=cut, turn=turn), Part("aside")]
        shared = [node for node in tale.nodes if node.kind in SHARED_UP_TO_CUT | OF_ALL]
        branch, alone = parent.branched(turn), fold(parts, tale.nodes)
        branch.take_settings(fold(parts, shared))
        for name in {field.name for field in fields(Story) if field.compare} - WAYS:
            assert getattr(branch, name) == getattr(alone, name), name
        assert branch.current_turns == alone.current_turns
        assert branch.cast == alone.cast


class Read(Stories):
    """Counts the nodes that it has read; updates pass `waits`."""

    rows = 0
    waits = asyncio.Event()

    async def nodes(
        self,
        space: str,
        story: str,
        branches: Sequence[tuple[str, int | None]],
        kinds: Collection[str] = (),
    ) -> list[NodeRow]:
        nodes = await super().nodes(space, story, branches, kinds)
        self.rows += len(nodes)
        return nodes

    async def news(self, space: str, story: str, branch: str, after: int | None) -> tuple[int, list[NodeRow]]:
        await self.waits.wait()
        return await super().news(space, story, branch, after)


async def test_a_fork_reads_settings_and_no_scenes(tmp_path: Path) -> None:
    db = await Database.open(f"sqlite+aiosqlite:///{tmp_path / 'bot.db'}")
    try:
        stories = Read(db)
        stories.waits.set()
        logs = Logs(stories)
        await stories.create(spot(HERE), "story", "A story", "ana")
        acts = [log.node(f"run{n}", "act", "act", {"mode": "act", "text": f"I do {n}."}) for n in range(60)]
        notes = [log.node(name, "set", "set", {"note": name}) for name in ("early", "late")]
        await stories.append("local", "story", "story", [notes[0], *acts[:50], notes[1], *acts[50:]])
        played = await logs.played_in(HERE)
        assert played is not None
        assert stories.rows == 62
        for name, turn, note, rows in (("a", 54, "late", 0), ("b", 40, "early", 2)):
            stories.rows = 0
            await logs.fork(played, name, name, acts[turn].id, "ana")
            story = await logs.story("local", "story", name)
            assert (story.length, story.settings["note"]) == (turn + 1, note)
            assert stories.rows == rows
            assert (await Logs(Stories(db)).story("local", "story", name)).settings == story.settings
    finally:
        await db.close()


async def test_a_branch_stays_in_memory_while_it_is_being_updated(tmp_path: Path) -> None:
    db = await Database.open(f"sqlite+aiosqlite:///{tmp_path / 'bot.db'}")
    try:
        stories = Read(db)
        stories.waits.set()
        logs = Logs(stories)
        await stories.create(spot(HERE), "story", "A story", "ana")
        acts = [log.node(f"run{n}", "act", "act", {"mode": "act", "text": f"I do {n}."}) for n in range(9)]
        await stories.append("local", "story", "story", acts)
        played = await logs.played_in(HERE)
        assert played is not None
        stories.waits, stories.rows = asyncio.Event(), 0
        async with db.write():
            pass
        asking = asyncio.create_task(logs.story("local", "story", "story"))
        await asyncio.sleep(0)
        await logs.fork(played, "a", "a", acts[4].id, "ana")
        asking.cancel()
        await asyncio.wait({asking})
        stories.waits.set()
        assert (await logs.story("local", "story", "a")).length == 5
        assert (await logs.story("local", "story", "story")).length == 9
        assert stories.rows == 0, "neither is read again"
    finally:
        await db.close()
