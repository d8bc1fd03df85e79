"""Councils on each platform."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest
import pytest_asyncio

from tests.kill.instants import ALL
from tests.kill.remains import steps
from tests.wire.conftest import Take
from tests.wire.council_model import Call, CouncilModel
from tests.wire.stories_council import (
    COUNCIL_STORIES,
    MEMBERS,
    ONE_COUNCIL,
    SYNTHESIZE,
    convene,
    kept,
    plain,
    stage,
)

pytestmark = [pytest.mark.timeout(180), pytest.mark.asyncio(loop_scope="module")]


class Table(NamedTuple):
    driver: Any
    council: CouncilModel


Convened = Callable[[str], Awaitable[Table]]


@pytest_asyncio.fixture(loop_scope="module")
async def table(take: Take) -> Convened:
    """A table at which a council of four is asked; each is a bit slower than the one before."""

    async def sit(platform: str) -> Table:
        latency_s = {
            Call(name, task): 0.05 * n for n, name in enumerate(MEMBERS) for task in ("answer", "ballot")
        }
        council = CouncilModel({**latency_s, SYNTHESIZE: 0.2})
        return Table(await take(platform, council), council)

    return sit


TOLD = [
    (platform, name)
    for platform in ("discord", "slack over http")
    for name in COUNCIL_STORIES
    if ALL or (platform, name) != ("slack over http", "kill 9 in every stage")
]


@pytest.mark.parametrize(("platform", "name"), TOLD)
async def test_story(platform: str, name: str, table: Convened) -> None:
    d, council = await table(platform)
    await COUNCIL_STORIES[name](d, council)
    d.check()


PLACES: dict[str, Callable[[Table, str], bool]] = {
    "convened": lambda t, run: "snapshot" in kept(t.driver, run),
    "answered": lambda t, run: all(t.council.done[Call(name, "answer")] == 2 for name in MEMBERS),
    "answers kept": lambda t, run: "keep-answers" in kept(t.driver, run),
    "judged": lambda t, run: all(t.council.done[Call(name, "ballot")] == 2 for name in MEMBERS),
    "ballots kept": lambda t, run: "keep-ballots" in kept(t.driver, run),
    "written": lambda t, run: t.council.done[SYNTHESIZE] == 2,
    "verdict kept": lambda t, run: "keep-verdict" in kept(t.driver, run),
}
"""Between two stages."""


@pytest.mark.parametrize("place", PLACES if ALL else ("ballots kept",))
@pytest.mark.parametrize("platform", ["discord", "slack over http"])
async def test_a_kill_right_after(platform: str, place: str, table: Convened) -> None:
    taken = d, council = await table(platform)
    reference = await convene(d)
    await d.rest(1)
    assert council.asked == ONE_COUNCIL
    talk = await convene(d)
    run = d.runs()[-1]
    async with asyncio.timeout(20):
        while not PLACES[place](taken, run):  # noqa: ASYNC110 - the files of the bot's databases tell nobody
            await asyncio.sleep(0.001)
    await d.kill()
    before, safe = council.asked.copy(), {name for of, name in steps(d.process.data) if of == run}
    await d.begin(d.process)
    await d.rest(2)
    assert plain(talk) == plain(reference)
    again = council.asked - before
    assert not [call for call in again if call.step in safe], "what had been kept is not paid again"
    twice = council.asked - ONE_COUNCIL - ONE_COUNCIL
    assert set(twice.values()) <= {1}
    assert len({stage(call) for call in twice}) <= 1, "and of the rest what one stage was in the middle of"
    d.check()
