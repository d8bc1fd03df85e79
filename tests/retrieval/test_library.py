"""The library on real storage: what it finds, what it hands on, and what it says about missing vectors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.config import load
from bot.events import UserError
from bot.resources import Resources
from bot.retrieval.intake import Item
from tests.fakes import migrated

LONG = "# Walking\n\n" + "\n\n".join(
    f"Paragraph {n} tells of the {word} road and of those who walk it by night with a lantern."
    for n, word in enumerate(["first", "second", "third", "fourth", "fifth", "sixth"])
)
BOOK = LONG + "\n\n# Cold\n\nSee also Walking. Each keeper rolls Foot.\n\n## Frost\n\nFrost bites.\n"


@asynccontextmanager
async def library(folder: Path, settings: str) -> AsyncIterator[Resources]:
    """Resources with one book on the shelf "rules", without vectors."""
    (folder / "config.toml").write_text(settings + '[embedding]\nmodel = "none"\n', encoding="utf-8")
    (folder / "book.md").write_text(BOOK, encoding="utf-8")
    resources = await Resources.open(
        load(folder / "config.toml", migrated.folder(folder / "data"), environ={})
    )
    try:
        taken = await resources.intake.take(
            "local", "rules", Item("book.md", str(folder / "book.md")), "k", replace=False
        )
        assert taken.key == ""
        yield resources
    finally:
        await resources.close()


async def test_a_passage_is_returned_as_it_was_found(tmp_path: Path) -> None:
    async with library(tmp_path, "[retrieval]\nchild_chars = 200\nparent_chars = 200\n") as resources:
        result = await resources.library.search("local", "rules", "Where does the fourth road lead?")
    assert all(len(passage.text) <= 200 for passage in result.passages)
    assert "fourth" in result.passages[0].text


async def test_a_wider_window_stays_within_the_section_and_is_returned_once(tmp_path: Path) -> None:
    async with library(tmp_path, "[retrieval]\nchild_chars = 200\nparent_chars = 2000\n") as resources:
        result = await resources.library.search("local", "rules", "Where does the fourth road lead?")
    best = result.passages[0].text
    assert all(f"Paragraph {n}" in best for n in range(6))
    assert "keeper" not in best
    assert best in BOOK
    assert sum("Paragraph" in passage.text for passage in result.passages) == 1


async def test_a_section_comes_with_its_references_and_subsections(tmp_path: Path) -> None:
    async with library(tmp_path, "") as resources:
        (section,) = await resources.library.sections_named("local", None, "cold")
    assert section.text.startswith("See also Walking")
    assert section.see_also == ["Walking", "Frost"]


@pytest.mark.parametrize(
    ("kind", "prefix", "names"),
    [("section", "fro", ["Frost"]), ("book", "BO", ["book.md"]), ("shelf", "", ["rules"])],
)
async def test_names_are_completed(tmp_path: Path, kind: str, prefix: str, names: list[str]) -> None:
    async with library(tmp_path, "") as resources:
        assert await resources.library.complete("local", kind, prefix) == names
        assert await resources.library.complete("elsewhere", kind, prefix) == []


async def test_a_removed_book_is_found_no_more(tmp_path: Path) -> None:
    async with library(tmp_path, "") as resources:
        assert (await resources.library.search("local", "rules", "fourth road lantern")).passages
        (book,) = await resources.library.books("local")
        await resources.intake.remove("local", book.id)
        assert (await resources.library.search("local", "rules", "fourth road lantern")).passages == []
        assert not list((resources.config.data_dir / "originals").iterdir())


async def test_a_missing_shelf_is_reported_together_with_the_existing_ones(tmp_path: Path) -> None:
    async with library(tmp_path, "") as resources:
        for of in (resources.library.books, resources.library.rows):
            assert len(await of("local", "rules")) == 1
            assert list(await of("elsewhere", "ruels")) == [], (
                "a library that is empty has no shelves to name"
            )
            with pytest.raises(UserError) as caught:
                await of("local", "ruels")
            assert caught.value.values == {"shelf": "ruels", "shelves": "rules"}


async def test_a_name_that_is_no_heading_comes_with_its_surrounding_text(tmp_path: Path) -> None:
    async with library(tmp_path, "[retrieval]\nchild_chars = 200\nparent_chars = 200\n") as resources:
        name = await resources.library.search("local", "rules", "fourth road")
        heading = await resources.library.search("local", "rules", "cold")
    assert all(f"Paragraph {n}" in name.passages[0].text for n in range(6))
    assert all(len(passage.text) <= 200 for passage in heading.passages)


async def test_a_name_is_answered_if_a_passage_has_its_words_in_sequence(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "lanterns.md"
    async with library(tmp_path, "") as resources:
        item = Item("lanterns.md", str(example))
        assert (await resources.intake.take("local", "night", item, "l", replace=False)).key == ""
        confident = {
            name: (await resources.library.search("local", "night", name)).confident
            for name in ("hand bell", "sleeping child", "country bell", "plain child")
        }
    assert confident == {
        "hand bell": True,
        "sleeping child": True,
        "country bell": False,
        "plain child": False,
    }
