"""Dice are rolled by a grammar, and what cannot be rolled gets a sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.events import Choices, UserError
from bot.retrieval.results import Book
from bot.words import words
from bot.works.rules.work import Rules, book_table, roll
from tests.fakes.run import MemoryRun
from tests.works.story.writer import Writer, choices, playing


async def test_offered_sections_are_the_same_after_a_restart() -> None:
    names = [["Fireball"], ["Fire giant"]]

    class Library:
        run = adopt = None  # nobody asks

        async def sections_named(self, space: str, shelf: str | None, name: str) -> list[Any]:
            return []

        async def complete(self, space: str, kind: str, prefix: str, shelf: str | None) -> list[str]:
            return names.pop(0)

    library: Any = Library()
    run = MemoryRun()
    offered = []
    for one in (run, run.replay()):
        one.request = replace(one.request, verb="lookup", text="Firewall")
        events = [event async for event in Rules(*[library] * 6).run(one)]
        offered += [event.choices[0].label for event in events if isinstance(event, Choices)]
    assert offered == ["Fireball", "Fireball"]


async def test_the_nearest_headings_share_most_of_the_name(tmp_path: Path) -> None:
    book = tmp_path / "armour.md"
    names = ("Dwarven plate", "Planar travel", "Planetar", "Armor of the sea")
    book.write_text("\n".join(f"## {name}\n\nWhat is said of it.\n" for name in names), encoding="utf-8")
    async with playing(tmp_path, Writer()) as talk:
        await talk.say(f"/library add {book}")
        for typed, first in (
            ("plate", "Dwarven plate"),
            ("plank", "Planar travel"),
            ("armory", "Armor of the sea"),
        ):
            shown = choices(await talk.say(f"/rules lookup {typed}"))
            assert shown, typed
            assert shown[0]["label"] == first


@pytest.mark.parametrize(
    ("expression", "least", "most"),
    [("2d6+3", 5, 15), ("4d6kh3", 3, 18), ("2d20kh1+5", 6, 25), ("1d1", 1, 1), ("(1+2)*3", 9, 9)],
)
def test_a_roll_stays_within_its_dice(expression: str, least: int, most: int) -> None:
    for _ in range(30):
        total = re.search(r"`(\d+)`", roll(expression))
        assert total is not None
        assert least <= int(total[1]) <= most


@pytest.mark.parametrize(
    ("expression", "dice"),
    [
        ("d20 adv", "2d20kh1"),
        ("1d20+5 advantage", "2d20kh1"),
        ("D20 - 1 dis", "2d20kl1"),
        ("1d20+2 desvantagem", "2d20kl1"),
        ("2+d20 vantagem", "2d20kh1"),
        ("1d20+1d4 adv", "2d20kh1"),
    ],
)
def test_advantage_rolls_a_d20_twice(expression: str, dice: str) -> None:
    assert dice in roll(expression)


@pytest.mark.parametrize(
    "expression",
    ["", "two dice", "2d6 adv", "adv", "d20+d20 adv", "2d", "1/0", "((((", "1d6; import os", "-" * 150],
)
def test_an_invalid_roll_gets_a_sentence(expression: str) -> None:
    with pytest.raises(UserError) as caught:
        roll(expression)
    assert caught.value.key == "rules.bad_dice"


@pytest.mark.parametrize("expression", ["100000d6", "9999d9999"])
def test_too_many_dice_are_refused_at_once(expression: str) -> None:
    with pytest.raises(UserError) as caught:
        roll(expression)
    assert caught.value.key == "rules.too_many_dice"


def test_a_very_long_expression_is_refused_unparsed() -> None:
    with pytest.raises(UserError) as caught:
        roll("1d6+" * 1_000)
    assert len(str(caught.value.values["expression"])) < 60


def test_a_bar_in_a_title_does_not_break_the_table() -> None:
    book = Book("1", "Fire | Ice", "fire.md", "rules", "en", 3, 4, 50)
    assert r"| Fire \| Ice | fire.md | rules | en | 3 | by words; by meaning: 50 % |" in book_table(
        [book], words("en")
    )
