"""The bot as several processes on one Postgres: any process may run what one receives, and another continues it."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest
import pytest_asyncio

from bot.runs.processes import LOST
from storage.lease import LEASE_S
from tests.fakes.reply import Reply
from tests.wire.conftest import Take
from tests.wire.histories import TAKEN_OVER_S
from tests.wire.on_slack import AFTER_A_RESTART
from tests.wire.story import ANA, BIA, QUESTION, count

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module")
async def d(take: Take) -> Any:
    return await take("slack on postgres")


async def test_another_process_finishes_the_answer_of_a_killed_one(d: Any) -> None:
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: gate.reached.is_set())
    (run,) = d.runs()
    struck = d.process.executing(run)
    d.unavoidable |= AFTER_A_RESTART
    await struck.kill()
    struck_at = time.monotonic()
    await d.until(lambda: len(d.model.prompts) == 2)
    assert time.monotonic() - struck_at < TAKEN_OVER_S
    gate.set()
    await d.until(lambda: d.states() == ["done"])
    texts = talk.said()
    assert count(texts, "four hours of walking") == 1, texts
    assert count(texts, "the Night takes the next turn") == 1, texts
    await struck.start()
    await d.connected()
    d.check()


async def test_a_frozen_process_loses_its_lease_and_leaves_when_it_wakes(d: Any) -> None:
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: gate.reached.is_set())
    (run,) = d.runs()
    frozen = d.process.executing(run)
    d.unavoidable |= AFTER_A_RESTART
    os.kill(frozen.pid, signal.SIGSTOP)
    frozen_at = time.monotonic()
    await d.until(lambda: len(d.model.prompts) == 2)
    assert LEASE_S - 2 < time.monotonic() - frozen_at < LEASE_S + TAKEN_OVER_S
    gate.set()
    await d.until(lambda: d.states() == ["done"])
    said = talk.said()
    os.kill(frozen.pid, signal.SIGCONT)
    assert await frozen.gone() == LOST
    d.process.mark()  # its messages about closed connections
    assert talk.said() == said
    assert count(said, "four hours of walking") == 1, said
    await frozen.start()
    await d.connected()
    d.check()


async def test_questions_in_one_thread_are_answered_in_order(d: Any) -> None:
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: d.states() == ["done"])
    d.model.queue += [Reply(f"The answer is number {n} [1].", delay_s=0.02) for n in range(6)]
    for n in range(6):
        await d.mention((ANA, BIA)[n % 2], talk, f"And what of candle {n}?")  # nobody asks too often
        await d.until(lambda received=n + 2: len(d.states()) == received)  # by either process
    await d.until(lambda: d.states() == 7 * ["done"])
    told = "\n".join(talk.said())
    places = [told.index(f"number {n}") for n in range(6)]
    assert places == sorted(places), told
    d.check()


async def test_any_process_can_stop_a_waiting_and_a_running_answer(d: Any) -> None:
    gate = d.model.hold()
    talk = await d.ask(ANA, QUESTION)
    await d.until(lambda: gate.reached.is_set())
    await d.mention(ANA, talk, "And how many hours of running?")
    await d.until(lambda: len(d.states()) == 2)
    await d.mention(ANA, talk, "stop")
    await d.until(lambda: d.states()[:2] == ["stopped", "stopped"])
    gate.set()
    d.check()
