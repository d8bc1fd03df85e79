"""Vectors that are missing or damaged are made again by themselves, and words answer meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.commands import JOBS
from bot.events import Sorry
from bot.house import House
from bot.retrieval.intake import Item
from bot.runs.requests import row_of
from bot.words import words
from bot.works.rules.work import book_table
from tests.fakes.embedder import Letters
from tests.fakes.house import asked
from tests.retrieval.editions import ONE, Job, add, opened, take, write

QUESTION = "How many lamps has the mill?"


@pytest.fixture
def letters() -> Letters:
    return Letters(ONE)


@pytest.fixture
async def house(tmp_path: Path, letters: Letters) -> AsyncIterator[House]:
    async with opened(tmp_path, letters) as house:
        yield house


async def states(house: House) -> set[tuple[str, str | None]]:
    return {(row.state, row.embedder) for row in await house.records.documents.list("local", "rules")}


async def notices(house: House) -> list[str]:
    found = await house.library.search("local", "rules", QUESTION, k=5)
    assert "lamps" in found.passages[0].text
    return list(found.notices)


def aside(house: House) -> list[Path]:
    return sorted(house.config.data_dir.glob("chroma.damaged-*"))


def spoil(house: House) -> None:
    """As a disk does it, while nobody has the file open."""
    for file in (house.config.data_dir / "chroma").glob("chroma.sqlite3*"):
        file.write_bytes(b"not a database at all " * 1_000)


async def test_books_that_a_job_left_without_vectors_get_them(
    tmp_path: Path, house: House, letters: Letters
) -> None:
    house.embedding.load = Letters().load  # knows none
    await add(house, write(tmp_path / "north.md", 1, 100))
    assert await states(house) == {("lexical", None)}
    table = book_table(await house.library.books("local"), words("en"))
    assert "| by words only |" in table
    assert not await house.missing_vectors.round()

    async def busy(space: str) -> bool:
        return bool(await house.jobs.runs(space, JOBS))

    house.missing_vectors.busy = busy
    house.embedding.load = letters.load
    job = asked("job", "", work="library", verb="add")
    await house.records.inbox.receive([row_of(job)])
    assert await house.missing_vectors.round()
    assert await states(house) == {("lexical", None)}, "a job makes its vectors itself"

    await house.records.inbox.set_states({"job": "done"})
    assert await house.missing_vectors.round()
    assert await states(house) == {("ready", ONE)}
    assert await notices(house) == []


async def test_a_book_goes_on_where_it_was_left(tmp_path: Path, house: House, letters: Letters) -> None:
    (book,) = await add(house, write(tmp_path / "north.md", 1, 100))
    (row,) = await house.records.documents.list("local", "rules")
    assert row.chunk_count > 70
    for made in (ONE, "openai:other"):
        await house.records.documents.mark_embedded("local", book, 64, made)
        assert [vector.embedded for vector in await house.records.documents.without_vectors()] == [64]
        assert await house.missing_vectors.round()
        assert await states(house) == {("ready", ONE)}


async def test_damaged_vectors_are_set_aside_and_made_again(tmp_path: Path, house: House) -> None:
    await add(house, write(tmp_path / "north.md", 1))
    assert await notices(house) == []
    await house.vectors.release_memory()
    spoil(house)
    assert await notices(house) == ["rules.vectors_damaged"]
    assert len(aside(house)) == 1
    assert await states(house) == {("lexical", None)}
    assert await house.missing_vectors.round()
    assert await states(house) == {("ready", ONE)}
    assert await notices(house) == []
    assert len(aside(house)) == 1


async def test_a_job_that_meets_damaged_vectors_says_so_and_leaves_the_rest_to_the_next_round(
    tmp_path: Path, house: House
) -> None:
    await add(house, write(tmp_path / "north.md", 1))
    await house.vectors.release_memory()
    spoil(house)
    south = write(tmp_path / "south.md", 2)
    with pytest.raises(Sorry, match=r"rules\.vectors_damaged"):
        await take(house, Job(), [Item(south.name, str(south))])
    assert await states(house) == {("lexical", None)}
    assert await house.missing_vectors.round()
    assert await states(house) == {("ready", ONE)}
    assert len(await house.records.documents.list("local", "rules")) == 2


async def test_a_folder_of_vectors_that_is_gone_is_made_again(tmp_path: Path, house: House) -> None:
    await add(house, write(tmp_path / "north.md", 1))
    await house.vectors.release_memory()
    shutil.rmtree(house.config.data_dir / "chroma")
    assert await house.missing_vectors.round()
    assert await states(house) == {("ready", ONE)}
    assert await notices(house) == []
