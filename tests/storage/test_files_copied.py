"""Backups, moves, sizes and checks of files outside the data folder, on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import cli, doctor
from bot.config import load
from bot.words import words
from storage.copying import STAGING
from tests.fakes import migrated
from tests.fakes.weak_store import CutOnce, WeakStore, emptied, gone, refuses

BOOK, ATTACHED = "originals/one.md", "incoming/run-1/file-0.pdf"


@pytest.fixture
def weak() -> Iterator[type[WeakStore]]:
    yield emptied()
    emptied()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with a book and an attachment."""
    folder = tmp_path / "data"
    migrated.database(folder / "sutradhar.db")
    for name in (BOOK, ATTACHED, "files/shown.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode() * 1000)
    return folder


def settings(data: Path, files: str) -> Path:
    file = data.with_name(f"{data.name}.toml")
    file.write_text(f'[embedding]\nmodel = "none"\n[storage]\nfiles = "{files}"\n', encoding="utf-8")
    return file


def db(data: Path, files: str, *arguments: str) -> int:
    return cli.main(["--config", str(settings(data, files)), "--data", str(data), "db", *arguments])


def kept(weak: type[WeakStore]) -> dict[str, bytes]:
    return {path.removeprefix("/bucket/"): file.getvalue() for path, file in weak.store.items()}


def test_a_backup_of_a_folder_is_restored_into_a_store_and_back(
    data: Path, weak: type[WeakStore], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, again = str(tmp_path / "b.zip"), str(tmp_path / "again.zip")
    assert db(data, "folder", "backup", file) == 0
    there = tmp_path / "there"
    weak.fault = CutOnce()
    assert db(there, "weak://bucket", "restore", file) == 0, capsys.readouterr()
    assert kept(weak) == {name: name.encode() * 1000 for name in (BOOK, ATTACHED)}
    assert not (there / "originals").exists()
    assert (there / "files" / "shown.txt").exists()
    weak.fault = CutOnce()
    assert db(there, "weak://bucket", "backup", again) == 0
    assert "3 files" in capsys.readouterr().out
    back = tmp_path / "back"
    assert db(back, "folder", "restore", again) == 0
    for name in (BOOK, ATTACHED, "files/shown.txt"):
        assert (back / name).read_bytes() == name.encode() * 1000
    assert db(tmp_path / "other", "weak://bucket", "restore", file) == 1
    assert "There is already data here: originals" in capsys.readouterr().err


def test_a_restore_into_a_failing_store_is_retried_and_completes(
    data: Path, weak: type[WeakStore], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, there = str(tmp_path / "b.zip"), tmp_path / "there"
    assert db(data, "folder", "backup", file) == 0

    def after_the_first(operation: str) -> None:
        if operation == "put" and weak.store:
            refuses(operation)

    weak.fault = after_the_first
    assert db(there, "weak://bucket", "restore", file) == 1
    said = capsys.readouterr()
    assert "could not read or write the stored files" in said.err
    assert "Traceback" not in said.err
    assert not (there / "sutradhar.db").exists()
    assert (there / STAGING).exists()
    weak.fault = None
    assert db(there, "weak://bucket", "restore", file) == 0
    assert sorted(kept(weak)) == sorted((BOOK, ATTACHED))


def test_files_are_moved_to_a_store_and_to_a_shared_folder(
    data: Path, weak: type[WeakStore], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert db(data, "folder", "move", "weak://bucket") == 0
    said = capsys.readouterr().out
    assert "Copied 2 files to weak://bucket" in said
    assert 'files = "weak://bucket"' in said
    assert kept(weak) == {name: name.encode() * 1000 for name in (BOOK, ATTACHED)}
    assert (data / BOOK).exists(), "the source is only read"
    assert db(data, "folder", "move", "weak://bucket") == 0
    assert "Copied 0 files" in capsys.readouterr().out, "they are there already"
    mounted = tmp_path / "a folder"
    assert db(data, "weak://bucket", "move", mounted.as_uri()) == 0
    assert (mounted / ATTACHED).read_bytes() == ATTACHED.encode() * 1000
    (data / BOOK).write_bytes(b"another")
    assert db(data, "folder", "move", "weak://bucket") == 1
    assert f"There is already data here: {BOOK}" in capsys.readouterr().err
    assert kept(weak)[BOOK] == BOOK.encode() * 1000


def test_the_size_of_files_in_a_store_is_shown(
    data: Path, weak: type[WeakStore], capfd: pytest.CaptureFixture[str]
) -> None:
    assert db(data, "folder", "move", "weak://bucket") == 0
    capfd.readouterr()
    assert db(data, "weak://bucket", "size", "--json") == 0
    parts = {part["name"]: part for part in json.loads(capfd.readouterr().out)["parts"]}
    assert parts["weak://bucket/originals"]["bytes"] == len(BOOK) * 1000
    assert parts["weak://bucket/incoming"]["rows"] == 1


def test_the_doctor_tries_to_store_a_file(data: Path, weak: type[WeakStore]) -> None:
    def checked() -> list[tuple[bool | None, str]]:
        found = doctor._files(load(settings(data, "weak://bucket"), data, environ={}), words("en"))
        return [(check.well, check.text) for check in found]

    assert checked() == [(True, "Files can be stored in weak://bucket")]
    assert weak.store == {}
    weak.fault = gone
    ((well, text),) = checked()
    assert well is False
    assert "put: connection refused" in text
    assert weak.calls.count("put") == 2, "it is not tried again"
    weak.fault = refuses
    assert "access denied" in checked()[0][1]


def test_the_doctor_names_a_package_that_is_missing(data: Path) -> None:
    found = [*doctor._files(load(settings(data, "sftp://host/folder"), data, environ={}), words("en"))]
    assert [check.well for check in found] == [False]
    assert "python -m pip install paramiko" in found[0].text
