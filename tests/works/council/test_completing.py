"""Suggestions while somebody types a council command."""

from __future__ import annotations

import pytest

from bot.works.council.display import research, what_to_show

KNOWN = ("cultural_context", "narrative_structure", "philosophical_themes")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", ["all", *KNOWN]),
        ("n", ["narrative_structure"]),
        ("A", ["all"]),
        ("narrative_structure,", [f"narrative_structure,{one}" for one in (KNOWN[0], KNOWN[2])]),
        ("narrative_structure, ph", ["narrative_structure,philosophical_themes"]),
        ("x", []),
    ],
)
def test_the_last_category_of_a_list_is_completed(typed: str, offered: list[str]) -> None:
    assert research(KNOWN, typed) == offered


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", ["answers", "ballots", "key", "research", "answers 1", "answers 2", "ballots 1", "ballots 2"]),
        ("Ball", ["ballots", "ballots 1", "ballots 2"]),
        ("answers ", ["answers 1", "answers 2"]),
        ("key ", []),
    ],
)
def test_the_part_is_completed_for_all_or_for_one_seat(typed: str, offered: list[str]) -> None:
    assert what_to_show(2, typed) == offered
