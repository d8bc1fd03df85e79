"""PDFs made by hand, each with one peculiarity: how their words, lines and pages are read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.events import UserError
from bot.readers.document import Document, page_at
from bot.readers.pdf.reader import read
from tests.readers.hostile_pdfs import FONT, pdf, stream

BOLD = FONT.replace(b"Helvetica", b"Helvetica-Bold")
PROSE = "The ferry carries lanterns and letters to the island whenever the weather allows it at all."


def shown(text: str, x: float, y: float, size: float = 10, font: str = "F") -> str:
    return f"BT /{font} {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n"


def lines(texts: Sequence[str], x: float = 60, y: float = 700, size: float = 10) -> str:
    """Show lines one below the other."""
    return "".join(shown(text, x, y - 1.2 * size * at, size) for at, text in enumerate(texts))


def made(
    *pages: str, entries: str = "", title: str = "", font: bytes = FONT, more: Sequence[bytes] = ()
) -> bytes:
    """A PDF with a page for each of these contents; `entries` go into each page's dictionary, `more` are
    objects from 6 on.
    """
    first = 6 + len(more)
    kids = " ".join(f"{first + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        font, BOLD, f"<</Title({title})>>".encode(), *more,
    ]  # fmt: skip
    for at, contents in enumerate(pages):
        head = (
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R/B 4 0 R>>>>"
            f"/Contents {first + 2 * at + 1} 0 R{entries}>>"
        )
        objects += [head.encode(), stream(contents.encode("cp1252"))]
    return pdf(objects, b"/Info 5 0 R" if title else b"")


def document(*pages: str, entries: str = "", title: str = "") -> Document:
    return read("some_file.pdf", made(*pages, entries=entries, title=title), lambda done, total: None)


def body(page: int, height: float = 640) -> str:
    """A page of unique prose."""
    return lines([f"{PROSE} Leaf {page * 31 % 97} of {at}." for at in range(5)], y=height)


def refused(data: bytes) -> str:
    with pytest.raises(UserError) as error:
        read("a.pdf", data, lambda done, total: None)
    return error.value.key


@pytest.mark.parametrize(
    ("above", "below", "elsewhere", "whole"),
    [
        ("a tower of extra-", "ordinary height and width and", "", "a tower of extraordinary height"),
        ("he carries a self-", "made lantern that is the best", "It is self-made.", "a self-made lantern"),
        (
            "the lamp-",
            "lighter carries it up to the",
            "The lamplighter sings. A lamp is lighter.",
            "the lamplighter",
        ),
        ("a well-", "known lantern that hangs", "He is well. It is known.", "a well-known lantern"),
        ("he went in-", "deed without his lantern", "He is in. A deed.", "he went indeed without"),
        ("the road from Weimar-", "Nord to the old bridge and", "", "from Weimar-Nord to"),
        ("between 1914-", "1918 the lantern was dark and", "", "between 1914-1918 the"),
    ],
)
def test_a_hyphenated_word_is_joined(above: str, below: str, elsewhere: str, whole: str) -> None:
    assert whole in document(lines([above, below]) + lines([elsewhere], y=500)).text


def test_running_headers_are_left_out_and_pages_keep_their_words() -> None:
    pages = [
        shown("The Ferry Book", 60, 800) + shown(f"Page {at + 1} of 6", 280, 30) + body(at) for at in range(6)
    ]
    text = document(*pages).text
    assert "Ferry Book" not in text
    assert "Page" not in text
    assert text.count("weather allows") == 30


def test_a_first_line_that_some_pages_share_is_not_taken_for_a_header() -> None:
    """Stat blocks begin alike; where each page's text begins, what is alike is chance."""
    heads = [
        "Speed 30 feet",
        "Armour 12",
        "Speed 40 feet",
        "A bridge",
        "Speed 20 feet",
        "A tower",
        "Wind",
        "Fog",
    ]
    pages = [shown(head, 60, 662) + body(at) for at, head in enumerate(heads)]
    assert document(*pages).text.count("Speed") == 3


def test_the_only_line_of_a_page_is_kept() -> None:
    assert document(*[shown("Left blank", 200, 800)] * 4).text.count("Left blank") == 4
    both = shown("Left blank", 200, 800) + shown("The Ferry Book", 200, 40)
    assert document(*[both] * 4).text.count("Left blank") == 4


def test_a_paragraph_goes_on_over_the_page_and_each_word_has_its_page() -> None:
    one = lines(["Nobody leaves the tower before the bell, and whoever hears it ring counts the"] * 4)
    made_of = document(one, "", lines(["steps of all the others who go down."]))
    assert made_of.text.endswith("counts the steps of all the others who go down.")
    assert len(made_of.pages) == 3
    assert page_at(made_of.pages, made_of.text.index("steps of")) == 3
    assert page_at(made_of.pages, made_of.text.index("steps of") - 2) == 1


def test_a_footnote_does_not_split_the_paragraph_above_it() -> None:
    first = lines(["Nobody leaves the tower before the bell, and whoever hears it ring counts the"] * 4)
    note = lines(["1 The bell is from 1614; its clapper is not,", "and was lost twice."], y=90, size=8)
    made_of = document(body(1, 790) + first + note, lines(["steps of all the others who go down."]) + body(2))
    text = made_of.text
    assert "counts the steps of all the others who go down." in text
    assert "\n\n1 The bell is from 1614; its clapper is not, and was lost twice.\n\n" in text
    assert page_at(made_of.pages, text.index("1 The bell")) == 1
    assert page_at(made_of.pages, text.index("steps of")) == 2


def test_a_page_in_small_type_below_an_unfinished_line_is_no_note() -> None:
    text = document(
        shown("Ana Reis, of the Tower,", 60, 760, 14) + body(1), lines(["of the island"], size=14) + body(2)
    ).text
    assert text.index("Ana Reis") < text.index("weather allows") < text.index("of the island")


def test_a_number_range_broken_over_lines_has_no_blank() -> None:
    text = document(lines(["the lantern was dark from 1914–", "1918 and then it was lit –", "so they say"]))
    assert text.text == "the lantern was dark from 1914–1918 and then it was lit – so they say"


def test_an_initial_over_three_lines_is_its_word_s_first_letter() -> None:
    beside = [
        "he ferry carries lanterns and letters to the",
        "island whenever the weather allows it and on",
        "some days when it does not; then nobody goes",
    ]
    rest = lines(["and the lanterns stay where they are, as do the letters"] * 3, y=664)
    text = document(shown("T", 60, 676, 38) + lines(beside, 86) + rest).text
    assert text.startswith("The ferry carries lanterns and letters to the island whenever")
    alone = document(shown("A", 60, 676, 38) + shown("ferry carries", 90, 700) + lines(beside[1:], 86, 688))
    assert alone.text.startswith("A ferry carries island")


def test_a_title_in_spaced_letters_is_words() -> None:
    made_of = document(shown("T H E   F E R R Y", 60, 760, 16) + body(1) + body(2, 500))
    assert made_of.sections[0].title == "THE FERRY"
    assert "A B C D E F" in document(shown("A B C D E F", 60, 760, 16) + body(1)).text


def test_a_header_in_the_margin_beside_the_text_is_left_out() -> None:
    pages = [
        lines(["The good Ferry", "Book", str(at + 211)], x=490, y=690) + lines([f"{PROSE} {at * 7 % 5}"] * 9)
        for at in range(6)
    ]
    text = document(*pages).text
    assert "Book" not in text
    assert text.count("weather") == 54


def test_pages_without_words_count() -> None:
    made_of = document("", body(1), "", "")
    assert len(made_of.pages) == 4
    assert page_at(made_of.pages, made_of.text.index("The ferry")) == 2


def test_two_columns_are_read_one_after_the_other_whatever_the_order_in_the_file() -> None:
    left = [f"left column line {at} goes on and on here" for at in range(8)]
    right = [f"right column line {at} goes on and on too" for at in range(8)]
    by_rows = "".join(
        shown(one, 60, 600 - 12 * at) + shown(other, 310, 600 - 12 * at)
        for at, (one, other) in enumerate(zip(left, right, strict=True))
    )
    text = document(shown("A heading that goes across both of the columns", 150, 640, 18) + by_rows).text
    assert text.index("both of the") < text.index("left column line 0")
    assert text.index("left column line 7") < text.index("right column line 0")


def test_a_table_is_not_mistaken_for_columns() -> None:
    rows = [
        ("Lantern", "12", "heavy"),
        ("Rattle", "3", "light"),
        ("Bread", "1", "light"),
        ("Oil", "22", "heavy"),
    ]
    cells = "".join(
        shown(cell, x, 600 - 14 * at)
        for at, row in enumerate(rows)
        for x, cell in zip((60, 200, 300), row, strict=True)
    )
    assert "| Lantern | 12 | heavy |\n| --- | --- | --- |\n| Rattle | 3 | light |" in document(cells).text


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_is_read_upright(turn: int) -> None:
    cos, sin = {90: (0, 1), 180: (-1, 0), 270: (0, -1)}[turn]
    contents = ""
    for at in range(3):
        along, down = 100, 100 + 12 * at
        x, y = {90: (down, along), 180: (500 - along, down), 270: (500 - down, 700 - along)}[turn]
        contents += f"BT /F 10 Tf {cos} {sin} {-sin} {cos} {x} {y} Tm (line {at} of a turned page) Tj ET\n"
    text = document(contents, entries=f"/Rotate {turn}").text
    assert " ".join(text.split()) == "line 0 of a turned page line 1 of a turned page line 2 of a turned page"


def test_a_heading_over_two_lines_is_one_and_the_next_size_is_below_it() -> None:
    head = shown("The lanterns of the northern tower and", 60, 760, 20, "B")
    head += shown("of those who carry them", 60, 736, 20, "B")
    made_of = document(
        head + body(1, 700) + shown("Their oil", 60, 600, 14, "B") + body(2, 560) + body(3, 400)
    )
    whole = "The lanterns of the northern tower and of those who carry them"
    assert [section.path for section in made_of.sections] == [(whole,), (whole, "Their oil")]
    assert made_of.title == whole


def test_of_headings_of_one_size_the_one_that_another_follows_at_once_is_above_it() -> None:
    made_of = document(
        shown("Oil", 60, 760, 14, "B") + body(1, 740) + shown("Towers", 60, 660, 14)
        + shown("Wicks", 60, 630, 14, "B") + body(2, 610) + body(3, 500)
    )  # fmt: skip
    assert [section.path for section in made_of.sections] == [("Oil",), ("Towers",), ("Towers", "Wicks")]


def test_a_list_that_goes_on_in_the_next_column_is_no_deeper_there() -> None:
    left = [f"left column line {at} goes on and on here" for at in range(7)]
    right = [f"right column line {at} goes on and on too" for at in range(7)]
    columns = lines([*left, "• wicks"], 60) + lines(["• oil", *right], 310)
    assert "\n- wicks\n- oil\n" in document(columns).text


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("On Ferries", "On Ferries"),
        ("Microsoft Word - ferries-final2.docx", "some file"),
        ("ferries_v3.indd", "some file"),
        ("untitled", "some file"),
    ],
)
def test_a_title_that_is_a_file_name_is_ignored(title: str, expected: str) -> None:
    assert document(body(1), title=title).title == expected


def test_annotations_are_not_read_as_text() -> None:
    note = b"<</Type/Annot/Subtype/Text/Rect[100 100 120 120]/Contents(A remark of the editor)>>"
    data = made(body(1), entries="/Annots[6 0 R]", more=[note])
    assert "remark" not in read("a.pdf", data, lambda done, total: None).text


def mapped(pairs: str) -> bytes:
    """A font that maps its letters to others."""
    head = "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange"
    return stream(f"{head} {pairs} endcmap".encode())


def test_ligatures_are_letters_and_letters_from_right_to_left_stay_in_order() -> None:
    font = FONT.replace(b">>", b"/ToUnicode 6 0 R>>")
    table = mapped("3 beginbfchar <41> <FB01> <42> <05D0> <43> <05D1> endbfchar")
    data = made(shown("Ane", 60, 700) + shown("CB", 60, 600), font=font, more=[table])
    text = read("a.pdf", data, lambda done, total: None).text
    assert "fine" in text
    assert "\u05d0\u05d1" in text  # set from left to right as CB, so that B is read first


def test_glyphs_without_a_known_character_are_not_read_as_text() -> None:
    font = FONT.replace(b">>", b"/ToUnicode 6 0 R>>")
    table = mapped("1 beginbfrange <20> <7E> <E020> endbfrange")
    assert refused(made(body(1), font=font, more=[table])) == "library.file_scanned"


def test_other_and_truncated_files_are_damaged_and_blank_pages_are_empty() -> None:
    assert refused(b"%PDF-1.7\nnothing more") == "library.file_damaged"
    assert refused(b"") == "library.file_damaged"
    assert refused(made("", "")) == "library.file_empty"


def test_no_control_character_gets_into_the_text() -> None:
    text = document(shown("one\\014two\\000three \\033[2J\\007four", 60, 700)).text
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert "four" in text
