"""What was noted lately is known for some minutes, and at most so much of it."""

from __future__ import annotations

from bot.adapters.intake import Recent


def test_what_was_noted_is_known_for_the_time_and_then_leaves_memory() -> None:
    now = 0.0
    recent = Recent[int, str](1_000_000, 600, clock=lambda: now)
    for second in range(5_000):
        now = float(second)
        recent.note(second, str(second))
        assert recent.get(max(0, second - 600)) == str(max(0, second - 600))
        assert len(recent) <= 751
    assert 4_000 not in recent
    assert recent.get(4_000) is None


def test_never_more_than_the_most_are_known_and_the_last_always() -> None:
    recent = Recent[int, None](100, 600, clock=lambda: 0.0)
    for number in range(1_000):
        recent.note(number, None)
        assert len(recent) <= 100
        assert all(last in recent for last in range(max(0, number - 79), number + 1))


def test_the_value_is_the_one_that_was_noted_last() -> None:
    now = 0.0
    recent = Recent[str, str](100, 40, clock=lambda: now)
    recent.note("event", "")
    now = 15.0
    recent.note("event", "run")
    assert recent.get("event") == "run"
