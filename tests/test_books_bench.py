"""The parts of the formats benchmark: a citation's words, their page, and a book's blocks."""

from __future__ import annotations

from markdown_it import MarkdownIt

from benchmarks.formats import Pages, page_cited, verbatim
from bot.retrieval.evaluate import Gold, bare
from bot.retrieval.results import Passage
from scripts import picture_seeds
from scripts.books_blocks import Block, blocks


def test_the_gold_text_is_found_as_the_passage_has_it() -> None:
    text = "| Item | **Cost** |\n|---|---|\n| Straße (İ) | 2 gp |"
    assert verbatim(text, bare("Cost Straße")) == "Cost** |\n|---|---|\n| Straße"
    assert verbatim(text, bare("2 GP")) == "2 gp"


def test_a_page_is_that_of_the_first_letter_of_unique_words() -> None:
    pages = Pages(["One light. The fog", "comes in. Two lights.", "One light."])
    assert pages.of("the fog comes in") == 1
    assert pages.of("comes in. **Two** lights") == 2
    assert pages.of("One light.") is None
    assert pages.of("nowhere") is None


def test_a_citation_has_the_page_of_its_words_not_of_the_passage() -> None:
    text = "The fog comes in. Sit down and sing."
    passage = Passage("d:1", "d", "a.pdf", "A", "A", 7, text, 1.0, turns=((text.index("Sit"), 8),))
    assert page_cited(Gold("a.pdf", "sit DOWN"), [passage]) == 8
    assert page_cited(Gold("a.pdf", "fog comes"), [passage]) == 7
    assert page_cited(Gold("a.pdf", "a storm"), [passage]) is None


def test_a_book_is_written_block_by_block() -> None:
    text = "# A\n\none *two*\nthree\n\n3. x\n   - y\n4. z\n\n> q\n\n| a | b |\n|---|---|\n| c | **d** |\n\n    code\n"
    assert list(blocks(MarkdownIt("commonmark").enable("table").parse(text))) == [
        Block("heading", (("A", False, False),), 1),
        Block(
            "paragraph",
            (("one ", False, False), ("two", False, True), (" ", False, False), ("three", False, False)),
        ),
        Block("item", (("x", False, False),), 0, "3."),
        Block("item", (("y", False, False),), 1, "•"),
        Block("item", (("z", False, False),), 0, "4."),
        Block("quote", (("q", False, False),)),
        Block(
            "table",
            rows=(
                ((("a", False, False),), (("b", False, False),)),
                ((("c", False, False),), (("d", True, False),)),
            ),
        ),
        Block("code", (("code", False, False),)),
    ]


def test_the_picture_of_the_designs_shows_the_pages_figures() -> None:
    page = picture_seeds.PAGE.read_text(encoding="utf-8")
    assert picture_seeds.PICTURE.read_text(encoding="utf-8") == picture_seeds.drawn(picture_seeds.rows(page))
