"""No word of a PDF is lost unnoticed: separate glyphs, filled forms, pictures; and margins are not read as
text.
"""

from __future__ import annotations

from bot.readers.document import Document
from bot.readers.pdf.reader import read
from tests.readers.test_pdf_made import PROSE, body, document, lines, made, shown

SONG = b"<</Type/Font/Subtype/Type0/BaseFont/STSong-Light/Encoding/UniGB-UCS2-H/DescendantFonts[6 0 R]>>"
CHINESE = (
    b"<</Type/Font/Subtype/CIDFontType0/BaseFont/STSong-Light/FontDescriptor 7 0 R"
    b"/CIDSystemInfo<</Registry(Adobe)/Ordering(GB1)/Supplement 4>>>>",
    b"<</Type/FontDescriptor/FontName/STSong-Light/Flags 6/FontBBox[-25 -254 1000 880]/ItalicAngle 0/Ascent 880"
    b"/Descent -120/CapHeight 880/StemV 93>>",
)
IMAGE = "q 400 0 0 600 50 50 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q\n"


def glyphs(text: str, x: float, y: float) -> str:
    return f"BT /F 12 Tf {x} {y} Td <{text.encode('utf-16-be').hex()}> Tj ET\n"


def read_made(data: bytes) -> Document:
    return read("some_file.pdf", data, lambda done, total: None)


def test_separately_placed_glyphs_are_read_even_if_the_font_is_not_embedded() -> None:
    alone = "".join(glyphs(glyph, 50 + 12 * at, 600) for at, glyph in enumerate("潮水每天涨落两次"))
    found = read_made(made(glyphs("五十", 50, 640) + glyphs("一", 74, 640) + alone, font=SONG, more=CHINESE))
    assert found.text.split() == ["五十一", "潮水每天涨落两次"]
    assert found.unread == ()


def test_form_entries_are_read_beside_their_questions() -> None:
    fields = (
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(name)/V(Ana Lind)/Rect[150 695 300 712]/F 4>>",
        b"<</Type/Annot/Subtype/Widget/FT/Tx/T(pin)/V(SECRET)/Ff 8192/Rect[150 655 300 672]/F 4>>",
        b"<</Type/Annot/Subtype/Widget/FT/Btn/T(yes)/V/On/AS/On/Rect[150 675 165 690]/F 4/AP<</N<</On 9 0 R>>>>>>",
        b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Length 0>>stream\n\nendstream",
    )
    page = shown("Name:", 60, 700) + shown("Member:", 60, 680) + body(1)
    data = made(page, entries="/Annots[6 0 R 7 0 R 8 0 R]", more=fields)
    data = data.replace(b"/Catalog/Pages", b"/Catalog/AcroForm<</Fields[6 0 R 7 0 R 8 0 R]>>/Pages")
    text = read_made(data).text
    assert "Name:" in text
    assert "Ana Lind" in text
    assert "[x]" in text
    assert "SECRET" not in text


def test_scanned_pages_are_counted() -> None:
    found = document(body(1), IMAGE, body(2), body(3), IMAGE)
    assert found.unread == (("pictures", {"n": 2, "total": 5}),)
    assert document(body(1), "", body(2)).unread == ()


def test_a_turned_stamp_is_neither_title_nor_heading() -> None:
    stamp = "BT /B 20 Tf 0 1 -1 0 30 200 Tm (arXiv:2004.04906v3 [cs.CL] 30 Sep 2020) Tj ET\n"
    found = document(stamp + shown("The Ferry", 200, 780, 16) + body(1), body(2))
    assert found.title == "The Ferry"
    assert not [section.title for section in found.sections if "arXiv" in section.title]
    assert "arXiv:2004.04906v3" in found.text


def test_headers_with_a_page_number_are_left_out_though_their_words_change() -> None:
    pages = []
    for at in range(12):
        name = f"5.{at // 3}. KRUMMUNG VON {'ABCD'[at // 3] * 3}"
        head = f"{89 + at} {name}" if at % 2 else f"{name} {89 + at}"
        pages.append(shown(head, 60, 790) + body(at, 740))
    found = document(*pages)
    assert "KRUMMUNG" not in found.text
    assert found.text.count("The ferry carries") == 60
    counted = [
        shown(f"{at * 7} {'abcdefghijkl'[at] * 4} lanterns burn", 60, 790) + body(at, 740) for at in range(12)
    ]
    assert document(*counted).text.count("lanterns burn") == 12


def test_roman_numerals_mark_headings_of_a_paper_and_its_authors_do_not() -> None:
    names = shown("On Ferries at Night", 150, 790, 20) + shown("Ana Lind and Bea Rocha", 200, 760, 12)
    page = names + body(1, 700)
    for at, title in enumerate(("I. INTRODUCTION", "II. RELATED WORK", "III. METHODS")):
        page += shown(title, 200, 600 - 150 * at) + lines([PROSE] * 5, y=570 - 150 * at)
    found = document(page, body(2))
    assert [section.title for section in found.sections if section.level] == [
        "I. INTRODUCTION",
        "II. RELATED WORK",
        "III. METHODS",
    ]
