"""In a PDF of a screenplay, lines are recognised by their position, and the result is called a guess."""

from __future__ import annotations

import pytest

from bot.readers.document import Document
from bot.readers.pdf.reader import read
from bot.readers.screenplay.elements import Element
from tests.readers.hostile_pdfs import FONT
from tests.readers.test_pdf_made import PROSE, lines, made, shown

COURIER = FONT.replace(b"Helvetica", b"Courier")
ACTION, DIALOGUE, PARENTHETICAL, CUE, TRANSITION = 108, 180, 223, 266, 430


def page(*rows: tuple[float, str], number: str = "") -> str:
    """A page with each row at its left edge, 12 points below the previous one; "" leaves a row empty."""
    shown_rows = [shown(text, x, 720 - 12 * at, 12) for at, (x, text) in enumerate(rows) if text]
    return "".join([shown(number, 520, 760, 12) if number else "", *shown_rows])


FIRST = page(
    (72, "1"),
    (ACTION, ""),
    (ACTION, "Ada grips the wheel. The lighthouse"),
    (ACTION, "is dark."),
    (ACTION, ""),
    (CUE, "ADA \\(V.O.\\)"),
    (PARENTHETICAL, "\\(to herself\\)"),
    (DIALOGUE, "The lamp has been out"),
    (DIALOGUE, "for three nights."),
    (ACTION, ""),
    (TRANSITION, "CUT TO:"),
    (ACTION, ""),
    (ACTION, "EXT. PIER - NIGHT"),
    (ACTION, ""),
    (CUE, "BO"),
    (DIALOGUE, "Whose boat is that? It was not"),
    (CUE, "\\(MORE\\)"),
).replace("(1) Tj", "(1 INT. WHEELHOUSE - DAY 1) Tj")
SECOND = page(
    (CUE, "BO \\(CONT'D\\)"),
    (DIALOGUE, "there yesterday."),
    (ACTION, ""),
    (ACTION, "Nobody answers."),
    number="2.",
)


def document(*pages: str) -> Document:
    return read("ferry.pdf", made(*pages, font=COURIER), lambda done, total: None)


def test_lines_placed_like_those_of_a_script_are_read_as_a_script() -> None:
    front = page((260, "THE FERRY"), (200, ""), (230, "by Nobody"))
    found = document(front, FIRST, SECOND)
    assert found.screenplay is not None
    assert found.screenplay.guessed
    assert found.title == found.screenplay.title == "THE FERRY"
    assert list(found.screenplay.elements) == [
        Element("heading", "INT. WHEELHOUSE - DAY", number="1"),
        Element("action", "Ada grips the wheel. The lighthouse is dark."),
        Element("cue", "ADA (V.O.)"),
        Element("parenthetical", "(to herself)"),
        Element("dialogue", "The lamp has been out for three nights."),
        Element("transition", "CUT TO:"),
        Element("heading", "EXT. PIER - NIGHT"),
        Element("cue", "BO"),
        Element("dialogue", "Whose boat is that? It was not there yesterday."),
        Element("action", "Nobody answers."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        lines([PROSE] * 20),
        lines(["EXT. is short for exterior.", "INT. is short for interior.", PROSE] * 5),
        page(*[(ACTION + 40 * (at % 9), "INT. A - DAY") for at in range(30)]),
        page(*[(ACTION, "INT. A - DAY"), (ACTION, "")] * 9),
    ],
)
def test_lines_placed_otherwise_are_no_script(text: str) -> None:
    assert document(text).screenplay is None


def test_a_script_without_a_title_page_is_read() -> None:
    found = document(FIRST, SECOND)
    assert found.screenplay is not None
    assert found.screenplay.title_page == ()
    assert found.title == "ferry"


def test_a_dual_dialogue_is_read_column_by_column() -> None:
    beside = "".join(
        shown(text, x, 720 - 12 * (30 + at), 12)
        for at, row in enumerate(
            [
                [(180, "ADA"), (370, "BO"), (392, "\\(O.S.\\)")],
                [(150, "Not now, not"), (350, "\\(far"), (392, "off\\)")],
                [(150, "ever."), (320, "Wait for me, I am"), (450, "coming.")],
                [(320, "Please.")],
            ]
        )
        for x, text in row
    )
    behind = shown("She does not.", ACTION, 720 - 12 * 35, 12)
    found = document(FIRST, SECOND + beside + behind)
    assert found.screenplay is not None
    assert list(found.screenplay.elements)[-7:] == [
        Element("action", "Nobody answers."),
        Element("cue", "ADA", dual=1),
        Element("dialogue", "Not now, not ever."),
        Element("cue", "BO (O.S.)", dual=2),
        Element("parenthetical", "(far off)"),
        Element("dialogue", "Wait for me, I am coming. Please."),
        Element("action", "She does not."),
    ]


def test_a_line_in_capitals_between_two_equal_numbers_is_a_heading() -> None:
    forced = shown("12A LATER ON THE PIER 12A", 72, 300, 12) + shown("12 OF THEM ARE GONE", ACTION, 270, 12)
    found = document(FIRST, SECOND + forced)
    assert found.screenplay is not None
    assert list(found.screenplay.elements)[-2:] == [
        Element("heading", "LATER ON THE PIER", number="12A"),
        Element("action", "12 OF THEM ARE GONE"),
    ]
