"""The chart has a readable line for every member, whatever the members are called."""

from __future__ import annotations

import struct
from dataclasses import replace
from datetime import date, timedelta
from io import BytesIO

import pytest

from bot.drawing import COLOURS, DPI, INK, PALE, PAPER
from bot.works.council.chart import INCHES, MARKS, Chart, Panel, Series, draw

START = date(2026, 3, 5)


def chart(councils: int, names: list[str], panels: int = 3) -> Chart:
    """Members whose lines never meet, so that each line is completely visible."""
    at = list(range(councils))
    lines = [
        Series(name, at, [(n + 0.5) / len(names)] * councils, [(n + 0.5) / len(names)] * councils)
        for n, name in enumerate(names)
    ]
    score = Panel("Score", lines, lambda value: f"{value:.2f}", 1.0)
    cost = Panel("Dollars", lines, lambda value: f"${value:g}")
    days = [START + timedelta(days=n) for n in at]
    return Chart("How they fared", "Since then", days, (score, cost, cost)[:panels])


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def pixels(png: bytes, colour: str) -> int:
    """The number of pixels of exactly this colour."""
    from matplotlib.image import imread

    wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    shown = (imread(BytesIO(png))[:, :, :3] * 255).round()
    return int((shown == wanted).all(axis=2).sum())


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_member_has_a_line_in_its_own_colour_on_the_pictures_background() -> None:
    png = draw(chart(12, [f"member {n}" for n in range(len(COLOURS))]))
    assert size(png) == (INCHES[0] * DPI, INCHES[1] * DPI)
    width, height = size(png)
    assert pixels(png, PAPER) > width * height / 2
    assert [colour for colour in COLOURS if pixels(png, colour) < 1_000] == []
    fewer = draw(chart(12, ["member 0"]))
    assert [pixels(fewer, colour) for colour in COLOURS[1:]] == [0] * (len(COLOURS) - 1)
    assert len(set(MARKS)) >= len(COLOURS)


@pytest.mark.parametrize("colour", [*COLOURS, INK, PALE])
def test_labels_are_readable_on_the_background(colour: str) -> None:
    assert (luminance(PAPER) + 0.05) / (luminance(colour) + 0.05) >= 4.5


@pytest.mark.parametrize("name", ["日本 🎭", "$\\nothing$", "", "a\nb\tc", "W" * 300])
def test_a_member_may_have_any_name(name: str) -> None:
    # A glyph that the font lacks would be a warning, which is an error here.
    assert size(draw(chart(3, [name, "other"])))


@pytest.mark.parametrize("councils", [1, 2, 61, 1_000])
@pytest.mark.parametrize("panels", [1, 3])
def test_the_chart_works_for_few_and_for_many_councils(councils: int, panels: int) -> None:
    assert size(draw(chart(councils, ["one", "two"], panels)))


def test_a_member_without_values_has_no_line_and_does_no_harm() -> None:
    drawn = chart(3, ["one", "two"], 2)
    empty = replace(drawn.panels[1], series=[Series("one", [], [], []), Series("two", [], [], [])])
    assert size(draw(replace(drawn, panels=(drawn.panels[0], empty))))
