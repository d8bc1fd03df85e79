"""Recent values are remembered for some minutes, and only a limited number of them."""

from __future__ import annotations

from bot.adapters.intake import Recent


def test_a_value_is_remembered_for_its_time_and_then_forgotten() -> None:
    now = 0.0
    recent = Recent[int, str](1_000_000, 600, clock=lambda: now)
    for second in range(5_000):
        now = float(second)
        recent.note(second, str(second))
        assert recent.get(max(0, second - 600)) == str(max(0, second - 600))
        assert len(recent) <= 751
    assert 4_000 not in recent
    assert recent.get(4_000) is None


def test_the_number_of_values_is_limited_and_the_latest_is_kept() -> None:
    recent = Recent[int, None](100, 600, clock=lambda: 0.0)
    for number in range(1_000):
        recent.note(number, None)
        assert len(recent) <= 100
        assert all(last in recent for last in range(max(0, number - 79), number + 1))


def test_a_new_value_replaces_the_old_one() -> None:
    now = 0.0
    recent = Recent[str, str](100, 40, clock=lambda: now)
    recent.note("event", "")
    now = 15.0
    recent.note("event", "run")
    assert recent.get("event") == "run"
