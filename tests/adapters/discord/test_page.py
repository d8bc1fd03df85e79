"""The form of a page that is sent to Discord: as a layout, and as a plain message."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discord import ui

from bot.adapters.discord.text.page import ANSWER, Card, Page, Rule, Shown
from bot.adapters.footer import Button

STOP = Button("stop:" + "0" * 32, "Stop", "⏹️")
PICTURE = Shown("chart.png", b"png", picture=True, alt="A chart")
PAGE = Page(
    (Card(("Yes.", PICTURE, Rule(), Shown("a.txt", b"a", picture=False)), ANSWER), Card(((STOP,),))), "Yes."
)


def sent(view: ui.LayoutView | ui.View) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = view.to_components()
    return made


async def test_the_layout_is_a_card_with_a_row_of_buttons_below() -> None:
    container, row = sent(PAGE.layout())
    assert container["accent_color"] == ANSWER
    assert [component["type"] for component in container["components"]] == [10, 12, 14, 13]
    assert container["components"][1]["items"][0]["media"]["url"] == "attachment://chart.png"
    assert container["components"][1]["items"][0]["description"] == "A chart"
    assert container["components"][3]["file"]["url"] == "attachment://a.txt"
    assert [component["custom_id"] for component in row["components"]] == [STOP.custom_id]


async def test_pictures_in_a_row_share_a_gallery() -> None:
    page = Page((Card((PICTURE, replace(PICTURE, name="b.png"))),), "…")
    (gallery,) = sent(page.layout())
    assert [item["media"]["url"] for item in gallery["items"]] == [
        "attachment://chart.png",
        "attachment://b.png",
    ]


async def test_a_plain_message_has_the_same_buttons_in_rows() -> None:
    choice = Button("choice:" + "0" * 32 + ":0", "Grappled")
    page = Page((Card(("Yes.", (choice,))), Card(((STOP,),))), "Yes.")
    view = page.plain_buttons()
    assert view is not None
    assert [[component["custom_id"] for component in row["components"]] for row in sent(view)] == [
        [choice.custom_id],
        [STOP.custom_id],
    ]
    assert Page((Card(("Yes.",)),), "Yes.").plain_buttons() is None


async def test_a_view_leaves_nothing_in_the_client() -> None:
    plain = PAGE.plain_buttons()
    assert plain is not None
    assert PAGE.layout().is_finished()
    assert plain.is_finished()


def test_pages_are_compared_by_everything_that_they_show() -> None:
    same = Page(tuple(replace(card) for card in PAGE.cards), "Yes.")
    others = [
        replace(PAGE, plain="No."),
        replace(PAGE, cards=PAGE.cards[:1]),
        replace(PAGE, cards=(replace(PAGE.cards[0], colour=1), PAGE.cards[1])),
        replace(PAGE, cards=(replace(PAGE.cards[0], parts=("Yes.", replace(PICTURE, data=b"other"))),)),
        replace(PAGE, cards=(replace(PAGE.cards[0], parts=("Yes.", PICTURE)),)),
    ]
    assert same.shown == PAGE.shown
    assert len(PAGE.shown) == 16
    assert len({PAGE.shown, *(page.shown for page in others)}) == 6
