"""What `make bench ARGS=story` counts itself instead of reading it from a service."""

from __future__ import annotations

from benchmarks.story import repeated_share


def test_only_what_a_prompt_begins_with_counts_as_repeated() -> None:
    first = ["one two", "three"]
    assert repeated_share([first]) == 0
    assert repeated_share([first, first]) == 0.5
    assert repeated_share([["a b c"], ["a b d"]]) == 2 / 8
    assert repeated_share([["a b c"], ["x b c"]]) == 0
    assert repeated_share([["a b"], ["a b", "c"], ["q"], ["a b", "c"]]) == 3 / (3 + 5 + 2 + 5)


def test_where_a_message_ends_is_part_of_what_is_repeated() -> None:
    assert repeated_share([["a b"], ["a", "b"]]) == 1 / 7
