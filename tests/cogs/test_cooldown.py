"""How often somebody may ask."""

from __future__ import annotations

from bot.adapters.intake import PEOPLE, Cooldowns

ANA, BIA = 1, 2


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_so_many_at_once_and_then_a_wait() -> None:
    clock = Clock()
    cooldowns = Cooldowns(3, 30.0, clock)
    assert [cooldowns.take("g", ANA) for _ in range(3)] == [0.0, 0.0, 0.0]
    clock.now += 10
    assert cooldowns.take("g", ANA) == 20.0
    clock.now += 21
    assert cooldowns.take("g", ANA) == 0.0


def test_each_person_and_each_space_has_a_count_of_its_own() -> None:
    cooldowns = Cooldowns(1, 30.0, Clock())
    assert cooldowns.take("g", ANA) == 0.0
    assert cooldowns.take("g", ANA) > 0.0
    assert cooldowns.take("g", BIA) == 0.0
    assert cooldowns.take("h", ANA) == 0.0


def test_counts_that_hold_nobody_up_are_forgotten() -> None:
    clock = Clock()
    cooldowns = Cooldowns(1, 30.0, clock)
    for person in range(PEOPLE):
        cooldowns.take("g", person)
    clock.now += 31
    cooldowns.take("g", PEOPLE)
    assert len(cooldowns._counts) == 1


def test_a_count_that_does_is_kept() -> None:
    clock = Clock()
    cooldowns = Cooldowns(1, 30.0, clock)
    for person in range(PEOPLE + 1):
        cooldowns.take("g", person)
    assert cooldowns.take("g", 0) > 0.0
