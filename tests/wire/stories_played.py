"""Stories that a table plays while the bot is killed: no turn is lost or repeated, and all keep their order.

They run on every platform with threads, over a `Driver`; the stored rows are read in the data folder.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.fakes.reply import Reply
from tests.kill.process import PATIENCE_S
from tests.kill.remains import live
from tests.wire.driver import Driver
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, count

CAI = "Cai"
PLAYERS = (ANA, BIA, CAI)
A_START = 15
"""The turns of three players before they are rate limited; each start of the bot resets the count."""
WAITING = 4
"""Turns that may wait for those before them when the next come: people do not write on behind a hundred."""
KEPT = "SELECT kind, body FROM story_nodes WHERE kind IN ('act', 'scene', 'choices') ORDER BY seq"


@dataclass
class Writer:
    """Writes a scene for turn number N, and offers choices; pauses where `hold` says, until the bot is killed."""

    hold: str = ""
    """ "writer", "stream" or "choices"."""
    asked: list[str] = field(default_factory=list)
    scenes: list[tuple[int, str]] = field(default_factory=list)
    """The number of each turn that was asked for, and all that its writer was told."""

    def __call__(self, body: dict[str, Any]) -> Reply:
        last = str(body["messages"][-1]["content"])
        if "offer the players" in last:
            self.asked.append("choices")
            return Reply(pieces=CHOICES.pieces, gates={0: asyncio.Event()} if self.hold == "choices" else {})
        match = re.search(r"turn number (\d+)", last)
        number = int(match[1]) if match else 0
        self.asked.append("writer")
        self.scenes.append((number, "\n".join(str(message["content"]) for message in body["messages"])))
        gates = {"writer": {0: asyncio.Event()}, "stream": {8: asyncio.Event()}}.get(self.hold, {})
        return Reply(f"{came(number)} the water rose a step, and nobody saw it.", delay_s=0.01, gates=gates)


def came(number: int) -> str:
    return f"What came of turn {number}:"


def kept(d: Driver, kind: str) -> list[dict[str, Any]]:
    """The bodies of the story's nodes of a kind, in order."""
    rows = live(d.process.data / "sutradhar.db", KEPT)
    return [json.loads(body) for row, body in rows if row == kind]


async def seen(true: Callable[[], bool]) -> None:
    """Wait for a condition on the data folder or the model, by polling."""
    async with asyncio.timeout(PATIENCE_S):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def over(d: Driver) -> None:
    """Wait for the end of every run: a run continued after a restart would take the model's next reply."""
    await d.until(lambda: "" not in d.states())


async def played(d: Driver, turns: int, seed: str) -> None:
    """Play `turns` turns of three players, with a kill -9 anywhere in a turn, at most A_START turns apart."""
    chance, writer = random.Random(seed), Writer()
    before = len(kept(d, "act"))
    d.model.script = writer
    try:
        talk = await d.ask(ANA, PREMISE, verb="story start")
        await d.rest(1)
        strikes = sorted({*range(min(turns // 3, A_START), turns, A_START), *range(A_START, turns, A_START)})
        for n in range(1, turns + 1):
            await seen(lambda: d.states().count("") <= WAITING)
            await d.mention(PLAYERS[n % 3], talk, f"turn number {n}")
            # Two messages may arrive on two connections: the one that was stored first comes first.
            await seen(lambda n=n: len(d.runs()) == n + 1)  # type: ignore[misc]
            if n in strikes:
                # Before the kill: a redelivered event counts as a request, and a restart resets the count.
                await d.redeliver()
                await asyncio.sleep(chance.random())
                await d.restart()
                await seen(lambda: d.states().count("") <= WAITING)
        await d.rest(turns + 1)
    finally:
        d.model.script = None
    in_order(d, talk, writer, turns, before)


def in_order(d: Driver, talk: Any, writer: Writer, turns: int, before: int) -> None:
    """Check that each turn occurs once: in the messages, in the database and in the writer's prompts."""
    said = "\n".join(talk.said())
    places = [said.find(came(n)) for n in range(1, turns + 1)]
    assert -1 not in places, [n for n, place in enumerate(places, 1) if place == -1]
    assert places == sorted(places), "in the order in which the turns were stored"
    doubled = [n for n in range(1, turns + 1) if said.count(came(n)) != 1]
    assert not doubled, doubled
    acts = [act["text"] for act in kept(d, "act")[before + 1 :]]
    assert acts == [f"turn number {n}" for n in range(1, turns + 1)]
    scenes = [scene["text"] for scene in kept(d, "scene")[-turns:]]
    assert [int(re.findall(r"turn (\d+):", text)[0]) for text in scenes] == list(range(1, turns + 1))
    asked = [number for number, _ in writer.scenes]
    assert all(later in (earlier, earlier + 1) for earlier, later in pairwise(asked)), asked
    for number, told in writer.scenes:
        assert number < 2 or came(number - 1) in told, "each scene continues the one before"


INSTANTS = (
    "taken",
    "before the writer",
    "mid-stream",
    "after the scene",
    "during choices",
    "before the last edit",
)


async def killed_at_each_instant_of_a_turn(d: Driver) -> None:
    writer = Writer()
    before = {kind: len(kept(d, kind)) for kind in ("act", "scene", "choices")}
    d.model.script = writer
    try:
        talk = await d.ask(ANA, PREMISE, verb="story start")
        await d.rest(1)
        for n, instant in enumerate(INSTANTS, 1):
            counts_before = {kind: len(kept(d, kind)) for kind in before}
            asked = len(writer.asked)
            writer.hold = {
                "before the writer": "writer",
                "mid-stream": "stream",
                "after the scene": "choices",
                "during choices": "choices",
            }.get(instant, "")
            await seen(lambda: d.states().count("") <= WAITING)
            await d.mention(PLAYERS[n % 3], talk, f"turn number {n}")
            match instant:
                case "taken":
                    await seen(lambda: len(kept(d, "act")) > counts_before["act"])  # noqa: B023
                case "before the writer":
                    await seen(lambda: len(writer.asked) > asked)  # noqa: B023
                case "mid-stream":
                    await d.until(lambda: count(talk.said(), came(n)) == 1)  # noqa: B023
                case "after the scene":
                    await seen(lambda: len(kept(d, "scene")) > counts_before["scene"])  # noqa: B023
                case "during choices":
                    await seen(lambda: writer.asked[asked:] == ["writer", "choices"])  # noqa: B023
                case _:
                    await seen(lambda: len(kept(d, "choices")) > counts_before["choices"])  # noqa: B023
            writer.hold = ""
            await d.restart()
            await d.rest(n + 1)
            last = [post for post in talk.posts() if came(n) in post.text]
            assert len(last) == 1, (instant, talk.said())
            assert "choice" in last[0].actions, instant
            assert "stop" not in last[0].actions, instant
            came_now = {kind: len(kept(d, kind)) - counts_before[kind] for kind in counts_before}
            assert came_now == dict.fromkeys(counts_before, 1), (instant, came_now)
    finally:
        d.model.script = None
    in_order(d, talk, writer, len(INSTANTS), before["act"])


async def a_place_that_closes_in_mid_scene(d: Any, close: Callable[[Any], None]) -> None:
    """The unfinished scene is stored, and the person who began the story continues it in another thread."""
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    gate = d.model.hold("A gull answers three times from below and then nothing more at all is heard.", at=6)
    d.model.queue.append(CHOICES)
    await d.mention(ANA, talk, "I call out.")
    await d.until(lambda: count(talk.said(), "A gull answers") == 1)
    close(talk)
    gate.set()
    await d.rest(2)
    assert kept(d, "act")[-1]["text"] == "I call out."
    # A stopped run ends before its work has stored the unfinished scene.
    await seen(lambda: kept(d, "scene")[-1]["text"].startswith("A gull answers"))
    opened = await d.ask(ANA, PREMISE, table=2, verb="story open")
    await d.rest(3)
    assert count(opened.said(), "A gull answers") == 1, opened.said()
