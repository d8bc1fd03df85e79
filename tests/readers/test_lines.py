"""The reader recognises the rules of tables, and no line takes it long."""

from __future__ import annotations

import time

import pytest

from bot.readers import read
from bot.readers.lines import opens_table


@pytest.mark.parametrize(
    "rule",
    ["|---|---|", "---|---", "| :-- | --: |", " :-: | - ", "|-|", "-|", "|:-:", "\t|\t---\t|\t---\t|\t"],
)
def test_a_rule_under_a_row_with_pipes_opens_a_table(rule: str) -> None:
    assert opens_table("| A | B |", rule)


@pytest.mark.parametrize(
    "other", ["| a | b |", "---", "|", "||", "| - - |", "|---||---|", "| :::- |", "|---| x"]
)
def test_no_other_line_opens_a_table(other: str) -> None:
    assert not opens_table("| A | B |", other)


def test_a_row_without_pipes_has_no_rule() -> None:
    assert not opens_table("A and B", "|---|")


@pytest.mark.parametrize("blanks", ["\t" * 100_000, "-" + "\t" * 100_000])
def test_a_long_line_of_blanks_is_quickly_rejected_as_a_rule(blanks: str) -> None:
    """A pattern that tries every split would block the whole bot for a minute and more."""
    begun = time.process_time()
    read("book.md", f"a | b\n{blanks}x|\n".encode())
    assert time.process_time() - begun < 5
