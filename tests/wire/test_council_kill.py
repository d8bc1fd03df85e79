"""kill -9 during a council, within and between stages: the result is the same, and no stored call is paid again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.kill.instants import ALL, on_one_of
from tests.kill.process import PATIENCE_S
from tests.kill.remains import steps
from tests.wire.conftest import Convened, Seats
from tests.wire.council_model import Call
from tests.wire.stories_council import (
    MEMBERS,
    ONE_COUNCIL,
    SLOW_COUNCIL_STORIES,
    SYNTHESIZE,
    convene,
    kept,
    plain,
    stage,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]

PLATFORMS = ("discord", "slack over http")


@pytest.mark.parametrize("name", SLOW_COUNCIL_STORIES)
@pytest.mark.parametrize("platform", PLATFORMS if ALL else PLATFORMS[:1])
async def test_story(platform: str, name: str, convened: Convened) -> None:
    d, council = await convened(platform)
    await SLOW_COUNCIL_STORIES[name](d, council)
    d.check()


PLACES: dict[str, Callable[[Seats, str], bool]] = {
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
@pytest.mark.parametrize("platform", on_one_of(*reversed(PLATFORMS)))
async def test_a_council_survives_a_kill_at_any_stage(platform: str, place: str, convened: Convened) -> None:
    convening = d, council = await convened(platform)
    reference = await convene(d)
    await d.rest(1)
    assert council.asked == ONE_COUNCIL
    talk = await convene(d)
    run = d.runs()[-1]
    async with asyncio.timeout(PATIENCE_S):
        while not PLACES[place](convening, run):  # noqa: ASYNC110 - the files of the bot's databases tell nobody
            await asyncio.sleep(0.001)
    await d.kill()
    before, safe = council.asked.copy(), {name for of, name in steps(d.process.data) if of == run}
    await d.begin(d.process)
    await d.rest(2)
    assert plain(talk) == plain(reference)
    again = council.asked - before
    assert not [call for call in again if call.step in safe], "stored calls are not paid again"
    twice = council.asked - ONE_COUNCIL - ONE_COUNCIL
    assert set(twice.values()) <= {1}
    assert len({stage(call) for call in twice}) <= 1, (
        "and of the others, only the calls of the interrupted stage"
    )
    d.check()
