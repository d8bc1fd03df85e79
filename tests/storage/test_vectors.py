"""Vectors in a real Chroma folder and a real Postgres: the nearest come first, none is doubled, damage is
named.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from storage import chroma_vectors, postgres_vectors
from storage.chroma_vectors import ChromaVectors
from storage.db import Database, StorageFault
from storage.postgres_vectors import PostgresVectors
from storage.vectors import Vectors

SHELF = ("local", "rules", "bge")

HALF = 1e-3
"""What half precision, in Postgres, may change of a cosine."""


def unit_vectors(n: int, seed: int = 0) -> NDArray[np.float32]:
    drawn = np.random.default_rng(seed).standard_normal((n, 16)).astype(np.float32)
    unit: NDArray[np.float32] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


Again = Callable[[], Awaitable[Vectors]]
"""Opens the same store as another process would."""


@pytest.fixture(params=["chroma", "postgres"])
async def again(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Again]:
    async with AsyncExitStack() as stack:

        async def opened() -> Vectors:
            vectors: Vectors = ChromaVectors.embedded(tmp_path / "chroma")
            if request.param == "postgres":
                database = await Database.open(request.getfixturevalue("server"))
                stack.push_async_callback(database.close)
                assert await postgres_vectors.prepared(database)
                vectors = PostgresVectors(database)
            stack.push_async_callback(vectors.close)
            return vectors

        yield opened


@pytest.fixture
async def vectors(again: Again) -> Vectors:
    return await again()


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[ChromaVectors]:
    opened = ChromaVectors.embedded(tmp_path / "chroma")
    yield opened
    await opened.close()


async def test_the_nearest_vectors_come_first_with_their_cosine(vectors: Vectors) -> None:
    made = unit_vectors(50)
    await vectors.add(*SHELF, [f"d:{n}" for n in range(50)], made, "d")
    nearest = await vectors.search(*SHELF, made[7] * 3, 5)
    expected = np.sort(made @ made[7])[::-1][:5]
    assert nearest[0][0] == "d:7"
    assert [near for _, near in nearest] == pytest.approx(expected.tolist(), abs=HALF)


async def test_a_batch_repeated_after_a_crash_doubles_nothing_even_over_several_collections(
    again: Again,
) -> None:
    before, vectors = await again(), await again()
    n = chroma_vectors.SHARD + 600
    ids, made = [f"d:{i}" for i in range(n)], unit_vectors(n)
    await before.add(*SHELF, ids, made, "d")
    await before.release_memory()
    await vectors.add(*SHELF, ids[3900:4400], made[3900:4400], "d")
    assert await vectors.count(*SHELF) == n
    assert (await vectors.search(*SHELF, made[10], 1))[0][0] == "d:10"
    assert (await vectors.search(*SHELF, made[n - 1], 1))[0][0] == f"d:{n - 1}"


async def test_a_removed_document_is_no_longer_found(vectors: Vectors) -> None:
    made = unit_vectors(4)
    await vectors.add(*SHELF, ["d:0", "d:1"], made[:2], "d")
    await vectors.add(*SHELF, ["e:0", "e:1"], made[2:], "e")
    await vectors.remove(*SHELF[:2], ["d"])
    assert {id for id, _ in await vectors.search(*SHELF, made[0], 9)} == {"e:0", "e:1"}


async def test_spaces_shelves_and_embedders_are_separate(vectors: Vectors) -> None:
    made = unit_vectors(2)
    for space in ("one", "two"):
        await vectors.add(space, "rules", "bge", ["d:0"], made[:1] if space == "one" else made[1:], "d")
    await vectors.remove("two", "rules", ["d"])
    assert await vectors.count("two", "rules", "bge") == 0
    ((id, near),) = await vectors.search("one", "rules", "bge", made[0], 5)
    assert id == "d:0"
    assert near == pytest.approx(1.0, abs=HALF)


async def test_vectors_survive_an_idle_time_and_a_restart(vectors: Vectors, again: Again) -> None:
    made = unit_vectors(3)
    await vectors.add(*SHELF, ["d:0", "d:1", "d:2"], made, "d")
    await vectors.release_memory()
    assert await vectors.count(*SHELF) == 3
    await vectors.release_memory()
    later = await again()
    assert (await later.search(*SHELF, made[2], 1))[0][0] == "d:2"


@pytest.mark.parametrize("harm", ["garbage", "truncated", "missing"])
async def test_a_damaged_folder_is_reported_and_can_be_made_again(
    embedded: ChromaVectors, tmp_path: Path, harm: str
) -> None:
    folder, made = tmp_path / "chroma", unit_vectors(3)
    await embedded.add(*SHELF, ["d:0", "d:1", "d:2"], made, "d")
    await embedded.release_memory()
    database = folder / "chroma.sqlite3"
    whole = database.read_bytes()
    if harm == "missing":
        shutil.rmtree(folder)
    else:
        database.write_bytes(b"garbage" * 900 if harm == "garbage" else whole[: len(whole) // 2])

    for _ in range(3):
        with pytest.raises(StorageFault) as caught:
            await embedded.search(*SHELF, made[0], 1)
        assert caught.value.kind == ("missing" if harm == "missing" else "damaged")

    await embedded.release_memory()
    shutil.rmtree(folder)
    await embedded.add(*SHELF, ["d:0"], made[:1], "d")
    assert await embedded.count(*SHELF) == 1


async def test_a_missing_server_is_an_error() -> None:
    remote = ChromaVectors.remote("http://127.0.0.1:9")
    with pytest.raises(StorageFault) as caught:
        await remote.count(*SHELF)
    assert caught.value.kind == "other"
    await remote.close()


async def test_only_the_named_documents_are_searched(vectors: Vectors) -> None:
    made = unit_vectors(30)
    for n, document in enumerate("def"):
        ids = [f"{document}:{i}" for i in range(10)]
        await vectors.add(*SHELF, ids, made[n * 10 : n * 10 + 10], document)
    nearest = await vectors.search(*SHELF, made[0], 30, among={"e", "f"})
    named = {f"{document}:{i}" for document in "ef" for i in range(10)}
    assert {one for one, _ in nearest} <= named
    assert len(nearest) >= 18, "the graph that is searched is approximate: it may seldom not reach one"
    nearest = await vectors.search(*SHELF, made[0], 30, among={"d", "e"}, without={"d"})
    assert {one.partition(":")[0] for one, _ in nearest} == {"e"}
    assert await vectors.search(*SHELF, made[0], 30, among={"d"}, without={"d"}) == []
