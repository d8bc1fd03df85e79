"""What is passed on of an answer that only its asker has seen."""

from __future__ import annotations

from bot.adapters.discord.received.presses import texts
from bot.adapters.discord.text.page import ANSWER, Card, Page
from bot.adapters.footer import Button

RUN = "0" * 32
CHOICE = Button(f"choice:{RUN}:0", "Burdens")
SOURCES = Button(f"sources:{RUN}", "Sources")


async def test_names_of_choices_stay_behind_with_their_buttons() -> None:
    page = Page(
        (Card(("Four hours [1].", "-# lanterns.md"), ANSWER), Card(("-# See also", (CHOICE, SOURCES)))), ""
    )
    assert texts(page.layout()) == ["Four hours [1].", "-# lanterns.md"]


async def test_what_stands_before_other_buttons_is_passed_on() -> None:
    page = Page((Card(("Four hours [1].",), ANSWER), Card(("-# lanterns.md", (SOURCES,)))), "")
    assert texts(page.layout()) == ["Four hours [1].", "-# lanterns.md"]
