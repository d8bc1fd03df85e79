"""Two spaces play stories with the same names on two branches at once, and nothing crosses."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.events import Author, Place, Request
from tests.fakes.reply import Body, Reply
from tests.fakes.wires import WIRES
from tests.kill.instants import ALL
from tests.promises.talk import Talk, settings, talking
from tests.works.story.extractor import found, standing
from tests.works.story.tale import prose
from tests.works.story.writer import last

SPACES, BRANCHES = ("local", "another"), ("main", "aside")
TURNS = 5
WORD = re.compile(r"(local|another)-(trunk|main|aside)-\d+")


class Echo:
    """Writes the turn's word into the scene, and records its prompts by that word."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def __call__(self, asked: Body) -> Reply:
        task, whole = last(asked), str(asked["messages"])
        words = [match[0] for match in WORD.finditer(task if WORD.search(task) else whole)]
        self.asked.append((words[-1], whole))
        if asked["model"] != "tiny":
            told = f"Mira whispers at the lighthouse that the word is {words[-1]}."
            return Reply(f"{told} {prose(len(self.asked), 400)}")
        if "Write down what the scene says" not in task:
            return Reply("- the word of the lighthouse\n- what Mira whispers")
        mira = standing("Mira", holding=words[-1])
        return Reply(pieces=[json.dumps(found(summary=f"The word is {words[-1]}.", characters=[mira]))])


class Tables:
    """A thread for each branch in both spaces, all with the same names."""

    def __init__(self, talk: Talk) -> None:
        assert talk.app is not None
        self.app, self.talk = talk.app, talk

    async def asks(self, space: str, thread: str, id: str, verb: str, text: str = "", **options: Any) -> str:
        """The events of its run."""
        place = Place("terminal", space, "terminal", thread)
        request = Request(
            f"{space}-{thread}-{id}", place, Author("ana", "Ana"), "story", verb, text=text, options=options
        )
        assert await (await self.app.perform(request)).wait() == "done", request
        told = [event for event in self.talk.events if event["run"] == request.id]
        return "".join(str(event.get("text", "")) for event in told)

    async def begin(self, space: str) -> None:
        premise = f"A keeper has a word, {space}-trunk-0."
        await self.asks(
            space, "main", "start", "start", premise, title="The lighthouse", cast="Mira: a diver"
        )
        await self.asks(space, "main", "fork", "fork", "aside")
        await self.asks(space, "aside", "open", "open", "The lighthouse")
        await self.asks(space, "aside", "switch", "switch", "aside")
        await self.asks(space, "main", "back", "switch", "main")

    async def play(self, space: str, thread: str) -> None:
        for n in range(1, TURNS + 1):
            text = f"I ask Mira at the lighthouse for the word {space}-{thread}-{n} once more."
            await self.asks(space, thread, f"turn-{n}", "act", text)

    async def looked_into(self, space: str) -> None:
        """Wait until every scene has been read, in quiet runs."""
        (row,) = await self.app.resources.stories.all(space)
        async with asyncio.timeout(60):
            while True:  # each check lets the runs continue
                whole = await self.app.resources.stories.load(space, row.id)
                assert whole is not None
                # A scene of the trunk may be read on either branch.
                if len({node.turn for node in whole[2] if node.kind == "extracted"}) == 1 + 2 * TURNS:
                    return


def words_of(text: str) -> set[str]:
    return {match[0] for match in WORD.finditer(text)}


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
@pytest.mark.slow
@pytest.mark.timeout(300)
async def test_stories_with_the_same_names_are_played_at_once_and_do_not_mix(tmp_path: Path) -> None:
    echo = Echo()
    async with WIRES["chat"].service(echo) as served:
        served.models = ("small", "tiny")
        toml = '[embedding]\nmodel = "none"\n[recall]\nshare = 0.2\n'
        toml += "[story]\nwindow = 2000\nrecent = 1\nbatch = 1\nchoices = 0\n"
        config = settings(tmp_path / "data", served, toml=toml)
        config = replace(config, roles=replace(config.roles, extractor=("fake:tiny",)))
        async with talking(config) as talk:
            await talk.say("/rules books")  # by then the application is open
            tables = Tables(talk)
            for space in SPACES:
                await tables.begin(space)
            every = [(space, branch) for space in SPACES for branch in BRANCHES]
            await asyncio.gather(*(tables.play(space, branch) for space, branch in every))
            for space, branch in every:
                own = {f"{space}-trunk-0"} | {f"{space}-{branch}-{n}" for n in range(1, TURNS + 1)}
                await tables.looked_into(space)
                recalled = words_of(await tables.asks(space, branch, "recall", "recall", "the word of Mira"))
                assert recalled
                assert recalled <= own
                state = await tables.asks(space, branch, "state", "state", "Mira")
                assert words_of(state) == {f"{space}-{branch}-{TURNS}"}
                asked = [whole for word, whole in echo.asked if word in own - {f"{space}-trunk-0"}]
                assert len(asked) >= 2 * TURNS
                assert all(words_of(whole) <= own for whole in asked)
                assert any("<related>" in whole for whole in asked), "some of it was recalled"
