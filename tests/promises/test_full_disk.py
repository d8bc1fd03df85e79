"""A full disk gets one sentence; the process continues, nothing is lost, and everything works once there is room."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from storage.db import Database
from storage.documents import Documents
from storage.faults import StorageFault
from tests.promises.conftest import VECTORS, SmallDisk
from tests.promises.talk import ASK, BOOK, Talk, of, sentence, settings, status, talking, texts
from tests.storage.books import book

FULL = (
    "The disk is full, so I could not save that; what was saved before is safe. "
    "Free some space, then ask again."
)


async def still_answers(talk: Talk) -> None:
    events = await talk.say(ASK)
    assert status(events) == "done"
    assert "speed becomes zero" in texts(events)


async def test_asking_and_adding_on_a_full_disk_and_after_room_was_made(
    stocked: Path, small_disk: SmallDisk, tmp_path: Path
) -> None:
    data = Path(shutil.copytree(stocked, small_disk.folder / "data"))
    big = tmp_path / "big.md"
    big.write_text("# Big\n\n" + "\n\n".join(f"## Part {n}\n\nThe number {n} is here." for n in range(2_000)))
    async with talking(settings(data)) as talk:
        await still_answers(talk)
        small_disk.fill()
        assert sentence(await talk.say(ASK)) == FULL
        assert sentence(await talk.say(f"/library add {big} --shelf rules")) == FULL
        small_disk.make_room()
        await still_answers(talk)
        small_disk.fill(left=300_000)  # enough to begin, not enough to finish
        assert FULL in sentence(await talk.say(f"/library add {big} --shelf rules"))
        small_disk.make_room()
        await still_answers(talk)
        books = await talk.say("/library list")
        assert "handbook.md" in texts(books)
        assert "big.md" not in texts(books)
    async with talking(settings(data)) as talk:
        await still_answers(talk)
        assert {event["run"] for event in talk.events} == {talk.events[-1]["run"]}, (
            "no old request runs again"
        )


@pytest.mark.parametrize(
    "what", ["engine.db", *(pytest.param(name, marks=pytest.mark.slow) for name in ("originals", "chroma"))]
)
async def test_a_part_of_the_data_folder_on_a_full_disk(
    what: str, stocked_with_vectors: Path, small_disk: SmallDisk, tmp_path: Path
) -> None:
    data = stocked_with_vectors
    shutil.move(data / what, small_disk.folder / what)
    for beside in data.glob(f"{what}-*"):
        shutil.move(beside, small_disk.folder / beside.name)
    (data / what).symlink_to(small_disk.folder / what)
    more = tmp_path / "more.md"
    more.write_text(BOOK.replace("Lanterns", "Torches").replace("hooded lantern", "torch"), encoding="utf-8")
    async with talking(settings(data, toml=VECTORS)) as talk:
        await still_answers(talk)
        small_disk.fill()
        added = await talk.say(f"/library add {more} --shelf rules")
        assert sentence(added) == FULL
        asked = await talk.say(ASK)
        if what == "engine.db":
            assert sentence(asked) == FULL
        else:
            assert status(asked) == "done"
        small_disk.make_room()
        await still_answers(talk)
        assert status(await talk.say(f"/library add {more} --shelf rules --replace")) == "done"
        assert "torch" in texts(await talk.say("/rules lookup Torches"))
        assert not of(await talk.say(ASK), "failed")


async def test_a_database_at_its_page_limit_refuses_whole_documents(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'sutradhar.db'}"
    database = await Database.open(url, max_page_count=170)
    documents = Documents(database)
    await documents.add(book(source="kept.md"))
    with pytest.raises(StorageFault) as caught:
        await documents.add(book(chunks=200, chunk_chars=4_000))
    assert caught.value.kind == "full"
    assert [document.source for document in await documents.list("local")] == ["kept.md"]
    await database.close()
    database = await Database.open(url)
    assert await Documents(database).add(book(chunks=200, chunk_chars=4_000))
    await database.close()
