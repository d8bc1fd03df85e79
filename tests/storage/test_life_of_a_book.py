"""A book is built out of sight, put on the shelf in one moment, retired, and finally deleted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from storage.db import Database
from storage.document_rows import NewDocument
from storage.documents import Documents
from storage.inbox import Inbox, InboxState, NewRequest
from storage.passages import Passages
from storage.shelves import Shelves
from tests.storage.books import book

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


async def seen(db: Database) -> set[str]:
    """The ids on the shelf, the same for every reader."""
    documents = Documents(db)
    listed = {row.id for row in await documents.list("local", "rules")}
    assert {row.id for row in (await Shelves(db).contents("local", "rules"))[1]} == listed
    assert sum((await Shelves(db).all("local")).values()) == len(listed)
    return listed


async def state(db: Database, one: NewDocument) -> str | None:
    row = await Documents(db).get("local", one.id)
    return row.state if row else None


async def test_a_book_that_is_being_built_is_not_visible(db: Database) -> None:
    documents, new = Documents(db), book()
    assert await documents.add(new, built_by="run")
    assert await seen(db) == set()
    assert await documents.find("local", "rules", "book.md") == []
    assert await documents.by_sha("local", "rules", "same") is None
    assert await Shelves(db).version("local", "rules") == 0
    assert await documents.unseen("local", "rules") == {new.id}
    await documents.mark_embedded("local", new.id, 3, "bge")
    assert await state(db, new) == "building"
    assert len(await Passages(db).chunks_of("local", new.id)) == 3


async def test_several_books_are_swapped_at_once_and_the_old_ones_stay_readable(
    db: Database,
) -> None:
    documents, passages = Documents(db), Passages(db)
    old = [book(source=f"{n}.md") for n in range(3)]
    new = [book(source=f"{n}.md") for n in range(3)]
    for document in old:
        await documents.add(document)
    for document in new:
        await documents.add(document, built_by="run")
    await documents.mark_embedded("local", new[0].id, 3, "bge")
    version = await Shelves(db).version("local", "rules")
    pairs = [(one.id, two.id) for one, two in zip(new, old, strict=True)]
    for _ in range(2):  # a step that a crash cut off is repeated
        assert await documents.swap("local", "rules", pairs) == {document.id for document in new}
        assert await seen(db) == {document.id for document in new}
        assert await Shelves(db).version("local", "rules") == version + 1
    assert [await state(db, document) for document in (*new, *old)] == [
        "ready",
        *["lexical"] * 2,
        *["retired"] * 3,
    ]
    assert await documents.unseen("local", "rules") == {document.id for document in old}
    for document in old:
        assert set(await passages.get("local", [f"{document.id}:1"])) == {f"{document.id}:1"}
        assert await passages.section("local", document.id, 1) is not None
        assert await passages.span("local", document.id, 0, 5) == document.text[:5]
    assert await documents.leftovers() == []


async def test_an_edition_replaces_the_book_that_has_its_name_by_then(db: Database) -> None:
    documents = Documents(db)
    await documents.add(book())
    mine, theirs = book(), book()
    for one in (mine, theirs):
        await documents.add(one, built_by="run")
    await documents.swap("local", "rules", [(theirs.id, "")])
    await documents.swap("local", "rules", [(mine.id, "")])
    assert await seen(db) == {mine.id}
    assert await state(db, theirs) == "retired"
    # Of two files of one name the last one stays.
    both = [book(), book()]
    for one in both:
        await documents.add(one, built_by="run")
    assert await documents.swap("local", "rules", [(document.id, "") for document in both]) == {both[1].id}
    assert await seen(db) == {both[1].id}


@pytest.mark.parametrize("by", ["removal", "replacement"])
async def test_a_book_deleted_meanwhile_does_not_return_with_a_reindex(db: Database, by: str) -> None:
    documents = Documents(db)
    old, new, newer = book(), book(), book()
    await documents.add(old)
    for document in (new, newer):
        await documents.add(document, built_by="run")
    if by == "removal":
        await documents.remove("local", old.id)
    else:
        await documents.swap("local", "rules", [(newer.id, "")])
    before = await Shelves(db).version("local", "rules")
    assert await documents.swap("local", "rules", [(new.id, old.id)]) == set()
    assert await Shelves(db).version("local", "rules") == before
    assert await seen(db) == (set() if by == "removal" else {newer.id})
    assert new.id in {left.document_id for left in await documents.leftovers()}


async def test_a_retired_book_is_deleted_after_its_grace_period(db: Database) -> None:
    documents, old, new = Documents(db), book(), book()
    await documents.add(old)
    await documents.add(new, built_by="run")
    await documents.swap("local", "rules", [(new.id, old.id)])
    await documents.sweep(LONG_AGO)
    assert await state(db, old) == "retired"
    await documents.sweep(datetime.now(UTC) + timedelta(minutes=1))
    assert await state(db, old) is None
    assert [left.document_id for left in await documents.leftovers()] == [old.id]
    assert await documents.unseen("local", "rules") == {old.id}, "its vectors may still be there"
    await documents.cleared("local", [old.id])
    assert await documents.unseen("local", "rules") == set()
    assert await seen(db) == {new.id}


@pytest.mark.parametrize(
    ("ended", "stays"),
    [("received", True), ("running", True), ("done", False), ("failed", False), ("stopped", False)],
)
async def test_unfinished_books_of_a_run_are_deleted_when_the_run_has_ended(
    db: Database, ended: InboxState, stays: bool
) -> None:
    documents, inbox, new, orphan = Documents(db), Inbox(db), book(), book()
    await inbox.receive(
        [NewRequest("run", "terminal", "local", "c", "t", "ana", "library", "add", False, "{}")]
    )
    await inbox.set_states({"run": ended})
    await documents.add(new, built_by="run")
    await documents.add(orphan, built_by="never heard of")
    await documents.sweep(LONG_AGO)
    assert await state(db, new) == ("building" if stays else None)
    assert await state(db, orphan) is None


async def test_the_page_of_a_passage_and_of_a_section_is_the_one_it_begins_on(db: Database) -> None:
    """Chunks and sections of 20 characters over pages of 25, the fourth of them blank."""
    new = replace(book(chunks=6), pages=(0, 25, 50, 75, 75, 100))
    documents, passages = Documents(db), Passages(db)
    await documents.add(new)
    found = await passages.get("local", [f"{new.id}:{n}" for n in range(6)])
    # Text that begins on a page's first character is on that page, and nothing is on a blank page.
    assert [found[f"{new.id}:{n}"].page for n in range(6)] == [1, 1, 2, 3, 5, 6]
    sections = [await passages.section("local", new.id, n) for n in range(6)]
    assert [section.page for section in sections if section] == [1, 1, 2, 3, 5, 6]
    spans = [(new.id, 20, 40), (new.id, 40, 110)]
    assert await passages.turns("local", spans) == {new.id: [(25, 2), (50, 3), (75, 4), (75, 5), (100, 6)]}
    assert await passages.turns("local", [(new.id, 25, 50)]) == {}
    assert await passages.turns("elsewhere", spans) == {}
