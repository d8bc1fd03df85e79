"""PDFs of other programs: which words are read, under which heading, and on which page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from bot.events import UserError
from bot.readers.document import Document, page_at
from bot.readers.pdf.reader import read

FILES = Path(__file__).parent / "files"
WORKS = ["groff", "groff-columns", "libreoffice-plain", "libreoffice-outline", "libreoffice-columns"]
HEADINGS = [
    ("The roads",),
    ("The roads", "The northern road"),
    ("The roads", "The northern road", "Milestones"),
    ("The roads", "The northern road", "Toll houses"),
    ("The roads", "The coastal road"),
    ("The roads", "The coastal road", "Tides"),
    ("The people",),
    ("The people", "What the wardens ask"),
    ("The people", "The coração trade"),
    ("The people", "The coração trade", "Colours"),
    ("The people", "The coração trade", "Measures"),
    ("Leaving the road",),
]


@cache
def document(name: str) -> Document:
    return read(f"{name}.pdf", (FILES / f"{name}.pdf").read_bytes(), lambda done, total: None)


def flat(text: str) -> str:
    """The words only, for text that may be wrapped."""
    return " ".join(re.sub(r"^(?:[-#]+|\d\.|>)|\|", " ", text, flags=re.M).split())


@pytest.mark.parametrize("name", WORKS)
def test_headings_are_found_with_their_paths(name: str) -> None:
    terms = {
        "Where from",
        "Whose flame",
        "How many candles",
    }  # set in bold, so guessed where nothing says otherwise
    paths = [
        section.path for section in document(name).sections if section.path and section.title not in terms
    ]
    assert paths == HEADINGS


@pytest.mark.parametrize("name", WORKS)
def test_paragraphs_are_whole_and_in_order(name: str) -> None:
    text = flat(document(name).text)
    places = [
        text.index(words)
        for words in (
            "Nobody has walked every road, and some are told of only by those who came back from the other end.",
            "because of the fog that fills the hollows until noon, and the people of Weißenfels call it simply",
            "The coastal road is shorter and wetter. It may be walked at low water only, between the second bell",
            "The sandbank called the Heifer moves by forty paces in a night, and has swallowed a cart with both",
            "The answers are written down, and they are compared when the same lantern is seen again.",
            "but lent for a journey. A lent heart is returned with a candle inside, and the candle must be of a",
            "An unextinguishable flame, so often promised by pedlars, has never been demonstrated: "
            "incombustibility is a property of the wick, and misrepresentation a property of the trade.",
            "When the answer does not come by the third verse, go back the way you came and count the milestones "
            "downwards.",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("name", WORKS)
def test_running_headers_and_page_numbers_are_left_out(name: str) -> None:
    text = document(name).text
    assert text.count("Lamplighter’s Almanac") + text.count("Lamplighter's Almanac") <= 1
    assert not re.search(r"^(?:page )?\d+$", text, re.MULTILINE | re.IGNORECASE)


@pytest.mark.parametrize("name", ["groff", "groff-columns", "libreoffice-outline", "libreoffice-plain"])
def test_a_table_stays_together_and_its_wrapped_cells_are_joined(name: str) -> None:
    text = document(name).text
    assert "| Moon | Low water | Safe hours | Price of a guide |\n| --- | --- | --- | --- |\n| New |" in text
    assert "\n| None | never | none | no guide goes |\n" in text


def test_lists_keep_their_depth_and_numbers() -> None:
    assert (
        "2. The second asks for news:\n  - of a birth, if you have heard of one,\n"
        "  - of a storm, if you have seen one,\n    - and on which day it broke.\n"
    ) in document("groff").text


@pytest.mark.parametrize("name", WORKS)
def test_the_title_is_the_document_s_own(name: str) -> None:
    assert document(name).title == "The Lamplighter’s Almanac"


@pytest.mark.parametrize(
    ("name", "page", "words"),
    [
        ("libreoffice-plain", 1, "A lamplighter walks from one tower"),
        ("libreoffice-plain", 4, "A lamplighter who returns late"),
        ("groff-columns", 1, "A warden asks three questions"),
        ("groff-columns", 2, "The name of the last tower"),
    ],
)
def test_words_stand_on_their_page(name: str, page: int, words: str) -> None:
    made = document(name)
    assert page_at(made.pages, flat_index(made.text, words)) == page


def flat_index(text: str, words: str) -> int:
    match = re.search(r"\s+".join(map(re.escape, words.split())), text)
    assert match
    return match.start()


def test_a_pdf_with_only_an_owners_password_is_read() -> None:
    assert document("libreoffice-restricted").text == document("libreoffice-outline").text


@pytest.mark.parametrize(
    ("name", "key"),
    [("libreoffice-locked", "library.file_locked"), ("pillow-scanned", "library.file_scanned")],
)
def test_a_pdf_without_words_is_refused(name: str, key: str) -> None:
    with pytest.raises(UserError) as error:
        document(name)
    assert error.value.key == key


def test_the_reader_reports_every_page() -> None:
    told: list[tuple[int, int]] = []
    read("a.pdf", (FILES / "groff.pdf").read_bytes(), lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_half_a_character_in_a_title_loses_only_that_character() -> None:
    data = (FILES / "libreoffice-outline.pdf").read_bytes()
    tides = b"<FEFF00540069006400650073>"
    broken = data.replace(tides, tides.replace(b"0069", b"D869"))
    assert broken != data
    read_again = read("broken.pdf", broken, lambda done, total: None)
    assert read_again.text == document("libreoffice-outline").text
