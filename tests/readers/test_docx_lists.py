"""Lists, numbers and tables of Word files read as people see them."""

from __future__ import annotations

from docx import Document as New

from tests.readers.wordml import (
    STYLES,
    book,
    headings,
    inside,
    level,
    lists,
    numbered,
    opened,
    p,
    r,
    said,
    saved,
    style,
    table,
    tc,
    tr,
)


def test_headings_have_the_numbers_that_people_see() -> None:
    styles = "".join(
        style(f"H{at}", name_of=f"heading {at}").replace(
            "</w:style>", '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
        )
        for at in (1, 2)
    )
    numbering = lists(
        level(0, "upperRoman", "Part %1:", '<w:pStyle w:val="H1"/>'),
        level(1, "decimal", "%1.%2", '<w:pStyle w:val="H2"/><w:isLgl/>'),
    )
    body = p("Roads", "H1") + p("North", "H2") + p("South", "H2") + p("People", "H1") + p("Wardens", "H2")
    body += p("Free", "H2", numbered(0))
    assert [title for _, title in headings(book(body, styles=styles, numbering=numbering))] == [
        "Part I: Roads",
        "1.1 North",
        "1.2 South",
        "Part II: People",
        "2.1 Wardens",
        "Free",
    ]


def test_lists_count_nest_restart_and_continue() -> None:
    again = (
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/>'
        '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num>'
    )
    numbering = lists(
        level(0, "decimal", "%1."), level(1, "lowerLetter", "(%2)"), level(2, "bullet", "•"), nums=again
    )
    body = "".join(
        p(text, properties=numbered(which, at))
        for text, which, at in [
            ("one", 1, 0), ("a", 1, 1), ("dot", 1, 2), ("b", 1, 1), ("two", 1, 0), ("again a", 1, 1),
            ("five", 2, 0), ("six", 2, 0), ("unknown list", 9, 0), ("no mark", 1, 3),
        ]
    )  # fmt: skip
    assert said(body, numbering=numbering) == (
        "1. one\n  - (a) a\n    - dot\n  - (b) b\n2. two\n  - (a) again a\n5. five\n6. six\n\nunknown list\n\nno mark"
    )


def test_a_level_that_never_restarts_keeps_counting() -> None:
    numbering = lists(level(0, "decimal", "%1."), level(1, "decimal", "%2.", '<w:lvlRestart w:val="0"/>'))
    body = "".join(p("x", properties=numbered(1, at)) for at in (0, 1, 0, 1))
    assert said(body, numbering=numbering) == "1. x\n  1. x\n2. x\n  2. x"


def test_lists_of_python_docx_are_known_by_their_styles() -> None:
    document = New()
    document.core_properties.title = "Word Document"
    document.add_heading("Packing", 1)
    for text, name in (("rope", "List Bullet"), ("long", "List Bullet 2"), ("first", "List Number")):
        document.add_paragraph(text, style=name)
    document.add_paragraph("Well said.", style="Intense Quote")
    made = opened(saved(document))
    assert made.text == "# Packing\n\n- rope\n  - long\n1. first\n\n> Well said."
    assert made.title == "Packing"


MERGED = '<w:vMerge w:val="restart"/>'
BELOW = "<w:vMerge/>"


def test_merged_cells_are_repeated_if_that_helps_and_columns_stay_aligned() -> None:
    body = table(
        tr(tc(p("Prices of guides"), '<w:gridSpan w:val="3"/>')),
        tr("Who", tc(p("Price"), '<w:gridSpan w:val="2"/>'), properties="<w:tblHeader/>"),
        tr("", "day", "night", properties="<w:tblHeader/>"),
        tr(tc(p("Anna"), MERGED), "1", "2"),
        tr(tc("<w:p/>", BELOW), tc(p("3") + p("or 4")), "5"),
        tr(tc(p("Nobody"), '<w:gridSpan w:val="2"/>'), "7"),
        tr("8", "9", properties='<w:gridBefore w:val="1"/>'),
        tr("gone", "gone", "gone", properties="<w:del/>"),
    )
    assert said(body).splitlines() == [
        "Prices of guides",
        "",
        "| Who | Price day | Price night |",
        "| --- | --- | --- |",
        "| Anna | 1 | 2 |",
        "| Anna | 3 or 4 | 5 |",
        "| Nobody |  | 7 |",
        "|  | 8 | 9 |",
    ]


def test_a_table_of_one_cell_is_a_box_and_one_with_headings_is_a_page() -> None:
    assert said(table(tr("Beware of the dog."))) == "> Beware of the dog."
    page = table(tr(tc(p("Roads", "H1") + p("Text."))), tr(tc(p("People", "H1") + table(tr("a", "b")))))
    assert said(page, styles=STYLES) == "# Roads\n\nText.\n\n# People\n\n| a | b |\n| --- | --- |"


def test_a_nested_table_is_read_in_its_cell() -> None:
    inner = table(tr("a", "b"), tr("c", "d"))
    assert said(table(tr("x", tc(inner + p("end"))))) == "| x | a b; c d end |\n| --- | --- |"


def test_a_deeper_level_that_comes_first_counts_below_the_first_of_the_outer_one() -> None:
    numbering = lists(level(0, "decimal", "%1."), level(1, "decimal", "%1.%2"))
    assert said(p("x", properties=numbered(1, 1)), numbering=numbering) == "  - 1.1 x"


def test_cells_merged_beyond_the_last_column_or_in_a_control_are_kept() -> None:
    below = tr(tc(p("Anna"), MERGED), "1") + tr(tc(p("Berta"), BELOW), "2")
    assert said(table(below)) == "| Anna | 1 |\n| --- | --- |\n| Berta | 2 |"
    wide = said(table(tr(*(f"c{at}" for at in range(70))), tr("end")))
    assert "c62 c63 c64 c65 c66 c67 c68 c69 |" in wide.splitlines()[0]
    spanning = said(table(tr("a", tc(p("b"), '<w:gridSpan w:val="900"/>'), "c"), tr("d", "e")))
    assert spanning.splitlines()[0].count("|") == 64
    controlled = f"<w:sdt><w:sdtContent>{tr('a', 'b')}</w:sdtContent></w:sdt>"
    assert said(table(controlled, tr("c", "d"))) == "| a | b |\n| --- | --- |\n| c | d |"


def test_an_empty_item_counts_and_a_deleted_one_does_not() -> None:
    gone = "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
    body = "".join(inside(content, properties=numbered(1)) for content in (r("one"), "", gone, r("three")))
    assert said(body, numbering=lists(level(0, "decimal", "%1."))) == "1. one\n3. three"


def test_tables_with_large_cells_are_read_as_page_layout() -> None:
    long = p("Long text. " * 300)
    assert said(table(tr(tc(long)))).startswith("Long text.")
    made = book(table(tr(tc(p("Left", "H1") + long), tc(p("Right", "H1") + p("Short.")))), styles=STYLES)
    assert headings(made) == [(1, "Left"), (1, "Right")]
    assert headings(book(table(tr(tc(p("Left", "H1")), "b")), styles=STYLES)) == []
