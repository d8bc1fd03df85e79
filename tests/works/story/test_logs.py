"""The logs of a storage are appended to once, rarely read, and cached in memory up to a limit."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from bot.events import Place
from bot.works.story.log.logs import CACHED_PAST, Logs, logs_of, node, spot
from bot.works.story.log.story import Story
from storage.db import Database
from storage.stories import NodeRow, Stories
from storage.tables import story_nodes
from tests.works.story.tale import shown

HERE = Place("terminal", "local", "terminal", "t")


async def test_a_node_appended_twice_exists_once_and_stays_withdrawn(tmp_path: Path) -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    stories = Stories(db)
    logs = Logs(stories)
    await stories.create(spot(HERE), "story", "A story", "ana")
    for _ in range(2):
        await stories.create(spot(HERE), "story", "A story", "ana")
        act = node("run", "act", "act", {"mode": "act", "text": "I knock."}, author="ana")
        await stories.append("local", "story", "story", [act])
    played = await logs.played_in(HERE)
    assert played is not None
    assert shown(played.story) == [("I knock.", "")]
    await stories.erase("local", {act.id: ""})
    await stories.append("local", "story", "story", [act])
    played = await logs.played_in(HERE)
    assert played is not None
    assert shown(played.story) == [("", "")]
    with pytest.raises(KeyError):
        await stories.append("another", "story", "story", [act])
    assert await stories.nodes("another", "story", [("story", None)]) == []
    await db.close()


class Asked(Stories):
    """Counts how often it is asked for changes."""

    times = 0

    async def news(self, space: str, story: str, branch: str, after: int | None) -> tuple[int, list[NodeRow]]:
        self.times += 1
        return await super().news(space, story, branch, after)


async def test_the_database_is_asked_for_changes_only_after_a_write() -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    try:
        stories = Asked(db)
        logs = Logs(stories)
        await stories.create(spot(HERE), "story", "A story", "ana")
        act = node("one", "act", "act", {"mode": "act", "text": "I knock."}, author="ana")
        await stories.append("local", "story", "story", [act])
        for _ in range(5):
            assert shown(await logs.story("local", "story", "story")) == [("I knock.", "")]
        assert stories.times == 1
        await Stories(db).append("local", "story", "story", [node("two", "act", "act", {"mode": "continue"})])
        assert len(shown(await logs.story("local", "story", "story"))) == 2, "no matter who wrote it"
        await db.run(story_nodes.update().values(body="").where(story_nodes.c.run_id == "one"))
        assert shown(await logs.story("local", "story", "story"))[0] == ("", "")
        with pytest.raises(ZeroDivisionError):
            async with db.write():
                raise ZeroDivisionError
        await logs.story("local", "story", "story")
        assert stories.times == 4
    finally:
        await db.close()


async def test_a_branchs_earlier_state_is_read_once_until_words_are_withdrawn() -> None:
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
        assert len(logs._past) <= CACHED_PAST
    finally:
        await db.close()


async def test_an_earlier_state_has_no_turn_twice_and_does_not_change() -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    try:
        stories = Stories(db)
        logs = Logs(stories)
        await stories.create(spot(HERE), "story", "A story", "ana")
        for run in ("one", "two", "three"):
            act = node(run, "act", "act", {"mode": "act", "text": f"I knock, {run}."}, author="ana")
            scene = node(run, "scene", "scene", {"text": f"Nobody, {run}."}, turn=act.id)
            seq = await stories.append("local", "story", "story", [act, scene])
        then = await logs.story("local", "story", "story", seq - 2)
        now = await logs.story("local", "story", "story")
        told = shown(now)
        assert shown(then) == told[:2]
        assert all(then.turns[id] is now.turns[id] for id in then.path)
        again = node("four", "scene", "scene", {"text": "Somebody."}, turn="two/act")
        last = await stories.append("local", "story", "story", [again])
        now = await logs.story("local", "story", "story")
        assert shown(now)[1] == ("I knock, two.", "Somebody.")
        assert shown(then) == told[:2]
        before = await logs.story("local", "story", "story", last - 1)
        assert shown(before) == told, "not with what came later"
        assert before.turns["one/act"] is now.turns["one/act"] is then.turns["one/act"]
    finally:
        await db.close()


async def test_repeated_names_are_in_memory_once() -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    try:
        stories = Stories(db)
        await stories.create(spot(HERE), "story", "A story", "ana")
        for run in ("one", "two"):
            body = {"mode": "say", "text": "I knock.", "name": "Ana Lima", "character": "The Smith"}
            await stories.append(
                "local", "story", "story", [node(run, "act", "act", body, author="ana-lima")]
            )
        story = await Logs(stories).story("local", "story", "story")
        one, two = (turn.act for turn in story.current_turns)
        assert one.author is two.author
        assert one.name is two.name
        assert one.character is two.character
        assert one.mode is two.mode
        assert story.path[0] is one.id
    finally:
        await db.close()


async def test_long_branches_leave_memory_before_short_ones_would() -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    try:
        stories = Stories(db)
        logs = Logs(stories, chars=10_000)
        kept: list[weakref.ref[Story]] = []
        past: list[weakref.ref[Story]] = []
        for name in ("a", "b", "c", "d", "e"):
            await stories.create(replace(spot(HERE), thread=name), name, "A story", "ana")
            for run in ("one", "two"):
                act = node(
                    f"{name}{run}", "act", "act", {"mode": "act", "text": "I knock. " * 200}, author="ana"
                )
                seq = await stories.append("local", name, name, [act])
            kept.append(weakref.ref(await logs.story("local", name, name)))
            past.append(weakref.ref(await logs.story("local", name, name, seq - 1)))
        gc.collect()
        assert [ref() is not None for ref in kept] == [False, False, False, True, True]
        assert [ref() is not None for ref in past] == [False, False, False, True, True]
        only = Logs(stories, chars=100)
        story = await only.story("local", "a", "a")
        assert await only.story("local", "a", "a") is story, "the last one stays, however long it is"
    finally:
        await db.close()


async def test_a_storage_has_one_set_of_logs_that_is_closed_with_it(tmp_path: Path) -> None:
    database = await Database.open(f"sqlite+aiosqlite:///{tmp_path / 'log.db'}")
    stories = Stories(database)
    logs = logs_of(stories)
    assert logs_of(stories) is logs
    gone = weakref.ref(logs)
    del logs, stories
    gc.collect()
    assert gone() is None
    await database.close()
