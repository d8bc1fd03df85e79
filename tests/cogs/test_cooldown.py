"""Rate limits for people and spaces."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from bot.adapters.intake import PEOPLE, Cooldowns, Intake
from bot.adapters.invocation import Invocation
from bot.commands import ROWS
from bot.config import LimitsConfig
from bot.events import Author, Ended, UserError
from bot.runs.live import LiveRuns
from tests.fakes.scripted_app import asked

ANA, BIA = 1, 2


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_is_allowed_before_a_wait() -> None:
    clock = Clock()
    cooldowns = Cooldowns(3, 30.0, clock)
    assert [cooldowns.take("g", ANA) for _ in range(3)] == [0.0, 0.0, 0.0]
    clock.now += 10
    assert cooldowns.take("g", ANA) == 20.0
    clock.now += 21
    assert cooldowns.take("g", ANA) == 0.0


def test_each_person_and_each_space_has_a_separate_count() -> None:
    cooldowns = Cooldowns(1, 30.0, Clock())
    assert cooldowns.take("g", ANA) == 0.0
    assert cooldowns.take("g", ANA) > 0.0
    assert cooldowns.take("g", BIA) == 0.0
    assert cooldowns.take("h", ANA) == 0.0


def test_counts_that_delay_nobody_are_forgotten() -> None:
    clock = Clock()
    cooldowns = Cooldowns(1, 30.0, clock)
    for person in range(PEOPLE):
        cooldowns.take("g", person)
    clock.now += 31
    cooldowns.take("g", PEOPLE)
    assert len(cooldowns._counts) == 1


def test_a_count_that_delays_somebody_is_kept() -> None:
    clock = Clock()
    cooldowns = Cooldowns(1, 30.0, clock)
    for person in range(PEOPLE + 1):
        cooldowns.take("g", person)
    assert cooldowns.take("g", 0) > 0.0


PLACE: Any = SimpleNamespace(space="g", user=ANA, real="")


def sent(intake: Intake, invocation: Invocation) -> int:
    """The number of such requests that may be sent at once, up to a hundred."""
    for count in range(100):
        try:
            intake.count(PLACE, invocation)
        except UserError:
            return count
    return 100


def test_only_requests_that_ask_a_model_count_as_questions() -> None:
    limits = LimitsConfig(questions=3, commands=5, presses=7)
    app: Any = None

    def allowed(work: str, name: str, **given: Any) -> int:
        return sent(Intake(app, "discord", lambda _: False, limits), Invocation(ROWS[work, name], **given))

    assert allowed("rules", "ask") == allowed("library", "add") == allowed("story", "start") == 3
    assert allowed("story", "lore") == allowed("story", "undo") == allowed("rules", "roll") == 5
    assert allowed("story", "cast", options={"write": 3}) == 3
    assert allowed("story", "cast", text="Mira") == 5
    assert allowed("story", "flip", answers="run") == allowed("story", "undo", answers="run") == 7
    assert allowed("story", "act") == allowed("story", "retry", answers="run") == 7
    assert allowed("rules", "ask", answers="run") == 3
    assert allowed("house", "stop") == 100


async def test_turns_are_limited_by_table_and_other_verbs_are_not() -> None:
    inbox: Any = None
    live, now = LiveRuns(inbox), datetime(2026, 1, 1, tzinfo=UTC)
    app: Any = SimpleNamespace(runs=live)
    intake = Intake(app, "discord", lambda _: False, LimitsConfig(waiting=2))
    turns = [asked(f"t{n}", "I dive", work="story", verb="act") for n in range(4)]
    for seq, turn in enumerate(turns[:2]):
        await intake.keep_pace(turn)
        live.expect(turn, seq, now)
    with pytest.raises(UserError, match=r"edge\.turns_waiting"):
        await intake.keep_pace(turns[2])
    await intake.keep_pace(replace(turns[2], verb="lore"))
    await intake.keep_pace(replace(turns[2], author=Author("b", "B")))
    await intake.keep_pace(asked("t9", "I dive", work="story", verb="act", thread="other"))
    ended: Ended = "done"
    first = live.by_id.get("t0")
    assert first is not None
    first.answered.set_result(ended)
    await intake.keep_pace(turns[2])
