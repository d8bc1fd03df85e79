"""Platform outages and restarts around the end of a run: soon afterwards everything is shown, complete and once.

A sample by default, all with SUTRADHAR_KILLS=all. Quick ones, at each instant: tests/adapters/test_outages.py.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import pytest

from bot.adapters.discord.text.page import CURSOR
from tests.fakes.outage import Kind, Outage
from tests.fakes.reply import Gate, Reply
from tests.kill.instants import ALL
from tests.kill.process import PATIENCE_S
from tests.kill.remains import live
from tests.wire import stories_council
from tests.wire.conftest import Convened, Take
from tests.wire.inbox import ENDED, owed, query
from tests.wire.model import ANSWER
from tests.wire.story import ANA, BIA, CHOICES, PREMISE, QUESTION, count
from tests.wire.test_schedules import due_now, reminders

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.asyncio(loop_scope="module")]

SOON_S = 60.0
"""How long after an outage something may be unfinished."""
COPIES = 4
"""How many runs an outage hits at different moments."""

Restart = str
"""How the process ends in the outage: "stays", "killed" or "left"."""


class Case(NamedTuple):
    """`share`: how much of its answer a run has completed when the outage begins."""

    platform: str
    what: str
    kind: Kind
    seconds: float
    restart: Restart
    share: float


def cases(platform: str) -> list[Case]:
    chance = random.Random(f"outages {platform}")
    kinds: list[Kind] = ["failing", "cut", "hanging"]
    if not ALL:
        return [
            Case(platform, "answer", "failing", 30.0, "killed", 0.5),
            Case(platform, "scene", "hanging", 30.0, "left", 0.5),
        ] + [Case(platform, "reminder", "cut", 12.0, "stays", 0.0)] * (platform == "discord")
    return [
        Case(platform, what, chance.choice(kinds), seconds, restart, round(chance.random(), 2))
        for what, seconds, restart in product(
            ("answer", "scene", "reminder"), (10.0, 30.0, 120.0), ("stays", "killed", "left")
        )
    ]


def service_of(d: Any) -> Any:
    return d.discord if hasattr(d, "discord") else d.slack


def unfinished(d: Any) -> list[str]:
    """The messages that look unfinished at this table."""
    if not hasattr(d, "discord"):
        streams = [message.shown for message in d.everything() if message.streaming and not message.deleted]
        return streams + (["Slack's stop button"] if d.processing() else [])
    return [
        message.text
        for message in d.everything()
        if message.author.bot
        and not message.deleted
        and (CURSOR in message.text or any("stop" in str(button.custom_id) for button in message.buttons))
    ]


def plain(texts: list[str]) -> list[str]:
    """The texts without ids, which differ, and without the note that a message was restarted."""
    return [re.sub(r"\d{15,}|`run \w+`", "ID", re.sub(r"\n?(-# )?↻ .*", "", text)) for text in texts]


async def seen(d: Any, true: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    """Wait for a condition on the data folder, by polling."""
    async with asyncio.timeout(seconds):
        while not true():
            assert d.process.alive, d.process.log()
            await asyncio.sleep(0.02)


def worked(d: Any, number: int) -> bool:
    """Whether `number` runs have ended at this table, shown or not."""
    states = [state for _, state in live(d.process.data / "sutradhar.db", query(d.first))]
    return sum(state in ENDED for state in states) >= number


async def struck(d: Any, case: Case, runs: int, whole: Callable[[], bool], held: Sequence[Gate] = ()) -> None:
    """Begin an outage, let the runs end in it, perhaps restart the process, and end the outage.

    The `held` answers pause before the outage, partly shown, and continue during it.
    """
    for gate in held:
        await asyncio.wait_for(gate.reached.wait(), PATIENCE_S)
        await asyncio.sleep(case.share / len(held))
    began, outage = time.monotonic(), Outage(service_of(d), case.kind)
    for gate in held:
        gate.set()
    await seen(d, lambda: worked(d, runs))
    assert not whole(), "the outage came too late"
    if case.restart == "killed":
        await d.kill()
        await d.begin(d.process)
    elif case.restart == "left":
        await d.restart(kill=False)
    await asyncio.sleep(max(0.0, began + case.seconds - time.monotonic()))
    outage.end()
    back = time.monotonic()
    await d.until(lambda: whole() and not unfinished(d))
    await seen(d, lambda: not owed(d.process.data))
    print(f"{case}: all shown {time.monotonic() - back:.1f} s after the outage")
    assert time.monotonic() - back < SOON_S
    assert unfinished(d) == []
    log = d.process.log()
    assert "Traceback" not in log, log


def hold(d: Any, share: float, text: str = ANSWER) -> Gate:
    """Hold the model's next answer after this share of it."""
    words = len(text.split())
    gate: Gate = d.model.hold(text, at=min(int(share * words), words - 1))
    return gate


async def answers(d: Any, case: Case) -> None:
    reference = await d.ask(ANA, QUESTION)
    await d.rest(1)
    paid = len(d.model.prompts)
    talks = [await d.ask(ANA, QUESTION)]  # the run is about to end, or has just ended
    await d.until(lambda: count(talks[0].said(), "the Night takes the next turn") == 1)
    held = [hold(d, (n + case.share) / (COPIES - 1)) for n in range(COPIES - 1)]
    talks += [await d.ask(ANA, QUESTION) for _ in held]

    def whole() -> bool:
        return all(count(talk.said(), "the Night takes the next turn") == 1 for talk in talks)

    await struck(d, case, 1 + COPIES, whole, held)
    for talk in talks:
        assert plain(talk.said()) == plain(reference.said())
    assert len(d.model.prompts) == paid + COPIES, "no model is asked a second time"


async def scene(d: Any, case: Case) -> None:
    d.model.queue += [Reply("The lamp goes out at dusk."), CHOICES]
    talk = await d.ask(ANA, PREMISE, verb="story start")
    await d.rest(1)
    before, paid = len(talk.said()), len(d.model.prompts)
    scene = "A gull answers three times from below, and then nothing more at all is heard."
    held = [hold(d, case.share, scene)]
    d.model.queue.append(CHOICES)
    await d.mention(BIA, talk, "I call out.")
    await struck(d, case, 2, lambda: count(talk.said(), "nothing more at all") == 1, held)
    assert len(talk.said()) == before + 1
    last = [post for post in talk.posts() if "nothing more at all" in post.text]
    assert ["choice" in post.actions for post in last] == [True]
    assert [count(talk.said(), words) for words in ("The lamp goes out", "A gull answers")] == [1, 1]
    assert len(d.model.prompts) == paid + 2


async def reminder(d: Any, case: Case) -> None:
    before = len(reminders(d))
    await d.command(ANA, "schedule reminder", text="Bring dice", when="in 300 days", every="week")
    await d.until(lambda: bool(d.states()) and all(d.states()))
    due_now(d)
    await struck(d, case, 1, lambda: len(reminders(d)) == before + 1)


PLAYED: dict[str, Callable[[Any, Case], Awaitable[None]]] = {
    "answer": answers,
    "scene": scene,
    "reminder": reminder,
}


@pytest.mark.parametrize("case", [*cases("discord"), *cases("slack")], ids=str)
async def test_a_run_that_ends_in_an_outage_is_shown_soon_after_it(case: Case, take: Take) -> None:
    await PLAYED[case.what](await take(case.platform), case)


COUNCILS = [
    Case("discord", "council", "failing", 30.0, "killed", 0.2),
    Case("slack", "council", "cut", 30.0, "left", 0.4),
    *(
        Case(platform, "council", "failing", seconds, restart, share)
        for platform in ("discord", "slack")
        for seconds in (10.0, 120.0)
        for restart, share in (("stays", 0.1), ("killed", 0.3), ("left", 0.6))
        if ALL
    ),
]


@pytest.mark.parametrize("case", COUNCILS, ids=str)
async def test_a_council_that_ends_in_an_outage_is_shown_soon_after_it(
    case: Case, convened: Convened
) -> None:
    d, council = await convened(case.platform)
    reference = await stories_council.convene(d)
    await d.rest(1)
    talk = await stories_council.convene(d)
    await d.until(lambda: len(talk.said()) > int(case.share * len(stories_council.TITLES)))
    expected = stories_council.plain(reference)
    await struck(d, case, 2, lambda: stories_council.plain(talk) == expected)
    assert council.asked == stories_council.ONE_COUNCIL + stories_council.ONE_COUNCIL
