"""A turn and a fork need few database statements, because round trips are most of their cost."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from sqlalchemy import event

from bot.events import Place
from tests.fakes.reply import Body, Reply
from tests.fakes.run import MemoryRun
from tests.fakes.wires import WIRES
from tests.promises.talk import settings as settings_over
from tests.promises.talk import talking

TURN, FORK = 17, 11
"""Statements from when a turn is stored until the writer is asked, and until a fork is played. One of a turn's looks
whether `/new` has closed the story's session in its place.
"""


async def test_a_turn_and_a_fork_need_few_database_statements(tmp_path: Path) -> None:
    asked, until_asked = list[str](), list[int]()

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        asked.append(statement)

    def write(body: Body) -> Reply:
        if "offer the players" in str(body["messages"][-1]["content"]):
            return Reply("- Go on.")
        inserts = [n for n, statement in enumerate(asked) if statement.startswith("INSERT INTO inbox")]
        first = inserts[-1] if inserts else 0  # none is noted yet for the first scene
        until_asked.append(len(asked) - first)
        return Reply(f"Scene {len(until_asked)}.")

    async with (
        WIRES["chat"].service(write) as service,
        talking(settings_over(tmp_path / "data", service)) as talk,
    ):
        await talk.say("/story start A door in the sea")
        assert talk.app is not None
        event.listen(talk.app.records.database._engine.sync_engine, "before_cursor_execute", note)
        for number in range(5):
            asked.clear()
            await talk.say(f"I do {number}.")
        # What the turn before does behind its end may come in between.
        assert min(until_asked[1:]) <= TURN, asked
        counts = []
        for number in range(3):
            run = MemoryRun()
            run.request = replace(
                run.request,
                id=f"fork-{number}",
                place=Place("terminal", "local", "terminal", "t"),
                work="story",
                verb="fork",
                text=f"take {number}",
                options={"scene": 2},
            )
            asked.clear()
            async with aclosing(talk.app.works["story"].run(run)) as events:
                async for _ in events:
                    pass
            counts.append(len(asked))
        assert min(counts) <= FORK, asked
