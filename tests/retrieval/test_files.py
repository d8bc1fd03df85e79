"""The files that a path stands for, and a reason for each one that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path
from unicodedata import normalize

import pytest

from bot.events import UserError
from bot.retrieval.files import gather, megabytes, passed_over, read_whole

LIMIT = 1_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "books" / "more").mkdir(parents=True)
    (tmp_path / "books" / "b.md").write_text("# B")
    (tmp_path / "books" / "a.txt").write_text("A")
    (tmp_path / "books" / "more" / "c.md").write_text("# C")
    (tmp_path / "books" / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "books" / ".hidden.md").write_text("# H")
    return tmp_path / "books"


def reasons(*paths: Path) -> dict[str, str]:
    return {one.name: one.key for one in gather(map(str, paths), LIMIT)[1]}


def test_a_folder_is_walked_in_order_and_only_readable_kinds_count(folder: Path) -> None:
    taken, refused = gather([str(folder)], LIMIT)
    assert [path.name for path in taken] == ["a.txt", "b.md", "more/c.md"]
    assert refused == []


def test_files_of_other_kinds_in_a_folder_are_counted_by_kind(folder: Path) -> None:
    for name in ("b.png", "more/c.PNG", "more/notes", ".hidden.zip"):
        (folder / name).touch()
    assert passed_over([str(folder), str(folder / "b.md")]) == {".png": 3, "": 1}


def test_a_name_is_the_same_however_its_accents_are_composed(folder: Path) -> None:
    (folder / normalize("NFD", "ação.md")).write_text("# A")
    assert normalize("NFC", "ação.md") in [file.name for file in gather([str(folder)], LIMIT)[0]]


def test_each_bad_file_gets_its_reason(folder: Path) -> None:
    (folder / "empty.md").touch()
    (folder / "large.md").write_text("x" * (LIMIT + 1))
    (folder / "link.md").symlink_to(folder / "b.md")
    assert reasons(folder) == {
        "empty.md": "library.file_empty",
        "large.md": "library.file_large",
        "link.md": "library.file_symlink",
    }


def test_a_named_file_gets_the_reason_why_it_cannot_be_read(folder: Path) -> None:
    assert reasons(folder / "picture.png", folder / "nowhere.md", folder / "https:/example.org/book.pdf") == {
        "book.pdf": "library.file_link",
        "picture.png": "library.file_kind",
        "nowhere.md": "library.file_missing",
    }


def test_an_unprintable_name_is_refused_and_a_deeply_nested_file_is_found(folder: Path) -> None:
    odd = os.fsdecode(os.fsencode(folder) + b"/caf\xe9.md")
    Path(odd).write_text("# Odd")
    assert reasons(folder) == reasons(Path(odd)) == {"caf\ufffd.md": "library.file_name"}
    deep = folder
    for _ in range(1_200):
        deep /= "d"
        deep.mkdir()
    (deep / "e.md").write_text("# E")
    taken, _ = gather([str(folder)], LIMIT)
    (deep / "e.md").unlink()
    os.removedirs(deep)  # deeper than what clears temporary folders can go
    assert len(taken) == 4
    assert taken[2].name.endswith("d/e.md")


def test_a_link_to_a_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(folder)
    assert reasons(tmp_path / "way") == {"way": "library.file_symlink"}


def test_a_file_that_grew_after_it_was_listed_is_refused(folder: Path) -> None:
    (folder / "b.md").write_text("x" * (LIMIT + 1_000_000))
    with pytest.raises(UserError) as caught:
        read_whole(str(folder / "b.md"), LIMIT)
    assert caught.value.key == "library.file_large"
    assert caught.value.values["mb"] == megabytes(LIMIT + 1_000_000), "not what was read of it"


def test_a_file_deleted_meanwhile_is_refused(folder: Path) -> None:
    with pytest.raises(UserError) as caught:
        read_whole(str(folder / "gone.md"), LIMIT)
    assert caught.value.key == "library.file_missing"
