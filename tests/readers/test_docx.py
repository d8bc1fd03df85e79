"""Headings and titles of Word files are recognised in order, whichever program wrote the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from docx import Document as New
from docx.shared import Pt

from tests.readers.wordml import (
    SPACES,
    STRICT,
    STYLES,
    W,
    book,
    headings,
    inside,
    level,
    lists,
    numbered,
    opened,
    p,
    packed,
    r,
    said,
    saved,
    style,
    table,
    tc,
    tr,
)

FILES = Path(__file__).parent / "files"


@pytest.mark.parametrize("maker", ["pandoc", "libreoffice", "python-docx"])
def test_word_files_of_three_programs_read_the_same(maker: str) -> None:
    document = opened((FILES / f"{maker}.docx").read_bytes())
    assert document == opened((FILES / "pandoc.docx").read_bytes())
    assert document.title == "The Lamplighter’s Almanac"
    assert document.pages == ()
    assert ("The people", "The coração trade", "Measures") in [section.path for section in document.sections]
    assert (
        "  - of a storm, if you have seen one,\n    - and on which day it broke.\n3. The third"
        in document.text
    )
    assert "| Moon | Low water | Safe hours | Price of a guide |\n| --- |" in document.text
    assert "\n> A warning from the harbour master." in document.text
    assert "```\n1 league  = 3 bells of walking\n1 candle" in document.text
    assert [link.target for link in document.links] == ["What the wardens ask"]


def test_a_libreoffice_document_is_read_as_people_see_it() -> None:
    document = opened((FILES / "libreoffice-marks.docx").read_bytes())
    assert document.title == "The Rich Book"
    assert document.text.split("\n\n") == [
        "# 1. Roads",
        "Once there was a road that led north and inserted south. See Wardens for more.",
        "> Or two of them.",
        "> An endnote.",
        "## 1.1 North",
        "Text before the box. And after it.",
        "> Boxed words here.\n> And more boxed.",
        "- a) alpha\n  - dot\n- b) beta",
        "| Who | Price | Price |\n| --- | --- | --- |\n| Anna | 1 | 2 |\n| Anna | 3 | 4 5 |",
        "# 2. People",
        "## 2.1 Wardens",
        "They ask and leave.",
    ]
    assert [(link.section, link.target) for link in document.links] == [(0, "2.1 Wardens")]


def test_a_heading_is_known_by_its_style_its_level_or_what_it_is_based_on() -> None:
    styles = (
        style("berschrift1", name_of="heading 1")
        + style("Ttulo2", name_of="Título 2")
        + style("House", inherits="Ttulo2")
        + style("Own", level=3)
        + style("Plain", inherits="Ttulo2", level=9)
        + style("Round", inherits="Round")
    )
    body = (
        p("One", "berschrift1")
        + p("Two", "Ttulo2")
        + p("House", "House")
        + p("Own", "Own")
        + p("Said", properties='<w:outlineLvl w:val="2"/>')
        + p("No file says what this is", "Heading5")
        + p("Not", "Plain")
        + p("Nor", "Round")
        + p("Nor that", "berschrift1", '<w:outlineLvl w:val="9"/>')
        + p("", "berschrift1")
        + p("A paragraph that was given the wrong style. " * 9, "berschrift1")
    )
    assert headings(book(body, styles=styles)) == [
        (1, "One"),
        (2, "Two"),
        (2, "House"),
        (4, "Own"),
        (3, "Said"),
        (5, "No file says what this is"),
    ]


def test_without_styles_headings_are_recognised_by_their_looks() -> None:
    document = New()
    rows = [
        ("The Book of Roads", 24, False), ("Who walks them, and why.", 11, False),
        ("The north", 16, True), ("It is cold there, and the milestones are of granite.", 11, False),
        ("Milestones", 11, True), ("Every seventh has a ring.", 11, False),
        ("The south", 16, True), ("Bring water:", 11, True), ("There is none on the way, nor shade.", 11, False),
        ("Nobody", 11, True), ("knows", 11, True), ("the", 11, True), ("east", 11, True),
        ("All of this was told by those who came back.", 11, False),
    ]  # fmt: skip
    for text, size, bold in rows:
        run = document.add_paragraph().add_run(text)
        run.font.size, run.bold = Pt(size), bold or None
    made = opened(saved(document))
    assert headings(made) == [(1, "The Book of Roads"), (2, "The north"), (3, "Milestones"), (2, "The south")]
    assert made.title == "The Book of Roads"
    document.add_heading("By style", 1)
    assert headings(opened(saved(document))) == [(1, "By style")]


def test_texts_that_only_look_like_headings_are_no_headings() -> None:
    styles = '<w:style w:type="character" w:styleId="Big"><w:rPr><w:sz w:val="40"/></w:rPr></w:style>'
    numbering = lists(level(0, "bullet", "•"), level(1, "decimal", "%1.%2"))
    text = p("Text that goes on and on, and then some more of it.")
    body = (
        inside(r("A bullet", "<w:b/>"), properties=numbered(1)) + text
        + inside(r("A number", "<w:b/>"), properties=numbered(1, 1)) + text
        + inside(r("By a style of letters", '<w:rStyle w:val="Big"/>')) + text
        + inside(r("Nothing below", "<w:b/>"))
    )  # fmt: skip
    found = headings(book(body, styles=styles, numbering=numbering))
    assert found == [(2, "1.1 A number"), (1, "By a style of letters")]
    bold = inside(r("Bold text that goes on and on. " * 5, "<w:b/>")) * 3
    assert headings(book(inside(r("Bold", "<w:b/>")) + bold + p("Thin."))) == []


def test_headings_recognised_by_looks_are_below_a_single_one_by_style() -> None:
    body = p("The Book", "H1") + inside(r("Roads", "<w:b/>")) + p("Text that goes on and on.")
    assert headings(book(body, styles=STYLES)) == [(1, "The Book"), (2, "Roads")]
    assert headings(book(body + p("More", "H1"), styles=STYLES)) == [(1, "The Book"), (1, "More")]


@pytest.mark.parametrize("size", [None, 32])
def test_a_document_all_in_bold_or_large_letters_has_no_headings(size: int | None) -> None:
    look = "<w:b/>" + (f'<w:sz w:val="{size}"/>' if size else "")
    assert headings(book("".join(inside(r(text, look)) for text in ("One", "Two", "Three")))) == []


def test_font_sizes_are_compared_with_the_documents_own_style() -> None:
    own = (
        '<w:style w:type="paragraph" w:default="1" w:styleId="x"><w:rPr><w:sz w:val="40"/></w:rPr></w:style>'
    )
    body = inside(r("Smaller", '<w:sz w:val="30"/>')) + p("Text that goes on and on.") * 2
    assert headings(book(body, styles=own)) == []
    assert headings(book(body)) == [(1, "Smaller")]
    two_lines = inside(r("Two", "<w:b/>") + "<w:r><w:br/></w:r>" + r("lines", "<w:b/>"))
    assert headings(book(two_lines + p("Text that goes on and on."))) == []


@pytest.mark.parametrize(
    ("core", "title"),
    [
        ("<dc:title> The  Road </dc:title>", "The Road"),
        ("<dc:title>Microsoft Word - road.doc</dc:title>", "Styled"),
        ("<dc:title>Untitled 1</dc:title>", "Styled"),
        ("<dc:title>Word games</dc:title>", "Word games"),
        (f"<dc:title>{'long ' * 50}</dc:title>", "Styled"),
        ("<dc:title/>", "Styled"),
        ("<broken", "Styled"),
    ],
)
def test_the_title_comes_from_the_properties_unless_a_program_put_it_there(core: str, title: str) -> None:
    body = p("Heading", "H1") + p("Styled", "Title")
    assert book(body, styles=STYLES, core=core).title == title


def test_without_a_title_a_heading_over_everything_or_the_file_name_is_used() -> None:
    assert book(p("All", "H1") + p("Part", "H2"), styles=STYLES).title == "All"
    assert book(p("One", "H1") + p("Two", "H1"), styles=STYLES).title == "book"


def test_iso_strict_is_read_like_any_other() -> None:
    body = p("Roads", "Heading1") + table(tr("a", tc(p("b"), '<w:gridSpan w:val="2"/>')), tr("c", "d", "e"))
    document = f"<w:document {SPACES}><w:body>{body}</w:body></w:document>"
    strict = packed({"word/document.xml": document.replace(W, STRICT)})
    assert opened(strict).text == said(body)
