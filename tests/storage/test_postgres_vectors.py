"""What only vectors in Postgres have: an index on large shelves, a check for lost vectors, and a check of the
server.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from bot import doctor
from bot.words import words
from storage import postgres_vectors
from storage.db import Database, StorageFault, new_id
from storage.postgres_vectors import PostgresVectors
from tests.fakes.postgres import created
from tests.storage.test_vectors import HALF, SHELF, unit_vectors

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
async def database(server: str) -> AsyncIterator[Database]:
    database = await Database.open(server)
    assert await postgres_vectors.prepared(database)
    yield database
    await database.close()


async def filled(database: Database, n: int = 600) -> PostgresVectors:
    """`n` vectors in three documents."""
    vectors = PostgresVectors(database)
    for document in range(3):
        ids = range(document, n, 3)
        await vectors.add(*SHELF, [f"{document}:{i}" for i in ids], unit_vectors(n)[list(ids)], str(document))
    return vectors


async def indexes(database: Database) -> list[str]:
    query = "SELECT indexname FROM pg_indexes WHERE tablename = 'chunk_vectors' AND indexdef LIKE '%hnsw%'"
    return await database.column(text(query))


async def indexed(vectors: PostgresVectors) -> None:
    await vectors.release_memory()
    assert vectors._indexing is not None
    await vectors._indexing


async def test_an_added_vector_gets_its_new_value(database: Database) -> None:
    vectors, made = PostgresVectors(database), unit_vectors(2)
    await vectors.add(*SHELF, ["d:0"], made[:1], "d")
    await vectors.add(*SHELF, ["d:0"], made[1:], "d")
    ((id, near),) = await vectors.search(*SHELF, made[1], 3)
    assert id == "d:0"
    assert near == pytest.approx(1, abs=HALF)


async def test_a_shelf_without_vectors_is_missing_and_one_without_any_that_may_be_found_is_not(
    database: Database,
) -> None:
    vectors = await filled(database)
    assert await vectors.search(*SHELF, unit_vectors(1)[0], 3, without=["0", "1", "2"]) == []
    assert await vectors.any()
    await vectors.remove(*SHELF[:2], ["0", "1", "2"])
    with pytest.raises(StorageFault) as caught:
        await vectors.search(*SHELF, unit_vectors(1)[0], 3)
    assert caught.value.kind == "missing"
    assert not await vectors.any()
    assert not vectors.untouched()


@pytest.mark.parametrize("shelf", [SHELF, ("local", 'it\'s 100% :mine \\ "ü"', "bge")])
async def test_a_large_shelf_has_an_index_that_filters_do_not_empty(
    database: Database, monkeypatch: pytest.MonkeyPatch, shelf: tuple[str, str, str]
) -> None:
    monkeypatch.setattr(postgres_vectors, "LARGE", 500)
    n, vectors = 600, PostgresVectors(database)
    made = unit_vectors(n)
    for document in range(3):
        of = list(range(document, n, 3))
        await vectors.add(*shelf, [f"{document}:{i}" for i in of], made[of], str(document))
    await vectors.add("other", *shelf[1:], ["0:0"], made[:1], "0")
    await indexed(vectors)
    (name,) = await indexes(database)
    async with database.read() as connection:
        await connection.execute(text(postgres_vectors._SETTINGS), {"ef": "100"})
        given = dict(zip(("space", "shelf", "embedder"), shelf, strict=True))
        given |= {"vector": str(made[5].tolist()), "without": [], "k": 10}  # type: ignore[dict-item]
        explain = text("EXPLAIN " + postgres_vectors._NEAREST.format(n=16))
        plan = "\n".join((await connection.execute(explain, given)).scalars())
    assert name in plan

    cosines = made @ made[5]
    best = [i for i in np.argsort(-cosines) if i % 3 != 2][:40]
    found = await vectors.search(*shelf, made[5], 40, without=["2"])
    assert len(found) == 40
    assert len({int(id.partition(":")[2]) for id, _ in found} & set(best)) >= 38, "the index is approximate"
    among = await vectors.search(*shelf, made[5], 200, among=["1"])
    assert {id for id, _ in among} == {f"1:{i}" for i in range(1, n, 3)}

    await vectors.remove(*shelf[:2], ["0", "1"])
    vectors._added = True
    await indexed(vectors)
    assert await indexes(database) == []
    assert await vectors.count(*shelf) == 200


async def test_an_unfinished_index_is_built_again(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_vectors, "LARGE", 500)
    vectors = await filled(database)
    await indexed(vectors)
    (name,) = await indexes(database)
    async with database.write() as connection:
        broken = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = CAST(:name AS regclass)"
        await connection.execute(text(broken), {"name": name})
    vectors._added = True
    await indexed(vectors)
    valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = CAST(:name AS regclass)"
    assert (await database.execute(text(valid), name=name)).scalar() is True


async def test_a_process_that_stops_does_not_wait_for_an_index(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_vectors, "LARGE", 500)
    many = (
        "INSERT INTO chunk_vectors SELECT 'local', 'rules', 'd', 'bge', 'd:' || n,"
        " CAST(ARRAY(SELECT random() - 0.5 FROM generate_series(1, 256) WHERE n > 0) AS halfvec)"
        " FROM generate_series(1, 12000) AS n"
    )
    async with database.write() as connection:
        await connection.execute(text(many))
    vectors = PostgresVectors(database)
    await vectors.release_memory()
    while not await indexes(database):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    assert vectors._indexing is not None
    assert not vectors._indexing.done(), "it takes seconds"
    async with asyncio.timeout(5):
        await vectors.close()
    later = PostgresVectors(database)
    monkeypatch.setattr(postgres_vectors, "LARGE", 100_000)
    async with asyncio.timeout(60):  # the server may still be giving up the build
        while await indexes(database):  # a half-built one is of no use
            await indexed(later)


async def test_a_process_that_finds_another_one_building_tries_again_later(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_vectors, "LARGE", 500)
    vectors = await filled(database)
    async with database.outside() as building:
        await building.execute(text(f"SELECT pg_advisory_lock({postgres_vectors._BUILDING})"))
        await indexed(vectors)
        assert await indexes(database) == []
        await building.execute(text(f"SELECT pg_advisory_unlock({postgres_vectors._BUILDING})"))
    await indexed(vectors)
    assert len(await indexes(database)) == 1


async def test_two_processes_add_and_remove_at_once(database: Database, server: str) -> None:
    other = await Database.open(server)
    one, two = PostgresVectors(database), PostgresVectors(other)
    made = unit_vectors(400)
    ids = [f"d:{i}" for i in range(400)]
    await asyncio.gather(
        one.add(*SHELF, ids, made, "d"),
        two.add(*SHELF, ids, made, "d"),
        two.add(*SHELF, [f"e:{i}" for i in range(400)], made, "e"),
        postgres_vectors.settle(other),
    )
    assert await two.count(*SHELF) == 800
    await asyncio.gather(one.remove(*SHELF[:2], ["e"]), two.add(*SHELF, ["d:0"], made[1:2], "d"))
    assert await one.count(*SHELF) == 400
    assert (await one.search(*SHELF, made[1], 1, among=["d"]))[0][1] == pytest.approx(1, abs=HALF)
    await other.close()


KILLED = """
import asyncio, sys
from storage.db import Database
from storage.postgres_vectors import PostgresVectors
from tests.storage.test_vectors import SHELF, unit_vectors

async def main():
    database = await Database.open(sys.argv[1])
    vectors, made = PostgresVectors(database), unit_vectors(4000)
    for first in range(0, 4000, 64):
        ids = [f"d:{i}" for i in range(first, min(first + 64, 4000))]
        await vectors.add(*SHELF, ids, made[first : first + 64], "d")
        print(first, flush=True)

asyncio.run(main())
"""


async def test_a_killed_job_repeats_its_last_batch(database: Database, server: str) -> None:
    job = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, server, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert job.stdout is not None
    for _ in range(3):
        assert await job.stdout.readline()
    job.kill()
    await job.wait()
    vectors, made = PostgresVectors(database), unit_vectors(4000)
    there = await vectors.count(*SHELF)
    assert 192 <= there < 4000
    assert there % 64 == 0, "a batch is there as a whole, or not at all"
    for first in range(there - 64, there + 128, 64):
        ids = [f"d:{i}" for i in range(first, first + 64)]
        await vectors.add(*SHELF, ids, made[first : first + 64], "d")
    assert await vectors.count(*SHELF) == there + 128
    assert {id for id, _ in await vectors.search(*SHELF, made[there - 1], 1)} == {f"d:{there - 1}"}


async def test_damaged_vectors_are_moved_aside(database: Database) -> None:
    vectors = await filled(database)
    await indexed(vectors)
    assert await vectors.set_aside() == "chunk_vectors"
    assert vectors.folders == 1
    assert not await vectors.any()


async def document(database: Database, id: str, embedded: int, other: int = 0, maker: str = "bge") -> None:
    """A document that claims `embedded` vectors, and `other` ones of a second embedder."""
    row = (
        "INSERT INTO documents (id, space, shelf, source, title, language, sha256, size, state, section_count,"
        " chunk_count, embedded, embedder, other_embedded, other_embedder, created_at) VALUES"
        " (:id, 'local', 'rules', 'x', 'x', 'en', :id, 1, 'ready', 1, :n, :n, :maker, :other, 'other', now())"
    )
    async with database.write() as connection:
        await connection.execute(text(row), {"id": id, "n": embedded, "other": other, "maker": maker})


async def test_a_start_notices_missing_vectors(database: Database) -> None:
    """They may be missing after a restart with another store, a restored dump, or a deleted table."""
    await filled(database, 30)
    await document(database, "0", 10)
    await document(database, "1", 11)
    await document(database, "elsewhere", 5)
    await document(database, "2", 10, other=1)
    assert await postgres_vectors.settle(database) == 2
    rows = await database.execute(
        text("SELECT id, state, embedded, embedder, other_embedded FROM documents ORDER BY id")
    )
    assert [tuple(row) for row in rows] == [
        ("0", "ready", 10, "bge", 0),
        ("1", "lexical", 0, None, 0),
        ("2", "ready", 10, "bge", 0),
        ("elsewhere", "lexical", 0, None, 0),
    ]
    await postgres_vectors.drop(database)
    assert not await postgres_vectors.used(database)
    assert await postgres_vectors.prepared(database)
    assert await postgres_vectors.settle(database) == 2


async def test_a_user_who_may_not_create_the_extension_has_no_vectors_in_postgres(postgres: str) -> None:
    url, name = created(postgres), "u" + new_id().replace("-", "")
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN")
        connection.exec_driver_sql(f"GRANT ALL ON SCHEMA public TO {name}")
    parsed = make_url(url)
    database = await Database.open(parsed.set(username=name).render_as_string(hide_password=False))
    assert not await postgres_vectors.prepared(database)
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE EXTENSION vector")
    engine.dispose()
    assert await postgres_vectors.prepared(database), "a user with the right has created it"
    assert await postgres_vectors.settle(database) == 0
    await database.close()


@pytest.mark.parametrize(
    ("installed", "available", "usable", "creatable"),
    [
        ("", "", False, False),
        ("", "0.8.1", False, True),
        ("", "0.7.4", False, False),
        ("0.7.4", "0.8.1", False, False),
        ("0.8.0", "0.8.0", True, False),
        ("0.10.2", "0.10.2", True, False),
        ("1.0", "1.0", True, False),
    ],
)
def test_old_versions_of_pgvector_are_not_used(
    installed: str, available: str, usable: bool, creatable: bool
) -> None:
    there = postgres_vectors.Extension(installed, available, True, False)
    assert (there.usable, there.creatable) == (usable, creatable)
    assert not postgres_vectors.Extension(installed, available, False, False).usable


async def test_the_doctor_says_where_vectors_are_stored(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = re.compile("[Vv]ectors are|Vector store")

    def told(more: str = "") -> list[str]:
        file = tmp_path / "config.toml"
        file.write_text(f'[storage]\nurl = "{server}"\n{more}')
        say, data = words("en"), tmp_path / "data"
        lines = [check.line for check in doctor.examine(file, data, {}, say)]
        return [line for line in lines if says.search(line)]

    def postgres(*expected: str) -> None:
        lines = told()
        assert [[part for part in expected if part in line] for line in lines] == [
            [part] for part in expected
        ]

    chroma = tmp_path / "data" / "chroma"
    chroma.mkdir(parents=True)
    database = await Database.open(server)
    async with database.write() as connection:
        await connection.execute(text("DROP EXTENSION IF EXISTS vector CASCADE"))
    postgres("This Postgres offers pgvector 0.", "Vector store can be loaded")
    assert await postgres_vectors.prepared(database)
    postgres("Vectors are stored in Postgres (pgvector 0.", f"{chroma} is no longer used")
    chroma.rmdir()
    postgres("Vectors are stored in Postgres (pgvector 0.")
    assert any(
        "on the Chroma server at http://c:8000" in line for line in told('chroma_url = "http://c:8000"')
    )
    await postgres_vectors.drop(database)
    monkeypatch.setattr(postgres_vectors, "OLDEST", (99, 0))
    postgres("has no pgvector 0.8 or newer", "Vector store can be loaded")
    await database.close()
