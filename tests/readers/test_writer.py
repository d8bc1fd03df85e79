"""The block writer that readers share: where pages begin, and how large tables get."""

from __future__ import annotations

from bot.readers.document import Document, page_at
from bot.readers.writer import PAGE, Writer


def page_of(made: Document, word: str) -> int | None:
    return page_at(made.pages, made.text.index(word))


def test_pages_that_begin_around_code_are_counted_once() -> None:
    writer = Writer()
    writer.page()
    writer.code(f"  {PAGE}  if lit:\n    go(){PAGE}\n\n")
    writer.paragraph("dark")
    made = writer.document("A")
    assert made.text == "```\n    if lit:\n    go()\n```\n\ndark"
    assert (page_of(made, "lit"), page_of(made, "dark")) == (2, 3)


def test_a_row_without_words_keeps_its_page() -> None:
    writer = Writer()
    writer.page()
    writer.table([["oil", "12"], [PAGE, ""], ["wick", "3"], ["", PAGE]])
    writer.paragraph("dark")
    made = writer.document("A")
    assert made.text.startswith("| oil | 12 |\n| --- | --- |\n| wick | 3 |\n\n")
    assert [page_of(made, word) for word in ("oil", "wick", "dark")] == [1, 2, 3]


def test_one_long_table_row_does_not_widen_all_others() -> None:
    writer = Writer()
    writer.table([["oil", "12"]] * 3000 + [["x"] * 3000])
    assert len(writer.document("A").text) < 100_000
