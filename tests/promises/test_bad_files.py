"""Unusable files are named, each with a sentence, and all other files are added."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest

from bot.events import UserError
from bot.readers import read
from bot.readers.kinds import SUFFIXES
from bot.retrieval.files import gather, read_whole
from tests.promises.talk import bot, heard, of, sentence, settings, status, talking, texts
from tests.readers import hostile

NO_VECTORS = '[embedding]\nmodel = "none"\n'

EMPTY = "{name}: the file is empty. Check that it is the right one."
BINARY = (
    "{name}: despite its name, this is neither text nor a document that I can read. "
    "Save it as text or Markdown and add it again."
)
PICTURE = (
    "{name}: this is a picture without text that I could search. "
    "Run text recognition (OCR) on it and add the result."
)
ENCODING = "{name}: I can't detect its text encoding. Save it as UTF-8 and add it again."


def text(name: str) -> str:
    return f"# {name}\n\n## A heading\n\nThe keeper of {name} counts the lanterns each night.\n"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(NO_VECTORS, encoding="utf-8")
    return file


def seven(folder: Path) -> dict[str, str]:
    """Seven broken files, and the sentence for each."""
    said = {}

    def broken(name: str, sentence: str, data: bytes) -> None:
        (folder / name).write_bytes(data)
        said[name] = sentence.format(name=name)

    broken("a-empty.md", EMPTY, b"")
    broken("b-blank.txt", EMPTY, b"\n \t\r\n\n")
    broken("c-picture.md", PICTURE, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    broken("d-nuls.txt", BINARY, b"words and\x00 more words\n" * 10)
    broken("e-halves.txt", ENCODING, b"\xff\xfe" + b"a\x00\x00\xd8" * 30)  # each has half of a surrogate pair
    (folder / "f-link.md").symlink_to(folder / "book-001.md")
    said["f-link.md"] = "f-link.md: this is a symbolic link. Add the file it points to."
    os.mkfifo(folder / "g-pipe.md")
    said["g-pipe.md"] = "g-pipe.md: this is not an ordinary file. Name the file itself."
    return said


def children_s() -> float:
    """The processor time of ended child processes, which does not depend on how busy the machine is."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.slow
def test_a_folder_of_500_files_is_added_except_for_7_broken_ones(tmp_path: Path, plain: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for n in range(493):
        (folder / f"book-{n:03}.md").write_text(text(f"book {n}"), encoding="utf-8")
    said = seven(folder)
    began = children_s()
    done = bot(
        "library", "add", str(folder), "--shelf", "rules", "--json", data=tmp_path / "data", config=plain
    )
    took = children_s() - began
    events = heard(done)
    assert done.returncode == 1
    assert status(events) == "failed"
    assert sorted(notice["text"] for notice in of(events, "notice")) == sorted(said.values())
    assert "493" in texts(events)
    assert texts(events, "failed").startswith("Not added: 7 of 500")
    assert took < 20
    listed = heard(bot("library", "list", "--json", data=tmp_path / "data", config=plain))
    assert sum(".md" in line for line in texts(listed).splitlines()) == 493


async def test_an_unusable_file_that_is_named_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dice.mp4").write_bytes(b"PK")
    wanted = {
        "dice.mp4": f"dice.mp4: I can't read this kind of file. I read {', '.join(SUFFIXES)}.",
        "gone.md": "gone.md: this file does not exist. Check the path.",
    }
    for name in ("large.txt", "large.pdf"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(200_000_000)  # a sparse file, which has only a length
        wanted[name] = f"{name}: 200 MB is more than the limit of 20 MB ([library] max_mb in config.toml)."
    async with talking(settings(tmp_path / "data")) as talk:
        for name, said in wanted.items():
            events = await talk.say(f"/library add {tmp_path / name} --shelf rules")
            assert status(events) == "failed"
            assert texts(events, "notice") == said


async def test_unusable_documents_do_not_prevent_others_from_being_added(tmp_path: Path) -> None:
    folder = tmp_path / "books"
    folder.mkdir()
    real = Path(__file__).parents[1] / "readers" / "files"
    whole = (real / "pandoc.docx").read_bytes()
    files = {
        "a.pdf": (b"", "the file is empty. Check that it is the right one."),
        "b.pdf": (
            whole,
            "despite its name, its contents are Word. Give it a name that ends in .docx and add it again.",
        ),
        "c.docx": (
            whole[:5_000],
            "the file is damaged or incomplete. Download or save it again, then add it again.",
        ),
        "d.epub": (
            hostile.epub(b" " * 11_000_000),
            "unpacked, it would need far more space than a document does, so I don't open it.",
        ),
        "e.pdf": (
            (real / "libreoffice-locked.pdf").read_bytes(),
            "this file has a password. Save a copy without one and add that.",
        ),
        "f.pdf": (
            (real / "pillow-scanned.pdf").read_bytes(),
            "its pages are scans without text. `/library add` with the option `ocr` "
            "recognizes the text; or run text recognition (OCR) on the file and add the result.",
        ),
        "g.html": (
            b"<html><script>let words = 0</script></html>",
            "I found no text in it. It is probably a scan: run text recognition (OCR) first.",
        ),
        "h.docx": (
            b"MZ" + bytes(500),
            "the file is damaged or incomplete. Download or save it again, then add it again.",
        ),
    }
    for name, (data, _) in files.items():
        (folder / name).write_bytes(data)
    (folder / "z.docx").write_bytes(whole)
    (folder / "new\nline.epub").write_bytes((real / "pandoc.epub3.epub").read_bytes())
    async with talking(settings(tmp_path / "data")) as talk:
        events = await talk.say(f"/library add {folder} --shelf rules")
        assert status(events) == "failed"
        sentences = sorted(notice["text"] for notice in of(events, "notice"))
        assert sentences == [f"{name}: {sentence}" for name, (_, sentence) in sorted(files.items())]
        listed = texts(await talk.say("/library list"))
        assert "z.docx" in listed
        assert "line.epub" in listed
    assert len(list((tmp_path / "data" / "originals").iterdir())) == 2


async def test_common_encodings_are_read_and_invalid_bytes_harm_nothing_else(tmp_path: Path) -> None:
    line = "A condição agarrado reduz o deslocamento a zero, até que o agarrão termine. "
    for name, data in {
        "cp1252.txt": (line * 5).encode("cp1252"),
        "utf16.txt": (line * 5).encode("utf-16"),
        "utf16-bare.txt": (line * 5).encode("utf-16-le"),
        "utf8-mark.txt": (line * 5).encode("utf-8-sig"),
        "cut.txt": (line * 5).encode()[:-1] + b"\xc3",
    }.items():
        (tmp_path / name).write_bytes(data)
        document = read(name, data)
        assert "condição agarrado reduz" in document.text
    files = " ".join(str(path) for path in sorted(tmp_path.glob("*.txt")))  # noqa: ASYNC240
    async with talking(settings(tmp_path / "data")) as talk:
        assert status(await talk.say(f"/library add {files} --shelf regras")) == "done"
        listed = texts(await talk.say("/library list"))
        assert all(name in listed for name in ("cp1252.txt", "utf16.txt", "utf16-bare.txt", "cut.txt"))


def test_no_reader_returns_a_nul() -> None:
    # Postgres refuses NULs, and SQLite's substr stops at them.
    whole = "# T\n\n## H\n\nfirst \x00 second\n" * 3
    for encoding in ("utf-8", "utf-16", "utf-16-le", "utf-8-sig", "utf-32", "cp1252"):
        for name in ("a.md", "a.txt"):
            try:
                document = read(name, whole.encode(encoding))
            except UserError as error:
                assert error.key == "library.file_binary"  # noqa: PT017  (either is right)
            else:
                assert "\x00" not in document.text


async def test_an_unreadable_file_or_folder_is_refused(tmp_path: Path) -> None:
    # Permissions do not stop the superuser; a link to itself stops everybody.
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    taken, refused = gather([str(loop / "book.md")], 1_000)
    assert not taken
    assert [one.key for one in refused] == ["library.file_unreadable"]
    with pytest.raises(UserError, match="file_unreadable"):
        read_whole(str(tmp_path), 1_000)
    if os.geteuid():
        closed = tmp_path / "closed.md"
        closed.write_text(text("closed"))
        closed.chmod(0)
        async with talking(settings(tmp_path / "data")) as talk:
            events = await talk.say(f"/library add {closed} --shelf rules")
            assert texts(events, "notice") == "closed.md: I am not allowed to read it."


async def test_a_file_that_changes_between_the_check_and_the_reading_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "book.md"
    file.write_text(text("book"))
    taken, _ = gather([str(file)], 1_000)
    file.write_bytes(b"x" * 2_000)
    with pytest.raises(UserError, match="file_large"):
        read_whole(taken[0].path, 1_000)
    file.unlink()
    with pytest.raises(UserError, match="file_missing"):
        read_whole(taken[0].path, 1_000)
    # The bot must not wait for a file that became a pipe.
    os.mkfifo(file)
    with pytest.raises(UserError, match="file_"):
        read_whole(taken[0].path, 1_000)
    # The bot must not follow a file that became a link.
    file.unlink()
    secret = tmp_path / "secret.md"
    secret.write_text("not for the library")
    file.symlink_to(secret)
    with pytest.raises(UserError, match="file_"):
        read_whole(taken[0].path, 1_000)


async def test_an_unchanged_file_is_recognised_and_a_changed_one_needs_replace(tmp_path: Path) -> None:
    file = tmp_path / "book.md"
    file.write_text(text("first"))
    copy = tmp_path / "copy.md"
    copy.write_text(text("first"))
    add = f"/library add {file} --shelf rules"
    async with talking(settings(tmp_path / "data")) as talk:
        assert status(await talk.say(add)) == "done"
        again = await talk.say(f"{add} ")
        assert status(again) == "done"
        assert "already" in texts(again)
        assert status(await talk.say(f"/library add {copy} --shelf rules")) == "done"
        assert texts(await talk.say("/library list")).count(".md") == 1
        file.write_text(text("second"))
        refused = await talk.say(add)
        assert status(refused) == "failed"
        assert "book.md" in texts(refused, "notice")
        assert "`replace`" in texts(refused, "notice")
        assert "first" in texts(await talk.say("/rules lookup A heading"))
        assert status(await talk.say(f"{add} --replace")) == "done"
        assert "second" in texts(await talk.say("/rules lookup A heading"))
        assert texts(await talk.say("/library list")).count(".md") == 1


async def test_paths_with_spaces_and_accents_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "Minhas regras (cópia)"
    folder.mkdir()
    book = folder / "Capítulo um — água & 'fogo'.md"
    book.write_text(text("Água"), encoding="utf-8")
    async with talking(settings(tmp_path / "data")) as talk:
        assert status(await talk.say(f'/library add "{book}" --shelf regras')) == "done"
        assert book.name in texts(await talk.say("/library list"))
        assert status(await talk.say(f'/library remove "{book.name}" --shelf regras')) == "done"
        assert status(await talk.say(f'/library add "{folder}" --shelf regras')) == "done"


async def test_an_invalid_shelf_or_path_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    async with talking(settings(tmp_path / "data")) as talk:
        assert sentence(await talk.say(f"/library add {tmp_path / 'nothing'} --shelf rules"))
        assert sentence(await talk.say(f"/library add {tmp_path / 'nothing'} --shelf {'x' * 65}"))
        assert sentence(await talk.say("/library add a\x00b.md --shelf rules"))
        assert status(await talk.say("/library jobs")) == "done"
        assert json.dumps(talk.events)
