"""Missing or damaged vectors are made again automatically; meanwhile the search uses words."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.commands import JOBS
from bot.events import UserError
from bot.resources import Resources
from bot.retrieval.intake import Item
from bot.runs.requests import row_of
from bot.words import words
from bot.works.rules.work import book_table
from tests.fakes.embedder import Letters
from tests.fakes.scripted_app import asked
from tests.retrieval.editions import ONE, Job, add, opened, take, write

QUESTION = "How many lamps has the mill?"


@pytest.fixture
def letters() -> Letters:
    return Letters(ONE)


@pytest.fixture
async def resources(tmp_path: Path, letters: Letters) -> AsyncIterator[Resources]:
    async with opened(tmp_path, letters) as resources:
        yield resources


async def states(resources: Resources) -> set[tuple[str, str | None]]:
    return {(row.state, row.embedder) for row in await resources.records.documents.list("local", "rules")}


async def notices(resources: Resources) -> list[str]:
    result = await resources.library.search("local", "rules", QUESTION, k=5)
    assert "lamps" in result.passages[0].text
    return list(result.notices)


def aside(resources: Resources) -> list[Path]:
    return sorted(resources.config.data_dir.glob("chroma.damaged-*"))


def spoil(resources: Resources) -> None:
    """Damage the file as a disk would, while it is not open."""
    for file in (resources.config.data_dir / "chroma").glob("chroma.sqlite3*"):
        file.write_bytes(b"not a database at all " * 1_000)


async def test_books_that_a_job_left_without_vectors_get_them(
    tmp_path: Path, resources: Resources, letters: Letters
) -> None:
    resources.embedding.load = Letters().load  # knows none
    await add(resources, write(tmp_path / "north.md", 1, 100))
    assert await states(resources) == {("lexical", None)}
    table = book_table(await resources.library.books("local"), words("en"))
    assert "| by words only |" in table
    assert not await resources.missing_vectors.round()

    async def busy(space: str) -> bool:
        return bool(await resources.jobs.runs(space, JOBS))

    resources.missing_vectors.busy = busy
    resources.embedding.load = letters.load
    job = asked("job", "", work="library", verb="add")
    await resources.records.inbox.receive([row_of(job)])
    assert await resources.missing_vectors.round()
    assert await states(resources) == {("lexical", None)}, "a job makes its vectors itself"

    await resources.records.inbox.set_states({"job": "done"})
    assert await resources.missing_vectors.round()
    assert await states(resources) == {("ready", ONE)}
    assert await notices(resources) == []


async def test_making_vectors_continues_where_it_stopped(
    tmp_path: Path, resources: Resources, letters: Letters
) -> None:
    (book,) = await add(resources, write(tmp_path / "north.md", 1, 100))
    (row,) = await resources.records.documents.list("local", "rules")
    assert row.chunk_count > 70
    for made in (ONE, "openai:other"):
        await resources.records.documents.mark_embedded("local", book, 64, made)
        assert [vector.embedded for vector in await resources.records.documents.without_vectors()] == [64]
        assert await resources.missing_vectors.round()
        assert await states(resources) == {("ready", ONE)}


async def test_damaged_vectors_are_moved_aside_and_made_again(tmp_path: Path, resources: Resources) -> None:
    await add(resources, write(tmp_path / "north.md", 1))
    assert await notices(resources) == []
    await resources.vectors.release_memory()
    spoil(resources)
    assert await notices(resources) == ["rules.vectors_damaged"]
    assert len(aside(resources)) == 1
    assert await states(resources) == {("lexical", None)}
    assert await resources.missing_vectors.round()
    assert await states(resources) == {("ready", ONE)}
    assert await notices(resources) == []
    assert len(aside(resources)) == 1


async def test_a_job_that_meets_damaged_vectors_says_so_and_leaves_the_rest_to_the_next_round(
    tmp_path: Path, resources: Resources
) -> None:
    await add(resources, write(tmp_path / "north.md", 1))
    await resources.vectors.release_memory()
    spoil(resources)
    south = write(tmp_path / "south.md", 2)
    with pytest.raises(UserError, match=r"rules\.vectors_damaged"):
        await take(resources, Job(), [Item(south.name, str(south))])
    assert await states(resources) == {("lexical", None)}
    assert await resources.missing_vectors.round()
    assert await states(resources) == {("ready", ONE)}
    assert len(await resources.records.documents.list("local", "rules")) == 2


async def test_a_missing_folder_of_vectors_is_made_again(tmp_path: Path, resources: Resources) -> None:
    await add(resources, write(tmp_path / "north.md", 1))
    await resources.vectors.release_memory()
    shutil.rmtree(resources.config.data_dir / "chroma")
    assert await resources.missing_vectors.round()
    assert await states(resources) == {("ready", ONE)}
    assert await notices(resources) == []
