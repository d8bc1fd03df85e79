"""What `make bench ARGS=story` counts itself instead of reading it from a service."""

from __future__ import annotations

from benchmarks.story import repeated_share


def test_only_a_prompts_common_beginning_counts_as_repeated() -> None:
    first = ["one two", "three"]
    assert repeated_share([first]) == 0
    assert repeated_share([first, first]) == 0.5
    assert repeated_share([["a b c"], ["a b d"]]) == 2 / 8
    assert repeated_share([["a b c"], ["x b c"]]) == 0
    assert repeated_share([["a b"], ["a b", "c"], ["q"], ["a b", "c"]]) == 3 / (3 + 5 + 2 + 5)


def test_message_boundaries_count_as_repeated_too() -> None:
    assert repeated_share([["a b"], ["a", "b"]]) == 1 / 7
