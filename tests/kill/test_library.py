"""kill -9 during the library's jobs: they continue from their last batch, and nothing is duplicated or incomplete."""

from __future__ import annotations

import functools
import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from bot import models
from bot.config import load
from storage.db import Database
from storage.documents import Documents
from tests.kill import books
from tests.kill.instants import ALL, sequences
from tests.kill.process import PATIENCE_S, ROOT, Bot, Course, Events, Instant, course
from tests.kill.remains import ends, inbox, live, rows, shown, steps, vectors

ADD = ("library", "add", "--shelf", "rules", "--json")
CHAT = ("chat", "--json", "--thread", "t")
ON_A_SHELF = "FROM documents WHERE state IN ('lexical', 'ready')"
DOCUMENTS = f"SELECT id, source, state, chunk_count, embedded {ON_A_SHELF} ORDER BY source"
BATCH = 64
FILES = ROOT / "tests" / "readers" / "files"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Reference:
    """An undisturbed library job: its course, the data folder before and after, and the final books."""

    arguments: tuple[str, ...]
    course: Course
    before: Path | None
    after: Path
    books: tuple[Path, ...]
    config: Path


Begin = Callable[..., Bot]


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config with the real embedding model and no other: answers quote the passages."""
    if not models.present(load(environ=os.environ).models_dir, "bge-small"):
        pytest.skip("the files of bge-small are not there: python -m bot models pull")
    file = tmp_path_factory.mktemp("settings") / "config.toml"
    file.write_text('[embedding]\nmodel = "bge-small"\n', encoding="utf-8")
    return file


def job(
    arguments: tuple[str, ...], before: Path | None, folder: Path, made: tuple[Path, ...], config: Path
) -> Reference:
    data = folder / "data"
    if before is not None:
        shutil.copytree(before, data)
    with Bot(*arguments, data=data, config=config) as bot:
        return Reference(arguments, course(bot), before, data, made, config)


@pytest.fixture(scope="session")
def adding(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Two new books of 100 passages in an empty data folder, so that kills hit the migration, too."""
    folder = tmp_path_factory.mktemp("adding")
    made = (books.write(folder / "north.md", 70), books.write(folder / "south.md", 30))
    return job((*ADD, *map(str, made)), None, folder, made, config)


@pytest.fixture(scope="session")
def replacing(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """A new edition of one of two books."""
    folder = tmp_path_factory.mktemp("replacing")
    made = (books.write(folder / "east.md", 30), books.write(folder / "west.md", 10))
    first = job((*ADD, *map(str, made)), None, folder, made, config)
    books.write(made[0], 40, edition=2)
    return job((*ADD, str(made[0]), "--replace"), first.after, folder / "second", made, config)


@pytest.fixture(scope="session")
def parsing(config: Path, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Two new books, each parsed in a separate process."""
    folder = tmp_path_factory.mktemp("parsing")
    made = tuple(
        Path(shutil.copy(FILES / name, folder)) for name in ("libreoffice.docx", "libreoffice-plain.pdf")
    )
    return job((*ADD, *map(str, made)), None, folder, made, config)


@pytest.fixture(scope="session")
def reindexing(replacing: Reference, config: Path, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    arguments = ("library", "reindex", "--shelf", "rules", "--json")
    return job(arguments, replacing.after, tmp_path_factory.mktemp("reindex"), replacing.books, config)


@pytest.fixture(scope="session")
def removing(replacing: Reference, config: Path, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    arguments = ("library", "remove", "east.md", "--shelf", "rules", "--json")
    return job(arguments, replacing.after, tmp_path_factory.mktemp("remove"), replacing.books[1:], config)


def check(data: Path, made: tuple[Path, ...]) -> None:
    """Check that each book is on the shelf once, complete and with its vectors, and that nothing else exists."""
    found = rows(data / "sutradhar.db", DOCUMENTS)
    assert [row[1] for row in found] == sorted(file.name for file in made)
    assert all(state == "ready" and chunks == embedded for _, _, state, chunks, embedded in found), found
    chunks = sorted(f"{id}:{n}" for id, _, _, count, _ in found for n in range(count))
    assert vectors(data) == chunks
    kept = {file.name: file.read_bytes() for file in (data / "originals").iterdir()}
    assert kept == {
        f"{row[0]}{file.suffix}": file.read_bytes() for row, file in zip(found, sorted(made), strict=True)
    }
    assert rows(data / "sutradhar.db", "SELECT * FROM leftovers") == []


@functools.cache
def asked(data: Path, config: Path) -> list[object]:
    """The results of a few questions, without the ids of runs."""
    questions = ("How long until the wolf follows?", "When does the candle near the river fade?")
    with Bot(
        *CHAT, data=data, config=config, stdin="".join(f"/rules ask {question}\n" for question in questions)
    ) as bot:
        assert bot.end() == 0, bot.complaints()
    return [shown([bot.events], run) for run in dict.fromkeys(event["run"] for event in bot.events)]


def jobs(data: Path, config: Path) -> str:
    with Bot("library", "jobs", "--json", data=data, config=config) as bot:
        assert bot.end() == 0, bot.complaints()
    return "".join(event["text"] for event in bot.events if event["event"] == "text")


def started(data: Path, config: Path) -> None:
    """Start the bot, which deletes the replaced edition."""
    with Bot(*CHAT, data=data, config=config) as bot:
        assert bot.end() == 0, bot.complaints()


def written(data: Path) -> dict[str, int]:
    """When each vector was last written, as Chroma numbers its writes."""
    query = "SELECT embedding_id, seq_id FROM embeddings"
    return {
        id: int.from_bytes(n, "big") if isinstance(n, bytes) else n
        for id, n in rows(data / "chroma" / "chroma.sqlite3", query)
    }


def struck(bot: Bot, when: Instant) -> None:
    """Kill the bot at that instant; a command that is quicker than before may have exited by then."""
    assert bot.strike(when) in (-signal.SIGKILL, 0), bot.complaints()


def strike_all(
    reference: Reference, shares: tuple[float, ...], data: Path, chance: random.Random
) -> list[Events]:
    """Kill at each share in turn; each process continues the work of the previous one."""
    if reference.before is not None:
        shutil.copytree(reference.before, data)
    told: list[Events] = []
    received, before = len(inbox(data)), set(written(data))
    safe: dict[str, int] = {}
    finished: dict[tuple[str, str], int] = {}
    for share in shares:
        mine = inbox(data)[received:]
        over = bool(mine) and mine[0][3] == "done"
        when = reference.course.starting(chance.random()) if over else reference.course.instant(share)
        with Bot(*(CHAT if mine else reference.arguments), data=data, config=reference.config) as bot:
            struck(bot, when)
        told.append(bot.events)
        # Finished work is unchanged, and none of it is repeated.
        now = steps(data)
        assert {key: now[key] for key in finished} == finished
        assert {id: at for id, at in written(data).items() if id in safe} == safe
        finished = {key: at for key, at in now.items() if key[0] in {row[0] for row in mine}}
        batches = sum(name.startswith("embed:") for _, name in finished)
        safe = batch_of(data, batches, before)
    return told


def batch_of(data: Path, batches: int, before: set[str]) -> dict[str, int]:
    """The vectors of the first batches of a job, in the order in which they were written."""
    at = {id: at for id, at in written(data).items() if id not in before}
    return {id: at[id] for id in sorted(at, key=at.__getitem__)[: batches * BATCH]} if batches else {}


@pytest.mark.parametrize(
    ("kind", "seed", "shares"),
    [
        *(("adding", *sequence) for sequence in sequences("indexing", kills=3, some=1, every=10)),
        *(("parsing", *sequence) for sequence in sequences("parsing", kills=3, some=0, every=3)),
    ],
)
def test_a_killed_job_continues_from_its_last_batch(
    kind: str, seed: int, shares: tuple[float, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    data, adding = tmp_path / "data", request.getfixturevalue(kind)
    told = strike_all(adding, shares, data, random.Random(seed))
    # The person types the same command again, or only starts the bot.
    again = adding.arguments if seed % 2 or not inbox(data) else CHAT
    with Bot(*again, data=data, config=adding.config) as bot:
        assert bot.end() == 0, bot.complaints()
    told.append(bot.events)
    check(data, adding.books)
    received = inbox(data)
    for run, _, _, state in received:
        assert state == "done"
        # A command prints nothing about an unfinished run of an earlier process.
        unprinted = again is not CHAT and run != received[-1][0] and ends(told, run) == []
        assert unprinted or ends(told, run) == ["done"]
        shown(told, run)
    table = jobs(data, adding.config)
    assert "running" not in table
    assert "stopped" not in table
    assert asked(data, adding.config) == asked(adding.after, adding.config)


@pytest.mark.parametrize("kind", ["replacing", "reindexing"] if ALL else ["replacing"])
@pytest.mark.parametrize(("seed", "shares"), sequences("replacing", kills=3, some=1, every=2))
def test_a_killed_replacement_leaves_the_old_book_or_the_new_one(
    kind: str, seed: int, shares: tuple[float, ...], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    reference: Reference = request.getfixturevalue(kind)
    data = tmp_path / "data"
    told = strike_all(reference, shares, data, random.Random(seed))
    assert [row[1] for row in rows(data / "sutradhar.db", DOCUMENTS)] == ["east.md", "west.md"]
    again = CHAT if len(inbox(data)) > len(inbox(reference.before or data)) else reference.arguments
    with Bot(*again, data=data, config=reference.config) as bot:
        assert bot.end() == 0, bot.complaints()
    told.append(bot.events)
    started(data, reference.config)
    check(data, reference.books)
    assert ends(told, inbox(data)[-1][0]) == ["done"]
    assert asked(data, reference.config) == asked(reference.after, reference.config)


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
@pytest.mark.parametrize("verb", ["reindex", "add"] if ALL else ["reindex"])
def test_a_kill_between_two_books_of_one_step_loses_none(
    verb: str, tmp_path: Path, adding: Reference
) -> None:
    """The first book is on the shelf or about to be, but no step is recorded: it is neither lost nor added twice."""
    data = tmp_path / "data"
    arguments, sign = adding.arguments, "documents"
    if verb == "reindex":
        shutil.copytree(adding.after, data)
        arguments, sign = ("library", "reindex", "--json"), "documents WHERE state = 'building'"

    def begun() -> bool:
        return bool(live(data / "sutradhar.db", f"SELECT 1 FROM {sign}"))

    with Bot(*arguments, data=data, config=adding.config) as bot:
        assert bot.strike_once(begun) == -signal.SIGKILL, bot.complaints()
    with Bot(*CHAT, data=data, config=adding.config) as again:
        assert again.end() == 0, again.complaints()
    assert ends([bot.events, again.events], inbox(data)[-1][0]) == ["done"]
    started(data, adding.config)
    check(data, adding.books)


@pytest.mark.parametrize("verb", ["add", "replace", "reindex"] if ALL else ["add"])
@pytest.mark.parametrize(
    "name", ["libreoffice-plain.pdf", "libreoffice.docx"] if ALL else ["libreoffice.docx"]
)
def test_a_kill_while_a_file_is_parsed_leaves_nothing_behind(
    verb: str, name: str, tmp_path: Path, config: Path
) -> None:
    """The parsing process exits, too, and the file exists only in its original place."""
    data, file = tmp_path / "data", tmp_path / f"book{Path(name).suffix}"
    shutil.copy(FILES / ("python-docx.docx" if file.suffix == ".docx" else "groff.pdf"), file)
    arguments: tuple[str, ...] = (*ADD, str(file), "--replace")
    if verb != "add":
        with Bot(*arguments, data=data, config=config) as bot:
            course(bot)
    if verb == "reindex":
        arguments = ("library", "reindex", "--json")
    else:
        shutil.copy(FILES / name, file)
    before = rows(data / "sutradhar.db", "SELECT id FROM documents")
    with Bot(*arguments, data=data, config=config) as bot:
        assert bot.strike_once(bot.parsing) == -signal.SIGKILL, bot.complaints()
        _, there = psutil.wait_procs(bot.parsers(), PATIENCE_S)
        assert there == []
    assert rows(data / "sutradhar.db", "SELECT id FROM documents") == before
    with Bot(*CHAT, data=data, config=config) as again:
        assert again.end() == 0, again.complaints()
    assert ends([bot.events, again.events], inbox(data)[-1][0]) == ["done"]
    started(data, config)
    check(data, (file,))


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
@pytest.mark.parametrize(("seed", "shares"), sequences("watching", kills=2, some=1, every=3))
@pytest.mark.parametrize("edition", [1, 2])
def test_a_watched_folders_job_continues(
    edition: int, seed: int, shares: tuple[float, ...], tmp_path: Path, config: Path
) -> None:
    folder, data, calm = tmp_path / "rules", tmp_path / "data", tmp_path / "calm"
    folder.mkdir()
    watched = tmp_path / "watched.toml"
    watched.write_text(f"[library]\nwatch = ['{folder}']\n{config.read_text(encoding='utf-8')}")
    made = [books.write(folder / name, 30) for name in ("east.md", "west.md")]
    for n in range(1, edition + 1):
        for file in made:
            books.write(file, 30 + 10 * n, edition=n)
            os.utime(file, (time.time() - 60, time.time() - 60))
        if n < edition:
            with Bot(*CHAT, data=data, config=watched) as bot:
                course(bot)
            shutil.copytree(data, calm)
    with Bot(*CHAT, data=calm, config=watched) as bot:
        way = course(bot)
    for share in shares:
        with Bot(*CHAT, data=data, config=watched) as bot:
            bot.strike(way.instant(share))
    with Bot(*CHAT, data=data, config=watched) as again:
        assert again.end() == 0, again.complaints()
    started(data, watched)
    check(data, tuple(made))
    assert [state for *_, state in inbox(data)] == ["done"] * edition


@pytest.mark.parametrize("through", ["command", "chat"])
@pytest.mark.parametrize(("seed", "shares"), sequences("removing", kills=1, some=1, every=4))
def test_a_killed_removal_leaves_all_of_a_book_or_none_of_it(
    through: str,
    seed: int,
    shares: tuple[float, ...],
    tmp_path: Path,
    removing: Reference,
    replacing: Reference,
) -> None:
    data = tmp_path / "data"
    assert removing.before is not None
    shutil.copytree(removing.before, data)
    line = "/library remove east.md --shelf rules\n"
    # The first half of the course is the start, which changes nothing yet.
    when = removing.course.instant(0.5 + shares[0] / 2)
    if through == "command":
        with Bot(*removing.arguments, data=data, config=removing.config) as bot:
            struck(bot, when)
    else:
        with Bot(*CHAT, data=data, config=removing.config, stdin=line) as bot:
            assert bot.strike(when) == -signal.SIGKILL, bot.complaints()
    with Bot(*CHAT, data=data, config=removing.config) as again:
        assert again.end() == 0, again.complaints()
    there = [row[1] for row in rows(data / "sutradhar.db", DOCUMENTS)]
    assert there in (["east.md", "west.md"], ["west.md"])
    check(data, replacing.books if len(there) == 2 else removing.books)
    if through == "chat" and any(row[1] == "remove" for row in inbox(data)):
        assert inbox(data)[-1][3] == "done"
        assert there == ["west.md"]


async def test_the_next_start_completes_a_killed_removal(tmp_path: Path, removing: Reference) -> None:
    """The book is off the shelf, but its vectors and file still exist: the next start deletes them."""
    data = tmp_path / "data"
    assert removing.before is not None
    shutil.copytree(removing.before, data)
    ((book,),) = rows(data / "sutradhar.db", f"SELECT id {ON_A_SHELF} AND source = 'east.md'")
    database = await Database.open(f"sqlite+aiosqlite:///{data / 'sutradhar.db'}")
    assert await Documents(database).remove("local", book)
    await database.close()
    assert [id for id in vectors(data) if id.startswith(book)]
    with Bot(*CHAT, data=data, config=removing.config) as bot:
        assert bot.end() == 0, bot.complaints()
    check(data, removing.books)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)][: 2 if ALL else 1])
def test_a_job_interrupted_by_a_shutdown_continues_at_the_next_start(
    number: int, code: int, tmp_path: Path, adding: Reference
) -> None:
    data = tmp_path / "data"
    some = next(
        n
        for n, event in enumerate(adding.course.events, 1)
        if event["event"] == "status" and event["done"] == BATCH
    )
    with Bot(*adding.arguments, data=data, config=adding.config) as bot:
        assert bot.strike(Instant(some, 0), number) == code, bot.complaints()
    assert not (data / "lock.pid").exists()
    assert "running" in jobs(data, adding.config)
    with Bot(*CHAT, data=data, config=adding.config) as again:
        assert again.end() == 0, again.complaints()
    ((run, _, _, state),) = inbox(data)
    assert state == "done"
    assert ends([bot.events, again.events], run) == ["done"]
    check(data, adding.books)
    assert "running" not in jobs(data, adding.config)
