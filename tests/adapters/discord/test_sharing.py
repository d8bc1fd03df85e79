"""The parts of a private answer that are shared."""

from __future__ import annotations

from bot.adapters.discord.received.presses import texts
from bot.adapters.discord.text.page import ANSWER, Card, Page
from bot.adapters.footer import Button

RUN = "0" * 32
CHOICE = Button(f"choice:{RUN}:0", "Burdens")
SOURCES = Button(f"sources:{RUN}", "Sources")


async def test_a_shared_answer_omits_choices_and_their_list() -> None:
    page = Page(
        (Card(("Four hours [1].", "-# lanterns.md"), ANSWER), Card(("-# See also", (CHOICE, SOURCES)))), ""
    )
    assert texts(page.layout()) == ["Four hours [1].", "-# lanterns.md"]


async def test_a_text_before_other_buttons_is_shared() -> None:
    page = Page((Card(("Four hours [1].",), ANSWER), Card(("-# lanterns.md", (SOURCES,)))), "")
    assert texts(page.layout()) == ["Four hours [1].", "-# lanterns.md"]
