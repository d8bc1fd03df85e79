"""An exported story is the same after import, and nobody's id is in the file."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from bot.events import UserError
from bot.works.story.command_line import export_to, import_file
from bot.works.story.exchange.json_export import FIELDS, WITHIN, export_json
from bot.works.story.exchange.json_import import Imported, read_story
from bot.works.story.log import nodes
from bot.works.story.log.logs import Logs
from bot.works.story.world.lorebook import LoreEntry
from bot.works.story.world.order import skipped_turns
from storage.db import Database
from storage.stories import Stories
from tests.fakes.reply import Reply
from tests.kill.instants import ALL
from tests.promises.talk import bot, texts
from tests.promises.talk import settings as bare
from tests.works.story.small_story import SMALL, file_of, read
from tests.works.story.tale import shown
from tests.works.story.test_log import TEXTS, Table, opened
from tests.works.story.writer import START, Writer, playing


async def copied(text: str, to: Database, space: str) -> tuple[Imported, str]:
    """Import an export into another database, and return the story and its new export."""
    stories, found = Stories(to), read_story(text.encode(), "story.json", space)
    await stories.import_story(found.story, found.branches, found.nodes, found.bodies)
    whole = await stories.load(space, found.story.id)
    assert whole is not None
    return found, export_json(*whole)


@cache
def elsewhere() -> Database:
    return opened()[0].run_until_complete(Database.open("sqlite+aiosqlite:///:memory:"))


@pytest.fixture(scope="module", autouse=True)
def closed() -> Iterator[None]:
    yield
    if elsewhere.cache_info().currsize:
        loop, db = opened()
        for database in (db, elsewhere()):
            loop.run_until_complete(database.close())
        loop.close()
        opened.cache_clear()
        elsewhere.cache_clear()


class Exchanged(Table):
    """The same with everything else that a log can have; at the end it is moved to another storage and back."""

    AUTHORS = st.sampled_from(["person-4711", "person-4712", "person-4713"])
    IDS = st.sampled_from(["request-1", "request-2"])

    @rule(name=TEXTS, style=TEXTS, leaves=st.booleans())
    def cast(self, name: str, style: str, leaves: bool) -> None:
        self.append("cast", {"name": name, "sheet": None if leaves else {"style": style}})

    @rule(kind=st.sampled_from(["memory", "idea"]), id=IDS, text=TEXTS | st.none(), author=AUTHORS)
    def pin(self, kind: str, id: str, text: str | None, author: str) -> None:
        self.append(kind, {"id": id, "text": text}, author=author)

    @rule(id=IDS, content=TEXTS, constant=st.booleans())
    def lore(self, id: str, content: str, constant: bool) -> None:
        entry = {"keys": ["a"], "content": content, "constant": constant, "depth": None}
        self.append("lore", {"id": id, "entry": entry if content != "a" else None})

    @rule(preset=st.sampled_from(["", "rivals"]), line=TEXTS)
    def relation(self, preset: str, line: str) -> None:
        self.append("preset", {"pair": ["a", "b"], "preset": preset, "lines": [line] if preset else []})

    @rule(gm=AUTHORS, passed=AUTHORS)
    def table(self, gm: str, passed: str) -> None:
        path = self.line.path
        after = path[-1].id if path else ""
        self.append("set", {"gm": gm, "mode": "gm", "passed": {"author": passed, "after": after}}, author=gm)
        self.append("intent", {"name": "Bo", "text": "I wait."}, author=passed)

    @precondition(lambda self: self.branch and self.line.length)
    @rule()
    def recall_no_more(self) -> None:
        turn = self.line.path[self.line.length - 1]
        self.append("forgotten", {"node": (turn.scenes or turn.acts)[-1]})

    @precondition(lambda self: self.branch and self.line.length)
    @rule(text=TEXTS)
    def retry(self, text: str) -> None:
        turn, played = self.line.path[self.line.length - 1], self.played()
        id = self.append("scene", {"text": text, "at": played.story.seq}, turn=turn.id, author="")
        self.words[id] = text
        turn.scenes.append(id)
        turn.pointed.append((id, False))
        self.append("choices", {"scene": id, "choices": [text]}, turn=turn.id, author="")

    def remembered(self, data: st.DataObject) -> None:
        """Not a rule here: it needs unique words, and nothing that is forgotten."""

    def teardown(self) -> None:
        if self.branch:
            self.loop.run_until_complete(self._there_and_back(elsewhere()))

    async def _there_and_back(self, db: Database) -> None:
        whole = await self.stories.load(self.here.space, self.story)
        assert whole is not None
        text = export_json(*whole)
        for id in ('"ana"', "person-", "request-"):
            assert id not in text
        found, again = await copied(text, db, "elsewhere")
        assert again == text
        there = Logs(Stories(db))
        ours = {row.name: row.id for row in whole[1]}
        for row in found.branches:
            before = await self.logs.story(self.here.space, self.story, ours[row.name])
            after = await there.story("elsewhere", found.story.id, row.id)
            assert shown(after) == shown(before)
            assert (after.length, len(after.path)) == (before.length, len(before.path))
            assert after.cast == before.cast
            assert list(after.lore.values()) == list(before.lore.values())
            assert list(after.memories.values()) == list(before.memories.values())
            assert after.presets == before.presets
            assert list(after.intents.values()) == list(before.intents.values())
            assert [len(turn.versions) for turn in after.current_turns] == [
                len(turn.versions) for turn in before.current_turns
            ]


Exchanged.TestCase.settings = settings(
    max_examples=5, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestExchanged = Exchanged.TestCase


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_long_stories_survive_export_and_import() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    longer = settings(
        max_examples=50 if ALL else 5,
        stateful_step_count=60,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Exchanged, settings=longer)


def test_export_covers_every_kind_of_node_and_every_field_of_the_lorebook() -> None:
    assert set(FIELDS) == set(get_args(nodes.Kind)) - {"whisper", "screen", "aside"}
    out_of_source = {
        *("weight", "foremost", "not_by_others", "calls_no_others", "by_others_alone", "at_depth"),
        *("sticky", "cooldown", "delay", "characters", "not_for"),
    }
    assert {"id", *WITHIN["entry"], *out_of_source} == {field.name for field in fields(LoreEntry)}


async def test_a_played_story_continues_after_import_elsewhere(tmp_path: Path) -> None:
    writer = Writer()
    async with playing(tmp_path, writer) as talk:
        for line in (
            START + " --cast 'Mira: a diver; Bo' --tone eerie",
            "I climb down the rope. check Athletics +2 dc 1",
            "/story retry",
            "/story flip back",
            "/story lore lamp, lantern: The lamp burns whale oil.",
            "/story lore --always -- : The sea has no bottom.",
            "/story lore --remove 1",
            "/story remember The lamp must never go out.",
            "/story direct Slower.",
            "/story cast Mira --style 'short, dry sentences' --player you",
            "/story relation Mira, Bo: rivals",
            "/story fork shut --scene 1",
            "/story say Hello?",
            "/story edit Nobody answers.",
            "/story undo",
            "/story mode gm",
            "I wait.",
        ):
            await talk.say(line)
        writer.next.append(Reply(pieces=["- A heist in a library.\n- A choir of bees."]))
        await talk.say("/story ideas")
        assert talk.app is not None
        stories = talk.app.resources.stories
        (row,) = await stories.all("local")
        whole = await stories.load("local", row.id)
        assert whole is not None
        for node in (node for node in whole[2] if node.kind != "aside"):
            known = {*FIELDS[node.kind], *({"run", "stage"} if node.kind == "scene" else ())}
            assert not set(json.loads(node.body)) - known, "a field that no export would hold"
    here, there = bare(tmp_path / "data"), tmp_path / "there"
    there.mkdir()
    out, again = tmp_path / "story.json", tmp_path / "again.json"
    assert (await export_to(here, "local", row.title.upper(), out)).id == row.id
    found = await import_file(bare(there / "data"), "local", out)
    assert found.turns == 4
    await export_to(bare(there / "data"), "local", found.story.alias, again)
    assert again.read_bytes() == out.read_bytes()
    async with playing(there, writer) as talk:
        assert "imported, not opened yet" in texts(await talk.say("/story open"))
        assert "number 2" in texts(await talk.say(f"/story open {found.story.alias}"))
        assert "not opened yet" not in texts(await talk.say("/story open"))
        assert "Version 2 of 2" in texts(await talk.say("/story flip next"))
        await talk.say("/story switch shut")
        await talk.say("/story mode free")
        await talk.say("I lift the lamp.")
        sent = str(writer.scenes[-1]["messages"])
        assert "I lift the lamp." in sent
        assert "Mira" in sent
        assert "eerie" in sent


@pytest.mark.parametrize("kept", [{"after": 3, "count": 2}, {"author": 1, "after": 3}])
async def test_a_passed_turn_is_still_passed_after_import(kept: dict[str, int]) -> None:
    """Earlier files say who was passed, but not how many players were."""
    nodes = [*SMALL["nodes"][:-1], {**SMALL["nodes"][-1], "body": {"passed": kept}}]
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    found, again = await copied(file_of({**SMALL, "nodes": nodes}).decode(), db, "local")
    assert json.loads(again)["nodes"][-1]["body"] == {"passed": kept}
    story = await Logs(Stories(db)).story("local", found.story.id, found.story.id)
    assert skipped_turns(story) == kept.get("count", 1)
    await db.close()


async def test_each_import_of_a_file_makes_another_story() -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    text, ids = file_of(SMALL).decode(), set()
    first = ""
    for space in ("local", "local", "another"):
        found, again = await copied(text, db, space)
        ids.add(found.story.id)
        first = first or again
        assert again == first
    assert len(ids) == 3
    assert len(await Stories(db).all("local")) == 2
    assert len(await Stories(db).all("another")) == 1
    await db.close()


async def test_an_interrupted_import_leaves_nothing_behind() -> None:
    db = await Database.open("sqlite+aiosqlite:///:memory:")
    stories, found = Stories(db), read(SMALL)

    def broken(numbers: object) -> dict[str, str]:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await stories.import_story(found.story, found.branches, found.nodes, broken)
    assert await stories.load("local", found.story.id) is None
    assert await stories.nodes("local", found.story.id, [(found.story.id, None)]) == []
    await db.close()


def test_a_thousand_scenes_are_imported_quickly() -> None:
    tree, nodes = deepcopy(SMALL), []
    for n in range(1_000):
        act = 3 * n + 1
        nodes += [
            {"id": act, "branch": 1, "kind": "act", "author": 1, "body": {"mode": "act", "text": "I go on."}},
            {
                "id": act + 1,
                "branch": 1,
                "kind": "scene",
                "turn": act,
                "body": {"text": "x" * 1_500, "at": act},
            },
            {
                "id": act + 2,
                "branch": 1,
                "kind": "choices",
                "turn": act,
                "body": {"scene": act + 1, "choices": []},
            },
        ]
    tree["nodes"], tree["branches"] = nodes, tree["branches"][:1]
    found = read(tree)
    began = time.process_time()
    text = export_json(found.story, found.branches, found.nodes)
    assert time.process_time() - began < 1
    assert len(json.loads(text)["nodes"]) == 3_000


def test_a_story_is_imported_and_exported_on_the_command_line(tmp_path: Path) -> None:
    file, out, data = tmp_path / "story.json", tmp_path / "out.json", tmp_path / "data"
    bare(data)  # its databases
    file.write_bytes(file_of(SMALL))
    taken = bot("story", "import", str(file), "--json", data=data)
    assert taken.returncode == 0, taken.stderr
    told = json.loads(taken.stdout)
    assert taken.stdout == json.dumps({"story": told["story"], "turns": 2}).encode() + b"\n"
    kept = bot("story", "export", told["story"][-6:], "--format", "json", "--out", str(out), data=data)
    assert kept.returncode == 0, kept.stderr
    assert json.loads(out.read_bytes())["title"] == "The door in the sea"
    assert list(tmp_path.glob("*.part")) == []
    file.write_bytes(file.read_bytes()[:200])
    refused = bot("story", "import", str(file), "--json", data=data)
    assert refused.returncode == 1
    assert refused.stdout == b""
    assert len(refused.stderr.splitlines()) == 1
    assert b"not JSON in UTF-8" in refused.stderr


async def test_an_unknown_or_ambiguous_story_name_gets_a_sentence(tmp_path: Path) -> None:
    config, file, out = bare(tmp_path / "data"), tmp_path / "story.json", tmp_path / "out.json"
    file.write_bytes(file_of(SMALL))
    stories = [(await import_file(config, "local", file)).story for _ in range(2)]
    for name, space, said in (
        ("The Door in the sea", "local", "many_stories"),
        ("The Door", "local", "no_story"),
        (stories[0].id, "another", "no_story"),
    ):
        with pytest.raises(UserError, match=f"story.{said}"):
            await export_to(config, space, name, out)
        assert not out.exists()
    with pytest.raises(UserError, match="export_unwritable"):
        await export_to(config, "local", stories[1].id, tmp_path / "gone" / "out.json")
    with pytest.raises(UserError, match="import_gone"):
        await import_file(config, "local", tmp_path)
    await export_to(config, "local", stories[1].alias, out)
    assert out.exists()
