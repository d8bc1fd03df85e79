"""Slides, sheets, OpenDocument and RTF: what people see is read, and what is hidden is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.events import UserError
from bot.readers import open_document, rtf, sheet, slides
from bot.readers.document import Document
from bot.readers.sheet import Format, shown, shown_as
from tests.readers.hostile_zips import LAUGHS, packed, unpacked

FILES = Path(__file__).parent / "files"
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
TEXT = 'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
TABLE = 'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
OFFICE = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
STYLE = 'xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'


def nobody(done: int, total: int) -> None:
    return


def pptx(**changed: bytes) -> Document:
    members = unpacked((FILES / "python-pptx.pptx").read_bytes())
    return slides.read("a.pptx", packed({**members, **changed}), nobody)


def xlsx(rows: str, more: str = "", styles: str = "") -> Document:
    """A workbook with one sheet of these rows."""
    members = {
        "xl/workbook.xml": f'<workbook {R}><sheets><sheet name="Sheet1" r:id="a"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<x><x Id="a" Type="t/worksheet" Target="s.xml"/><x Id="b" Type="t/styles"'
        ' Target="styles.xml"/></x>',
        "xl/s.xml": f"<worksheet>{more}<sheetData>{rows}</sheetData></worksheet>",
        "xl/styles.xml": f"<styleSheet>{styles}</styleSheet>",
    }
    return sheet.read("a.xlsx", packed({name: text.encode() for name, text in members.items()}), nobody)


def odf(body: str, styles: str = "") -> Document:
    content = f"<x {TEXT} {TABLE} {OFFICE} {STYLE}><styles>{styles}</styles><body>{body}</body></x>"
    return open_document.read("a.odt", packed({"content.xml": content.encode()}), nobody)


def test_slides_are_sections_and_pages_with_their_notes() -> None:
    document = slides.read("a.pptx", (FILES / "python-pptx.pptx").read_bytes(), nobody)
    assert document.title == "Tides and the Harbour"  # and not "PowerPoint Presentation"
    assert [(section.title, section.page) for section in document.sections] == [
        ("Tides and the Harbour", 1),
        ("Why the sea rises", 2),
        ("Heights", 3),
        ("A box without a title", 5),
    ]
    for words in (
        "> Ask who has seen a spring tide.",
        "- The moon pulls the water\n  - Twice a day\n- The sun pulls, too",
        "| Aveiro Faro | 3.4 m | 1.5 m |",
        "Words in a group",
    ):
        assert words in document.text
    assert "42" not in document.text  # a hidden slide


def test_a_broken_slide_is_a_damaged_file_and_a_bomb_is_one() -> None:
    with pytest.raises(UserError, match="file_damaged"):
        pptx(**{"ppt/slides/slide2.xml": b"<p"})
    with pytest.raises(UserError, match="file_bomb"):
        pptx(**{"ppt/slides/slide2.xml": LAUGHS + b"<p>&a9;</p>"})
    assert (
        "Tides" in pptx(**{"ppt/notesSlides/notesSlide1.xml": b"<p"}).text
    )  # its notes are missed, the rest is read


def test_a_sheet_is_shown_as_its_program_shows_it() -> None:
    document = sheet.read("a.xlsx", (FILES / "openpyxl.xlsx").read_bytes(), nobody)
    assert [section.title for section in document.sections] == ["Grades", "Rooms"]  # one more is hidden
    for words in (
        "# Grades\n\nSpring term\n\n| Student | Joined | Points | Share | Total | Paid |",
        "| Ana | 2024-03-05 | 41.5 | 25.3% | =C3*2 | R$ 12.50 |",
        "| Bruno | 2024-03-06 14:30 | 39 | 50.0% | =C4*2 | R$ 7.00 |",
        "| Bruno | 14:30 | 0.3 | 100.0% | TRUE |  |",
        "| Group A | x |\n| --- | --- |\n| Group A | y |\n\n#",  # merged; a third row is hidden
        "| R1 | 30 |\n\nfar",  # in the last cell that there is
    ):
        assert words in document.text
    assert "key 42" not in document.text


def test_numbers_are_shown_in_their_cells_format() -> None:
    for code, value, expected in (
        ("General", "0.1", "0.1"),
        ("", "12345678901", "12345678901"),
        ("0.00", "3.14159", "3.14"),
        ("#,##0", "1234.5", "1234"),
        ("0%", "0.5", "50%"),
        ("[$€-407] #,##0.00", "5", "€ 5.00"),
        ('dd"/"mm"/"yyyy', "45000", "2023-03-15"),
        ("[h]:mm", "1.5", "36:00"),
        ("h:mm AM/PM", "0.5", "12:00"),
        ("mmm", "45000", "2023-03-15"),
        ("yyyy", "-1", "-1"),
        ("yyyy", "1e300", "1e300"),
        ("0", "nan", "nan"),
        ("0", "words", "words"),
        ('0 "days"', "3", "3"),
        ("@", "7", "7"),
    ):
        assert shown(value, shown_as(code), since_1904=False) == expected, code
    assert shown("1", Format(date=True), since_1904=False) == "1900-01-01"
    assert shown("61", Format(date=True), since_1904=False) == "1900-03-01"
    assert shown("0", Format(date=True), since_1904=True) == "1904-01-01"


def test_cells_of_every_kind_are_read_and_rows_kept_apart() -> None:
    document = xlsx(
        '<row r="2"><c r="B2" t="inlineStr"><is><r><t>Na</t></r><r><t>me</t></r><rPh><t>no</t></rPh></is></c>'
        '<c r="C2" t="str"><f>A1</f><v>said</v></c><c r="D2" t="e"><v>#N/A</v></c></row>'
        '<row r="3"><c r="B3" t="s"><v>99</v></c><c r="C3"><f>SUM(A1)</f><v>7</v></c><c r="E3" t="b"><v>0</v></c></row>'
        '<row r="9"><c><v>1</v></c><c><v>2</v></c></row>',
        '<cols><col min="4" max="4" hidden="1"/></cols>',
    )
    assert (
        document.text
        == "| Name | said |  |\n| --- | --- | --- |\n|  | 7 | FALSE |\n\n| 1 | 2 |\n| --- | --- |"
    )


def test_an_open_document_is_read_without_its_deleted_words() -> None:
    document = odf(
        "<text><tracked-changes><p>deleted</p></tracked-changes>"
        '<text:h text:outline-level="1">Tides</text:h><text:p>The sea<text:s text:c="2"/>rises'
        "<text:note><text:note-body><text:p>Nearly.</text:p></text:note-body></text:note> twice.</text:p>"
        '<text:list text:style-name="L"><text:list-item><text:p>one</text:p><text:list><text:list-item>'
        "<text:p>inner</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p>"
        "</text:list-item></text:list>"
        "<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>A</text:p></table:table-cell>"
        "<table:table-cell><text:p>B</text:p></table:table-cell></table:table-row></table:table-header-rows>"
        '<table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>wide</text:p></table:table-cell>'
        "<table:covered-table-cell/></table:table-row></table:table><annotation><text:p>comment</text:p></annotation>"
        "</text>",
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1"/>'
        '<text:list-level-style-bullet text:level="2"/></text:list-style>',
    )
    assert document.text == (
        "# Tides\n\nThe sea rises twice.\n\n> Nearly.\n\n1. one\n  - inner\n2. two\n\n"
        "| A | B |\n| --- | --- |\n| wide |  |"
    ).replace("sea rises", "sea  rises")


def test_repeated_rows_of_an_open_document_sheet_are_not_expanded() -> None:
    document = odf(
        '<spreadsheet><table:table table:name="S"><table:table-row><table:table-cell><text:p>a</text:p>'
        "</table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell><table:table-cell "
        'table:number-columns-repeated="16000"/></table:table-row><table:table-row '
        'table:number-rows-repeated="1048570"><table:table-cell table:number-columns-repeated="16384"/>'
        '</table:table-row><table:table-row table:number-rows-repeated="999999"><table:table-cell '
        'table:number-columns-repeated="99999"><text:p>x</text:p></table:table-cell></table:table-row></table:table>'
        "</spreadsheet>"
    )
    assert document.text.startswith("| a | b |\n| --- | --- |\n\n| x |")
    assert len(document.text) < 100_000


def test_what_libreoffice_writes_reads_like_its_source() -> None:
    source = slides.read("a.pptx", (FILES / "python-pptx.pptx").read_bytes(), nobody)
    assert open_document.read("a.odp", (FILES / "libreoffice.odp").read_bytes(), nobody) == source
    computed = sheet.read("a.xlsx", (FILES / "libreoffice.xlsx").read_bytes(), nobody)
    assert "| Ana | 2024-03-05 | 41.5 | 25.3% | 83 | R$ 12.50 |" in computed.text
    for name, reader in (("libreoffice-marks.odt", open_document), ("libreoffice-marks.rtf", rtf)):
        document = reader.read(name, (FILES / name).read_bytes(), nobody)
        assert document.title == "The Rich Book"
        headings = [(section.level, section.title) for section in document.sections if section.level]
        assert headings == [(1, "Roads"), (2, "North"), (1, "People"), (2, "Wardens")]
        for words in (
            "led north and inserted south. See Wardens for more.\n\n> Or two of them.",
            "> And more boxed.",
        ):
            assert words in document.text
        for words in ("DELETED", "HIDDEN", "COMMENT"):
            assert words not in document.text


def test_rich_text_is_read_with_its_headings_lists_and_tables() -> None:
    data = (FILES / "harbour.rtf").read_bytes()
    document = rtf.read("a.rtf", data, nobody)
    assert document.title == "My Harbour Book"
    assert document.text == (
        "# Tides —rising\n\nThe sea réses twice a day. Привет 日本 {x}\nnext\n\n> Nearly.\n\n## Heights\n\n"
        "| Harbour | Spring |\n| --- | --- |\n| Aveiro second | 3.2 m |\n\n- first item\n1. numbered\n\na link and end."
    )
    assert rtf.read("a.rtf", data.replace(b"\n", b"\r\n"), nobody).text == document.text
    deep = rb"{\rtf1 " + b"{" * 5_000 + b"x"
    with pytest.raises(UserError, match="file_bomb"):
        rtf.read("a.rtf", deep, nobody)


def test_rtf_without_styles_has_the_headings_that_people_see() -> None:
    long = "some text of the body that is long enough to be one. " * 3
    data = rf"{{\rtf1\ansi\fs24\b Big Heading\b0\par {long}\par\fs32 Larger\fs24\par {long}}}".encode()
    document = rtf.read("a.rtf", data, nobody)
    assert [(section.level, section.title) for section in document.sections] == [
        (2, "Big Heading"),
        (1, "Larger"),
    ]
