"""Other names of a title."""

from __future__ import annotations

import pytest

from bot.retrieval.titles import aliases


@pytest.mark.parametrize(
    ("title", "alias"),
    [("1.1 North", "north"), ("2.10.3. Ferries", "ferries"), ("IV. Oil", "oil"), ("3) Wicks", "wicks")],
)
def test_a_title_is_known_without_its_number(title: str, alias: str) -> None:
    assert alias in aliases(title, "en")


@pytest.mark.parametrize("title", ["12 Lanterns", "5e Rules", "7 Towers of Glass"])
def test_a_number_of_things_stays(title: str) -> None:
    assert [alias for alias in aliases(title, "en") if alias[0] not in "~"] == [title.casefold()]
