"""Markdown headings are found, and lines that merely look like headings are not."""

from __future__ import annotations

import time

from bot.readers import read
from bot.readers.document import Document, Link


def book(text: str) -> Document:
    return read("book.md", text.encode())


def titles(text: str) -> list[str]:
    return [section.title for section in book(text).sections if section.title]


def test_atx_and_setext_headings_make_a_breadcrumb() -> None:
    document = book(
        "Spells\n======\n\nAll of them.\n\nFire\n----\n\n### *Fireball* ###\n\nA bright streak.\n"
    )
    assert [section.path for section in document.sections] == [
        ("Spells",),
        ("Spells", "Fire"),
        ("Spells", "Fire", "Fireball"),
    ]
    assert document.title == "Spells"


def test_a_heading_with_a_long_run_of_one_sign_is_read_quickly() -> None:
    began = time.process_time()
    assert titles("# a" + " " * 20_000 + "b\n\nWords.") == ["a"]
    assert titles("# a" + "# " * 10_000 + "b\n\nWords.")[0].startswith("a# #")
    assert titles("# " + "[" * 20_000 + "\n\nWords.") == ["[" * 300]
    assert book("---\ntitle: 'a" + " " * 20_000 + "b'\n---\nWords.").title == "a b"
    assert time.process_time() - began < 2


def test_a_dashed_table_is_no_heading() -> None:
    simple = "# Gear\n\nItem      Cost\n--------- -----\nAbacus    2 gp\nVial      1 gp\n\nAfter.\n"
    unbroken = (
        "# Gear\n\nItem      Cost   Weight\n-----------------------\nAbacus    2 gp   2 lb.\n\nAfter.\n"
    )
    framed = (
        "# Gear\n\n----------------------\nItem      Cost\n--------- ------------\nAbacus    2 gp\n\n"
        "Vial      1 gp\n----------------------\n"
    )
    headless = "# Gear\n\n--------- -----\nAbacus    2 gp\nVial      1 gp\n--------- -----\n\nAfter.\n"
    for text in (simple, unbroken, framed, headless):
        assert titles(text) == ["Gear"], text


def test_a_short_word_over_dashes_is_a_heading_and_a_break_is_not() -> None:
    assert titles("Halfling\n--------\n\nSmall folk.\n\n---\n\nMore.\n\n***\n") == ["Halfling"]


def test_code_front_matter_and_pipe_tables_hold_no_headings() -> None:
    text = (
        '---\ntitle: "The Book"\n# note\n---\n\n# One\n\n```\n# not\nnot\n---\n```\n\n'
        "| A | B |\n|---|---|\n| # x | y |\n"
    )
    assert titles(text) == ["One"]
    assert book(text).title == "The Book"


def test_a_boxed_heading_ends_with_its_box() -> None:
    document = book("# Rules\n\nBefore.\n\n> ### Aside\n>\n> Inside.\n\nAfter.\n")
    paths = [(s.path, document.text[s.start : s.end].strip().splitlines()[-1]) for s in document.sections]
    assert paths == [(("Rules",), "Before."), (("Rules", "Aside"), "> Inside."), (("Rules",), "After.")]


def test_sections_cover_the_text_without_a_gap() -> None:
    text = "Preface.\n\n# One\n\na\n\n## Two\nb\n# Three"
    sections = book(text).sections
    assert "".join(text[section.start : section.end] for section in sections) == text


def test_the_authors_references_are_kept() -> None:
    text = "# One\n\nSee also “Two Words”. [here](#three) and [out](https://example.org).\n\n# Dois\n\nVer *Três*.\n"
    assert book(text).links == (Link(0, "Two Words"), Link(0, "#three"), Link(1, "Três"))
