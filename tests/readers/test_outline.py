"""Titles and headings by strangers: each becomes one line and leaves room for the text below it."""

from __future__ import annotations

from bot.readers import read
from bot.readers.document import TITLE_CHARS
from bot.readers.frames import encode_document
from bot.readers.writer import Writer

ODD = "Rules\u2028 of\u202e the\x07\x85house"


def test_a_heading_as_long_as_a_page_is_cut_in_its_path_and_whole_in_the_text() -> None:
    long = "a" * 10_000
    document = read("a.md", f"# {long}\n\n## Below\n\nWords.\n".encode())
    assert [len(section.title) for section in document.sections] == [TITLE_CHARS, 5]
    assert document.sections[1].path == (long[:TITLE_CHARS], "Below")
    assert len(document.title) == TITLE_CHARS
    assert long in document.text


def test_line_ends_and_direction_marks_are_removed_from_titles() -> None:
    writer = Writer()
    writer.heading(1, ODD)
    writer.paragraph("Words.")
    document = writer.document(ODD)
    assert document.sections[0].path == ("Rules of the house",)
    assert encode_document(document)["title"] == "Rules of the house"
