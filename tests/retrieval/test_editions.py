"""A book is replaced while questions are answered from it: each question sees one whole edition."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Collection
from datetime import timedelta
from pathlib import Path

import pytest

from bot.events import Notice, Text, UserError
from bot.resources import Resources
from bot.retrieval.cleanup import DamagedVectors
from bot.retrieval.editions import Editions
from bot.retrieval.intake import Item
from bot.retrieval.nearest import Nearest
from bot.retrieval.results import SearchResult
from bot.words import words
from storage.chroma import Chroma
from storage.chroma_vectors import ChromaVectors
from storage.document_rows import NewDocument
from storage.documents import Documents
from storage.faults import StorageFault
from storage.query_vectors import QueryVectors
from storage.shelves import Shelves
from tests.fakes.embedder import Letters
from tests.retrieval.editions import (
    ONE,
    OTHER,
    PLACES,
    Job,
    add,
    opened,
    originals,
    reindex,
    take,
    there,
    write,
)

ALL = os.environ.get("SUTRADHAR_KILLS") == "all"
# With all of them, only `make test-kill` runs this module.
pytestmark = [pytest.mark.slow] if ALL else []
ASKERS = 50 if ALL else 12
QUESTION = "How many lamps does the keeper of the mill have?"


@pytest.fixture
async def resources(tmp_path: Path) -> AsyncIterator[Resources]:
    async with opened(tmp_path, Letters(ONE)) as resources:
        yield resources


async def ask(resources: Resources, question: str = QUESTION) -> SearchResult:
    return await resources.library.search("local", "rules", question, k=5)


def ids(result: SearchResult) -> set[str]:
    return {passage.document for passage in result.passages}


@pytest.mark.parametrize("verb", ["replace", "reindex"] if ALL else ["replace"])
async def test_each_of_many_simultaneous_questions_is_answered_from_one_edition(
    tmp_path: Path, resources: Resources, verb: str
) -> None:
    books = [write(tmp_path / name, 1, 16) for name in ("north.md", "south.md")]
    old = set(await add(resources, *books))
    for file in books if verb == "replace" else []:
        write(file, 2, 16)
    run, answers, waiting, built = Job("swap"), list[SearchResult](), list[int](), asyncio.Event()

    async def asker(n: int) -> None:
        question = f"How many lamps does the keeper of the {PLACES[n % 8]} have?"
        for _ in range(10 if ALL else 1):
            answers.append(await ask(resources, question))
        waiting.append(n)
        if len(waiting) == ASKERS:
            built.set()
        await built.wait()
        swapped = False
        while not swapped:  # until one that was asked after it
            swapped = job.done()
            answers.append(await ask(resources, question))

    job: asyncio.Task[object] = asyncio.create_task(
        add(resources, *books, run=run) if verb == "replace" else reindex(resources, run)
    )
    asking = asyncio.gather(*(asker(n) for n in range(ASKERS)))
    await run.reached(job)
    await built.wait()
    run.go.set()
    await asking
    new = set(await there(resources))
    assert old.isdisjoint(new)
    assert len(new) == 2
    assert all(len(answer.passages) == 5 and not answer.notices for answer in answers)
    assert all(ids(answer) <= old or ids(answer) <= new for answer in answers)
    assert sum(ids(answer) <= old for answer in answers) >= ASKERS
    assert sum(ids(answer) <= new for answer in answers) >= ASKERS


async def test_an_edition_that_is_not_on_the_shelf_takes_no_place_among_the_nearest(
    tmp_path: Path, resources: Resources
) -> None:
    """The new edition's passages have the same words, so they are as near as the old ones."""
    await add(resources, write(tmp_path / "north.md", 1))
    (embedder,) = [await resources.embedding.get()]
    assert embedder is not None
    nearest = Nearest(
        resources.records.documents,
        resources.vectors,
        QueryVectors(resources.records.database),
        DamagedVectors(resources.records.documents, resources.vectors),
        6,
    )
    shelves = Editions(Shelves(resources.records.database))

    async def near() -> list[tuple[int, float]]:
        shelf = await shelves.open("local", "rules")
        found = await nearest.chunks("local", "rules", shelf, QUESTION, embedder, [])
        assert found is not None
        assert {id.rpartition(":")[0] for id, _ in found} == shelf.documents
        return [(int(id.rpartition(":")[2]), round(near, 4)) for id, near in found]

    alone = await near()
    assert len(alone) == 6
    for _ in range(2):  # the second one meets a retired edition, too
        run = Job("swap")
        job = asyncio.create_task(reindex(resources, run))
        await run.reached(job)
        assert await near() == alone
        run.go.set()
        await job
        assert await near() == alone
    # As after a crash between the two steps: off the shelf, but with its vectors.
    (book,) = await there(resources)
    await add(resources, write(tmp_path / "south.md", 1))
    both = await near_of(resources, nearest, shelves)
    await resources.records.documents.remove("local", book)
    assert book in {id.rpartition(":")[0] for id in both}
    assert len(await near()) == 6


async def near_of(resources: Resources, nearest: Nearest, shelves: Editions) -> list[str]:
    embedder = await resources.embedding.get()
    assert embedder is not None
    shelf = await shelves.open("local", "rules")
    found = await nearest.chunks("local", "rules", shelf, QUESTION, embedder, [])
    return [id for id, _ in found or []]


async def test_searches_of_one_request_stay_with_the_edition_of_the_first(
    tmp_path: Path, resources: Resources
) -> None:
    (old,) = await add(resources, write(tmp_path / "north.md", 1))
    request = resources.library.pinned()
    first = await request.search("local", "rules", QUESTION)
    (new,) = await add(resources, write(tmp_path / "north.md", 2))
    assert await request.search("local", "rules", QUESTION) == first
    assert ids(first) == {old}
    assert all("year 1" in passage.text for passage in first.passages)
    later = await ask(resources)
    assert ids(later) == {new}
    # Citations of the old one can still be opened meanwhile.
    section = await resources.library.section_of("local", first.passages[0].chunk)
    assert section is not None
    assert "year 1" in section.text
    await resources.intake.clear(timedelta())
    assert await resources.library.section_of("local", first.passages[0].chunk) is None
    again = await request.search("local", "rules", QUESTION)
    assert ids(again) == {new}, "what is gone is searched for once more, in what there is"


async def test_a_book_removed_between_a_search_and_its_reading_does_not_leave_the_answer_empty(
    tmp_path: Path, resources: Resources
) -> None:
    both = await add(resources, write(tmp_path / "north.md", 1), write(tmp_path / "south.md", 2))
    request = resources.library.pinned()
    assert ids(await request.search("local", "rules", QUESTION)) == set(both)
    await resources.intake.remove("local", both[0])
    result = await request.search("local", "rules", QUESTION, k=5)
    assert len(result.passages) == 5
    assert ids(result) == {both[1]}


async def test_a_shelf_answers_by_its_old_model_until_the_whole_of_it_has_the_new_one(tmp_path: Path) -> None:
    books, letters = [write(tmp_path / name, 1) for name in ("north.md", "south.md")], Letters(ONE, OTHER)
    async with opened(tmp_path, letters) as resources:
        old = set(await add(resources, *books))
    async with opened(tmp_path, letters, OTHER) as resources:
        run = Job("swap")
        job = asyncio.create_task(reindex(resources, run))
        await run.reached(job)
        assert await resources.vectors.count("local", "rules", OTHER) == 16
        result = await ask(resources, "Which keeper has lamps in the harbour?")
        assert (letters.asked[-1][0], result.notices, ids(result)) == (ONE, [], old)
        run.go.set()
        told = {event.text for event in await job if isinstance(event, Notice)}
        result = await ask(resources, "Which keeper has lamps in the quarry?")
        assert (letters.asked[-1][0], result.notices) == (OTHER, [])
        assert ids(result) == set(await there(resources))
        say = words("en")
        assert say("library.beside", n=2) in told
        assert say("library.searchable", shelf="rules") not in told
        assert await resources.vectors.count("local", "rules", ONE) == 16
        await resources.intake.clear(timedelta())
        assert await resources.vectors.count("local", "rules", ONE) == 0
        assert await resources.vectors.count("local", "rules", OTHER) == 16
        assert originals(resources) == set(await there(resources))


async def test_without_either_model_a_shelf_is_searched_by_words_and_keeps_its_vectors(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, Letters(ONE)) as resources:
        old = await add(resources, write(tmp_path / "north.md", 1))
    async with opened(tmp_path, Letters(), OTHER) as resources:
        result = await ask(resources)
        assert (result.notices, ids(result)) == (["rules.vectors_other"], set(old))
        with pytest.raises(UserError) as caught:
            await reindex(resources, Job())
        assert caught.value.key == "embedding.key_missing"
        assert await there(resources) == old
        await resources.intake.clear()
    async with opened(tmp_path, Letters(ONE)) as resources:
        assert (await ask(resources)).notices == []
        assert await resources.vectors.count("local", "rules", ONE) == 8
        assert originals(resources) == set(old)


@pytest.mark.parametrize("at", ["embedder", "embed:rules:0", "embed:rules:1", "swap"][0 if ALL else 2 :])
async def test_a_cancelled_job_leaves_only_the_old_book(
    tmp_path: Path, resources: Resources, at: str
) -> None:
    old = await add(resources, write(tmp_path / "north.md", 1, 70))
    run = Job(at)
    job = asyncio.create_task(add(resources, write(tmp_path / "north.md", 2, 70), run=run))
    await run.reached(job)
    assert len(originals(resources)) == 2
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert await there(resources) == old
    await resources.intake.clear()  # its run is not going on: no such request was ever received
    assert originals(resources) == set(old)
    assert await resources.vectors.count("local", "rules", ONE) == 70
    assert ids(await ask(resources)) == set(old)
    assert await resources.records.documents.unseen("local", "rules") == set()


async def test_a_failed_addition_leaves_no_file_behind(tmp_path: Path, resources: Resources) -> None:
    (old,) = await add(resources, write(tmp_path / "north.md", 1))
    held, keep = threading.Event(), resources.intake._keep_original

    async def slow(key: str, data: bytes) -> None:
        reached.set()
        await asyncio.to_thread(held.wait, 60)
        await keep(key, data)

    for end in ("stopped", "full"):
        reached = threading.Event()
        item = Item("north.md", str(write(tmp_path / "north.md", 2)))
        if end == "stopped":
            resources.intake._keep_original = slow  # type: ignore[method-assign]
        else:
            resources.intake._keep_original = keep  # type: ignore[method-assign]
            resources.intake._documents = Full(resources.records.database)
        taking = asyncio.create_task(
            resources.intake.take("local", "rules", item, end, replace=True, run="r")
        )
        if end == "stopped":
            await asyncio.to_thread(reached.wait, 60)
            taking.cancel()
            held.set()
        with pytest.raises(asyncio.CancelledError if end == "stopped" else StorageFault):
            await taking
        assert originals(resources) == {old}


class Full(Documents):
    """Storage that accepts nothing more."""

    async def add(self, new: NewDocument, *, built_by: str | None = None) -> bool:
        raise StorageFault("full", "no room")


class Stuck(ChromaVectors):
    """Storage that deletes nothing."""

    async def remove(self, space: str, shelf: str, document_ids: Collection[str]) -> None:
        raise StorageFault("full", "no room")


async def test_a_job_succeeds_even_if_the_old_edition_cannot_be_deleted(
    tmp_path: Path, resources: Resources
) -> None:
    north, south = [write(tmp_path / name, 1) for name in ("north.md", "south.md")]
    await add(resources, north, south)
    await resources.records.documents.remove("local", (await there(resources))[0])
    resources.intake._cleanup._vectors = Stuck(Chroma(tmp_path))
    told = await take(resources, Job(), [Item(south.name, str(write(south, 2)))])
    assert any(isinstance(one, Text) for one in told)
    assert [job.state for job in await resources.jobs.list("local")] == ["done", "done"]


async def test_a_note_says_when_a_new_book_has_another_model_than_the_old_ones(
    tmp_path: Path,
) -> None:
    letters, say = Letters(ONE, OTHER), words("en")
    async with opened(tmp_path, letters) as resources:
        await add(resources, write(tmp_path / "north.md", 1))
    async with opened(tmp_path, letters, OTHER) as resources:
        south = write(tmp_path / "south.md", 1, 3)
        told = await take(resources, Job(), [Item(south.name, str(south))])
        assert Notice(say("library.two_models", shelf="rules")) in told
        assert (await ask(resources)).notices == []
        told = await reindex(resources, Job())
        assert Notice(say("library.two_models", shelf="rules")) not in told


async def test_every_step_of_a_replacement_may_be_repeated(tmp_path: Path, resources: Resources) -> None:
    """After a crash steps are repeated: here each step was done but is not recorded."""
    file = write(tmp_path / "north.md", 1, 70)
    await add(resources, file)
    (new,) = await add(resources, write(file, 2, 70), run=(run := Job()))
    run.kept.clear()
    assert await add(resources, file, run=run) == [new]
    assert await resources.vectors.count("local", "rules", ONE) == 140, "the old one can still be read"
    await resources.intake.clear(timedelta())
    assert await resources.vectors.count("local", "rules", ONE) == 70
    assert originals(resources) == {new}


async def test_a_new_book_is_found_by_its_words_before_it_has_vectors_also_with_replace(
    tmp_path: Path, resources: Resources
) -> None:
    run = Job("embed:")
    job = asyncio.create_task(add(resources, write(tmp_path / "north.md", 1), run=run))
    await run.reached(job)
    result = await ask(resources)
    assert result.passages
    assert result.notices == ["rules.vectors_pending"]
    run.go.set()
    await job
    assert (await ask(resources)).notices == []
