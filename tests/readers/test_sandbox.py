"""The process that parses files: whatever it does, the file gets one sentence and the next good file is read."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from bot.events import UserError
from bot.readers import child, frames
from bot.readers.document import TITLE_CHARS
from bot.readers.sandbox import ROOT, Sandbox, Timeouts

BADLY = {".pdf": "tests.readers.badly"}
PATIENT = Timeouts(silent=60, whole=100)


def guarded(timeouts: Timeouts = PATIENT, at_once: int = 2) -> Sandbox:
    return Sandbox(timeouts, at_once, BADLY)


def children() -> list[psutil.Process]:
    return [
        child for child in psutil.Process().children() if "bot.readers.child" in " ".join(_command(child))
    ]


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


@pytest.fixture(autouse=True)
async def _nothing_stays() -> AsyncIterator[None]:
    yield
    assert children() == []


async def refusal(deed: str, reading: Sandbox | None = None) -> UserError:
    with pytest.raises(UserError) as raised:
        await (reading or guarded()).read("book.pdf", f"%PDF-{deed}".encode())
    assert raised.value.values["name"] == "book.pdf"
    return raised.value


async def test_a_book_comes_out_whole_and_its_language_is_judged_here() -> None:
    said = "Os alunos devem entregar o trabalho até a sexta-feira. \U0001f3ee 字"
    document = await guarded().read("livro.pdf", f"%PDF-say {said}".encode())
    assert document.text == f"# livro.pdf\n\n{said}"
    assert document.language == "pt"
    assert [section.path for section in document.sections] == [("livro.pdf",)]


@pytest.mark.parametrize(
    ("deed", "key"),
    [
        ("eat", "library.file_memory"),
        ("gulp", "library.file_memory"),
        ("killed", "library.file_memory"),
        ("crash", "library.file_crashes"),
        ("abort", "library.file_crashes"),
        ("leave", "library.file_crashes"),
        ("slow", "library.file_hangs"),
        ("nothing", "library.file_wordless"),
        ("empty", "library.file_wordless"),
    ],
)
async def test_each_end_has_its_sentence(deed: str, key: str) -> None:
    assert (await refusal(deed)).key == key


@pytest.mark.parametrize("deed", ["hang", "hold"])
async def test_a_silent_reader_is_stopped(deed: str) -> None:
    began = time.monotonic()
    assert (await refusal(deed, guarded(Timeouts(silent=0.7, whole=100)))).key == "library.file_hangs"
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("deed", ["spin", "flood"])
async def test_a_reader_that_reports_progress_for_ever_is_stopped(deed: str) -> None:
    assert (await refusal(deed, guarded(Timeouts(silent=60, whole=0.7)))).key == "library.file_hangs"


async def test_a_readers_refusal_has_its_figures_and_the_name_of_the_file() -> None:
    error = await refusal("refuse")
    assert (error.key, error.values) == (
        "library.file_pages",
        {"name": "book.pdf", "pages": 10_001, "limit": 10_000},
    )


async def test_a_mistake_is_logged_by_its_place_without_the_words(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "bot.readers.sandbox"):
        assert (await refusal("stumble a secret")).key == "library.file_crashes"
    (logged,) = caplog.messages
    assert "IndexError at badly.py:" in logged
    assert "secret" not in logged
    assert "words" not in logged


async def test_output_of_a_library_is_not_taken_for_a_result(capfd: pytest.CaptureFixture[str]) -> None:
    assert "said" in (await guarded().read("a.pdf", b"%PDF-chatter said")).text
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep less of it")
async def test_the_reader_cannot_write_or_start_a_process_and_has_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:secret@host/db")
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "written"
    text = (await guarded().read("a.pdf", f"%PDF-write {file}".encode())).text
    assert not file.exists() or not file.stat().st_size
    assert "wrote" not in text
    assert "PATH" in text
    for name in ("API_KEY", "DATABASE_URL", "HOME'", "secret"):
        assert name not in text
    if os.geteuid():  # limits of processes do not bind the superuser
        assert "started" not in text


@pytest.mark.skipif(sys.platform != "linux", reason="no other kernel holds it to its data")
async def test_the_reader_cannot_reserve_more_memory_than_its_limit() -> None:
    assert "refused" in (await guarded().read("a.pdf", b"%PDF-reserve")).text


async def test_progress_is_reported_on_the_event_loop() -> None:
    told: list[tuple[int, int]] = []
    await guarded().read("a.pdf", b"%PDF-count x", lambda done, total: told.append((done, total)))
    assert told[0] == (0, 3)
    assert told == sorted(told)


@pytest.mark.skipif(sys.platform != "linux", reason="finds the pipe in /proc")
@pytest.mark.parametrize(
    "said",
    [
        b"x" * 100,
        frames.HEAD.pack(frames.DOCUMENT, 0xFFFFFFFF),
        frames.HEAD.pack(frames.PROGRESS, 60_000_000),
        frames.HEAD.pack(frames.SORRY, 60_000_000),
        frames.framed(frames.SORRY, []),
        frames.framed(frames.DOCUMENT, {"text": "words"}),
        frames.framed(b"z", [1, 2]),
    ],
)
async def test_nonsense_in_the_pipe_breaks_the_file_and_not_the_bot(said: bytes) -> None:
    error = await refusal(f"forge {said.hex()}", guarded(Timeouts(silent=10, whole=10)))
    assert error.key == "library.file_crashes"


async def test_at_most_two_at_once_and_a_stop_ends_them() -> None:
    reading = guarded()
    tasks = [asyncio.create_task(reading.read("a.pdf", b"%PDF-hang")) for _ in range(4)]
    async with asyncio.timeout(20):
        while len(children()) < 2:  # noqa: ASYNC110  (processes have no event)
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    assert len(children()) == 2
    for task in tasks:
        task.cancel()
    assert all(
        isinstance(one, asyncio.CancelledError)
        for one in await asyncio.gather(*tasks, return_exceptions=True)
    )
    assert children() == []
    assert "still" in (await reading.read("a.pdf", b"%PDF-say still")).text


@pytest.mark.skipif(sys.platform != "linux", reason="finds the pipe in /proc")
async def test_a_reader_that_has_finished_but_stays_is_stopped() -> None:
    assert (await refusal("linger")).key == "library.file_locked"
    leaving = asyncio.create_task(guarded().read("a.pdf", b"%PDF-linger"))
    async with asyncio.timeout(60):
        while not children():  # noqa: ASYNC110  (processes have no event)
            await asyncio.sleep(0.02)
    await asyncio.sleep(0.5)
    leaving.cancel()
    with suppress(asyncio.CancelledError, UserError):
        await leaving
    async with asyncio.timeout(60):
        while children():  # noqa: ASYNC110  (nor has their end)
            await asyncio.sleep(0.02)


async def test_a_reader_that_dies_before_reading_a_large_file_costs_one_sentence() -> None:
    with pytest.raises(UserError, match="file_unguarded"):
        await Sandbox(PATIENT, readers={".pdf": "tests.readers.nobody"}).read(
            "a.pdf", b"%PDF-" + b"x" * 5_000_000
        )


async def test_a_very_long_name_with_newlines_is_handled() -> None:
    name = f"../{'n' * 10_000}\n\ud800\r\n.pdf"
    document = await guarded().read(name, b"%PDF-say yes")
    assert document.title.startswith("../nnn")
    assert len(document.title) == TITLE_CHARS
    document.text.encode()
    with pytest.raises(UserError, match="file_pages") as raised:
        await guarded().read(name, b"%PDF-refuse")
    assert raised.value.values["name"] == name


@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9")
@pytest.mark.parametrize("deed", ["hang"])
def test_the_reader_does_not_outlive_the_bot(deed: str) -> None:
    asking = (
        "import asyncio; from bot.readers.sandbox import Sandbox; "
        f"asyncio.run(Sandbox(readers={BADLY!r}).read('a.pdf', b'%PDF-{deed}'))"
    )
    parent = psutil.Popen([sys.executable, "-c", asking], cwd=ROOT, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    try:
        while not (asked := [child for child in parent.children() if child.num_threads() > 1]):
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
    with suppress(psutil.NoSuchProcess):
        asked[0].wait(60)


def test_a_reader_orphaned_while_it_starts_ends() -> None:
    """A short file is already completely in the pipe, so nothing else tells the reader."""
    command = (sys.executable, "-m", "bot.readers.child", BADLY[".pdf"], "0")
    asked = subprocess.run(command, cwd=ROOT, input=b'"a.pdf"\n%PDF-hang', capture_output=True, timeout=60)
    assert asked.returncode == child.ORPHANED


HONEST = {
    "title": "T",
    "text": "# T\n\nwords",
    "language": "",
    "sections": [[1, "T", ["T"], 0, 10, 1]],
    "links": [[0, "T"]],
    "pages": [0],
}


def test_an_honest_document_is_believed() -> None:
    document = frames.decode_document(frames.framed(frames.DOCUMENT, HONEST)[frames.HEAD.size :])
    assert (
        frames.decode_document(
            frames.framed(frames.DOCUMENT, frames.encode_document(document))[frames.HEAD.size :]
        )
        == document
    )


@pytest.mark.parametrize(
    "lie",
    [
        {"text": None},
        {"text": "# T\n\nwo\x00ds"},
        {"title": "\ud800"},
        {"title": 5},
        {"language": []},
        {"sections": []},
        {"sections": None},
        {"sections": [[1, "T", ["T"], 0, 11, 1]]},
        {"sections": [[1, "T", ["T"], -1, 5, 1]]},
        {"sections": [[1, "T", ["T"], 5, 4, 1]]},
        {"sections": [[7, "T", ["T"], 0, 5, 1]]},
        {"sections": [[1, "T", "T", 0.0, 5, 1]]},
        {"sections": [[1, "T", [None], 0, 5, 1]]},
        {"sections": [[1, "T", ["T"], 0, 5, 0]]},
        {"sections": [[1, "T", ["T"], 0, 5, 1, 1]]},
        {"sections": [[1, "T", ["T"], 5, 9, 1], [1, "T", ["T"], 0, 5, 1]]},
        {"links": [[1, "T"]]},
        {"links": [[0]]},
        {"pages": [11]},
        {"pages": [3, 2]},
        {"pages": [True]},
    ],
)
def test_an_impossible_document_is_refused(lie: dict[str, object]) -> None:
    body = frames.framed(frames.DOCUMENT, {**HONEST, **lie})[frames.HEAD.size :]
    with pytest.raises(frames.DECODE_ERRORS):
        frames.decode_document(body)


@pytest.mark.parametrize("body", [b"", b"5", b"[]", b"{}", b"[" * 100_000, b"\xff", b'{"text": "\\ud800"}'])
def test_a_result_that_is_no_document_is_refused(body: bytes) -> None:
    for hearing in (
        frames.decode_document,
        frames.decode_progress,
        lambda body: frames.decode_refusal(body, "a"),
    ):
        with pytest.raises(frames.DECODE_ERRORS):
            hearing(body)


@pytest.mark.parametrize(
    "said",
    [
        {"key": "council.cost", "values": {}},
        {"key": "library.file_bomb", "values": {"pages": ["a"]}},
        {"key": "library.file_bomb", "values": 5},
        {"key": None, "values": {}},
    ],
)
def test_an_invalid_reason_is_not_passed_on(said: dict[str, object]) -> None:
    with pytest.raises(frames.DECODE_ERRORS):
        frames.decode_refusal(frames.framed(frames.SORRY, said)[frames.HEAD.size :], "a")
