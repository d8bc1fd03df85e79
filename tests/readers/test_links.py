"""References to other sections are recognised, with or without quotation marks."""

from __future__ import annotations

from bot.readers import read

BOOK = """# Walking

I see a cold night ahead. {sentence}

# Cold

It bites.

# Getting Lost

Ring the bell.
"""


def targets(sentence: str) -> list[str]:
    return [link.target for link in read("book.md", BOOK.format(sentence=sentence).encode()).links]


def test_unquoted_words_count_as_a_reference_if_a_heading_has_them() -> None:
    assert targets("A keeper may be lost: see getting lost.") == ["Getting Lost"]
    assert targets("See also Cold, and Getting Lost.") == ["Cold", "Getting Lost"]
    assert targets("Veja também Cold e Getting Lost.") == ["Cold", "Getting Lost"]


def test_words_that_no_heading_has_are_no_reference() -> None:
    assert targets("You see the wolves, and they see you.") == []


def test_italics_and_links_are_read_as_written() -> None:
    assert targets("See *The Long Night* or [the cold](#cold).") == ["The Long Night", "#cold"]
