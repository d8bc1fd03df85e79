"""A teacher's folder is one course, and its files in order are the lessons."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from bot.events import UserError
from bot.readers import bundle
from bot.readers.bundle import OPTIONS
from bot.readers.text import read_text
from bot.works.course.catalogue import SHELF
from bot.works.course.course_document import read_course, read_folder
from bot.works.course.moments import at_moment
from storage.document_rows import Outline
from tests.readers.test_pdf_made import body, made
from tests.readers.test_pdf_unread import IMAGE
from tests.works.course.desk import cited, opened

FILES = Path(__file__).parents[2] / "readers" / "files"


def nobody(done: int, total: int) -> None:
    return


def zipped(files: dict[str, str | bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return made.getvalue()


def course(**files: str | bytes) -> tuple[str, Outline]:
    """Title and outline of a folder of these files: in names, "__" is a slash and "_" at the end a dot."""
    named = {name.replace("__", "/"): text for name, text in files.items()}
    document, outline = read_folder("harbour.zip", bundle.read("harbour.zip", zipped(named), nobody))
    return document.title, outline


def lessons(outline: Outline) -> list[tuple[int, str]]:
    return [(lesson.number, lesson.title) for lesson in outline.lessons]


SHAPES: dict[str, tuple[dict[str, str | bytes], str, list[tuple[int, str]]]] = {
    "numbers in names": (
        {"10-storms.md": "# Storms\n\nWind.", "02_tides.txt": "Words of tides.\n",
         "1 boats.rst": "Boats\n=====\n\nWood."},
        "harbour",
        [(1, "Boats"), (2, "Tides"), (10, "Storms")],
    ),
    "weeks in folders": (
        {"week2/01-b.md": "# B\n\nb", "week10/01-c.md": "# C\n\nc", "week1/01-a.md": "# A\n\na", "LICENSE.md": "MIT"},
        "harbour",
        [(1, "A"), (2, "B"), (3, "C")],
    ),
    "front matter": (
        {"b.md": "---\ntitle: Second\nweight: 2\n---\nb",
         "a.md": "---\ntitle: First\nweight: 1\ndraft: false\n---\na",
         "c.md": "---\ndraft: true\n---\nc"},
        "harbour",
        [(1, "First"), (2, "Second")],
    ),
    "a summary": (
        {"SUMMARY.md": "# Summary\n\n* [Start](README.md)\n* [Z](z.md)\n  * [A](sub/a.md#x)\n",
         "README.md": "# Knots\n\nHi.",
         "z.md": "# Zed\n\nz", "sub/a.md": "# Ay\n\na", "other.md": "# Other\n\no"},
        "Knots",
        [(1, "Zed"), (2, "Ay")],
    ),
    "mkdocs": (
        {"mkdocs.yml": "site_name: Sailing\nsite_author: Bea\n"
         "nav:\n  - Home: index.md\n  - Part:\n    - b.md\n    - a.md\n"
         "ext: !!python/name:x.y\n", "docs/index.md": "# Hello\n\nHi.", "docs/a.md": "# Ay\n\na",
         "docs/b.md": "# Bee\n\nb"},
        "Sailing",
        [(1, "Hello"), (2, "Bee"), (3, "Ay")],
    ),
    "a jupyter book": (
        {"_toc.yml": "format: jb-book\nroot: intro\n"
         "parts:\n- caption: One\n  chapters:\n  - file: tides\n  - file: ropes\n",
         "_config.yml": "title: The Sea\nauthor: Ana Lind\n", "intro.md": "# Welcome\n\nHi.",
         "ropes.md": "# Ropes\n\nr",
         "tides.ipynb": (FILES / "nbformat.ipynb").read_bytes()},
        "The Sea",
        [(1, "Welcome"), (2, "Tides in Python"), (3, "Ropes")],
    ),
    "links of a readme": (
        {"README.md": "---\ninstructor: Ana\nlink: https://x.org/c\n---\n"
         "# Ropes\n\n1. [Two](two.md)\n2. [One](one.md)\n",
         "one.md": "# Lesson 7: One\n\nChapter 1: no lesson\n", "two.md": "# Two\n\n## Inner\n\nt", "three.vtt":
         "WEBVTT\n\n00:01.000 --> 00:02.000\nHi.\n"},
        "Ropes",
        [(1, "Two"), (2, "One"), (3, "Three")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_a_folder_is_one_course_in_its_authors_order(shape: str) -> None:
    files, title, expected = SHAPES[shape]
    found, outline = course(**files)
    assert (found, lessons(outline)) == (title, expected)


def test_lessons_have_their_links_and_what_cannot_be_read_is_named() -> None:
    files: dict[str, str | bytes] = {
        "1.md": "---\ntitle: Tides\nvideo: https://youtu.be/abc\n---\n## High\n\nIt rises.",
        "2.pdf": b"%PDF-1.7\nnothing",
        OPTIONS: json.dumps({"title": "Sea", "instructor": "Bea", "link": "https://x.org"}),
        "3.md": "# Ebb\n\nIt falls.",
        "4.pdf": made(body(1), IMAGE, body(2), title="Lamps"),
    }
    document = bundle.read("a.zip", zipped(files), nobody)
    assert document.unread == (
        ("file", {"file": "2.pdf"}),
        ("pictures", {"n": 1, "total": 3, "name": "4.pdf"}),
    )
    shaped, outline = read_folder("a.zip", document)
    assert (shaped.title, outline.link, outline.instructor) == ("Sea", "https://x.org", "Bea")
    assert [(lesson.number, lesson.title, lesson.link) for lesson in outline.lessons] == [
        (1, "Tides", "https://youtu.be/abc"),
        (3, "Ebb", ""),
        (4, "Lamps", ""),
    ]
    assert ("Sea", "1. Tides", "High") in [section.path for section in shaped.sections]


def test_a_lessons_title_appears_once() -> None:
    files: dict[str, str | bytes] = {
        "Aula 1 - O solo.md": "# Aula 1: O solo\n\nUm.\n\n## Húmus\n\nEscuro.",
        "Aula 2 - O mar.md": "# Aula 2: O mar\n\n## O mar e o sal\n\nSal.",
        "Aula 3 - O rio.txt": "Aula 3: O rio\n=============\n\nDoce.",
    }
    shaped, outline = read_folder("sea.zip", bundle.read("sea.zip", zipped(files), nobody))
    assert lessons(outline) == [(1, "O solo"), (2, "O mar"), (3, "O rio")]
    assert [section.path for section in shaped.sections] == [
        ("sea", "1. O solo"),
        ("sea", "1. O solo", "Húmus"),
        ("sea", "2. O mar"),
        ("sea", "2. O mar", "O mar e o sal"),
        ("sea", "3. O rio"),
    ]
    texts = [shaped.text[section.start : section.end].strip() for section in shaped.sections]
    assert (texts[0], texts[2], texts[4]) == ("Um.", "", "Doce.")


def test_lessons_may_be_called_by_any_usual_word_for_a_unit() -> None:
    for word in ("Week", "Unit", "Module", "Lecture", "Chapter", "Semana", "Unidade", "Módulo", "Capítulo"):
        text = (
            f"# Sea\n\n## {word} 1: Tides\n\nRise.\n\n### Lab 1: x\n\n## {word} 2: Ropes\n\nSession 9: no.\n"
        )
        document = bundle.read("a.zip", zipped({"a.md": text}), nobody)
        assert lessons(read_course("a.md", document)[1]) == [(1, "Tides"), (2, "Ropes")], word
    told = "Course Title: T\n\nLesson 1: A\nChapter 1: inner\nx\n\nChapter 2: inner\n\nLesson 2: B\ny"
    document = bundle.read("a.zip", zipped({"a.txt": told}), nobody)
    assert lessons(read_folder("a.zip", document)[1]) == [(1, "A"), (2, "B")]
    talk = bundle.read("talk.zip", zipped({"talk.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\nHi.\n"}), nobody)
    assert lessons(read_folder("talk.zip", talk)[1]) == [(1, "talk")]


def test_a_single_transcript_with_times_is_a_course_of_one_lesson() -> None:
    told = "[00:01] The rabbit leaves its hole.\n[00:09] It goes round the tree.\n"
    assert lessons(read_course("bowline.txt", read_text("bowline.txt", told))[1]) == [(1, "bowline")]
    with pytest.raises(UserError):
        read_course("bowline.txt", read_text("bowline.txt", f"We met.\n\nAt last.\n\nThen:\n\n{told}"))


def test_units_with_different_names_all_become_lessons() -> None:
    told = "Curso: Nós do mar\n\nMódulo 1: Reto\nDireita sobre esquerda.\n\nCapítulo 2: Lais\nO coelho.\n"
    assert lessons(read_course("a.txt", read_text("a.txt", told))[1]) == [(1, "Reto"), (2, "Lais")]


def test_citations_of_a_video_start_at_the_right_second() -> None:
    text = "[0:05] The sea rises.\n\n[1:02:03] It falls again.\n\n**Ana** 1:02:30 no time"
    for link, expected in (
        ("https://www.youtube.com/watch?v=abc&t=9", "https://www.youtube.com/watch?v=abc&t=3723"),
        ("https://youtu.be/abc", "https://youtu.be/abc?t=3723"),
        ("https://www.youtube.com/embed/abc", "https://www.youtube.com/embed/abc?start=3723"),
        ("https://vimeo.com/1234", "https://vimeo.com/1234#t=3723s"),
        ("https://x.org/a.mp4", "https://x.org/a.mp4#t=3723"),
        ("https://x.org/lesson", "https://x.org/lesson"),
        ("", ""),
    ):
        assert at_moment(link, text, "It  falls again.") == expected
    assert at_moment("https://youtu.be/a", text, "[0:05] The sea") == "https://youtu.be/a?t=5"
    assert at_moment("https://youtu.be/a", "no times", "no") == "https://youtu.be/a"
    assert at_moment("https://youtu.be/a", "before. \n\n[0:05] after", "before.") == "https://youtu.be/a"
    headed = "# Spring tides\n\n[00:12] At new moon the tides are highest."  # as a passage begins
    assert at_moment("https://youtu.be/a", headed, headed) == "https://youtu.be/a?t=12"


def test_a_zip_is_read_below_its_outermost_folder() -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in ("tides/week 1/", "tides/.git/a.md", "__MACOSX/tides/._1.md", "tides/week 1/.hidden.md"):
            archive.writestr(name, "" if name.endswith("/") else "# Nothing\n\nx")
        archive.writestr("tides\\week 1\\1-ebb.md", "It falls.")
        # As macOS writes it: UTF-8, without saying so, accents apart.
        archive.writestr("tides/week 2/2-Mare\u0301.md".encode().decode("cp437"), "It rises.")
        for name in ("../3.md", "tides/../../etc/4.md", "/etc/5.md", "C:\\6.md"):
            archive.writestr(name, "# Harm\n\nx")
    document = bundle.read("tides.zip", made.getvalue(), nobody)
    assert lessons(read_folder("tides.zip", document)[1]) == [(1, "Ebb"), (2, "Maré")]
    assert [values["file"] for _, values in document.unread] == [
        "../3.md",
        "tides/../../etc/4.md",
        "/etc/5.md",
        "C:/6.md",
    ]
    assert "Harm" not in document.text


async def test_a_zips_course_is_named_without_the_suffix(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "tides/1.md": "# Ebb\n\nThe water falls.",
        "tides/2.pdf": b"%PDF-1.7\nnothing",
        "tides/3.md": "# Ropes\n\nHemp rots.",
    }
    async with opened(tmp_path) as desk:
        path = desk.file("tides.zip", zipped(files))
        said = await desk.add(path)
        assert "Added 1 course" in said
        assert "tides: I could not read 2.pdf" in said
        (citation,) = cited(await desk.ask("course", "ask", "When does the water fall?"))
        assert (citation.source, citation.heading) == ("tides", "1. Ebb")
        assert "Added 1 course" in await desk.add(path, title="Ropes", instructor="Bea")
        assert await desk.titles() == ["Ropes", "tides"]
        assert "Indexing 2 books again" in await desk.said("library", "reindex")
        assert await desk.titles() == ["Ropes", "tides"]
        bomb = desk.file("bomb.zip", zipped({f"{n}.md": b" " * 60_000_000 for n in range(4)}))
        assert "Not added: 1 of 1 file" in await desk.add(bomb)
        for name, title in (("broken.zip", ""), ("broken.zip", "T")):
            broken = desk.file(name, b"PK\x03\x04 nothing")
            assert "broken: the file is damaged" in await desk.add(
                broken, **({"title": title} if title else {})
            )
        assert "I can't read this kind of file" in await desk.said("library", "add", paths=[path])


async def test_a_folder_is_added_reindexed_and_replaced_as_one(tmp_path: Path) -> None:
    folder = tmp_path / "ropes"
    (folder / "week 2").mkdir(parents=True)
    (folder / "1-hemp.md").write_text("# Hemp\n\nIt rots in water.", "utf-8")
    (folder / "week 2" / "2-nylon.md").write_text("# Nylon\n\nIt melts.", "utf-8")
    async with opened(tmp_path) as desk:
        assert "Added 1 course" in await desk.add(str(folder))
        assert "1 file was already there" in await desk.add(str(folder))
        (row,) = await desk.app.resources.outlines.of_shelf("local", SHELF)
        assert (row.title, [lesson.title for lesson in row.lessons]) == ("ropes", ["Hemp", "Nylon"])
        assert "Indexing 1 book again" in await desk.said("library", "reindex")
        (row,) = await desk.app.resources.outlines.of_shelf("local", SHELF)
        assert [lesson.title for lesson in row.lessons] == ["Hemp", "Nylon"]
        assert "Added 1 course" in await desk.add(
            str(folder), title="Ropes and Knots", instructor="Bea", book=True
        )
        assert await desk.titles() == ["Ropes and Knots", "ropes"]
        (folder / "mkdocs.yml").write_text("site_name: Hitches\n", "utf-8")
        (folder / "deck.key").write_bytes(b"x")
        answer = await desk.add(str(folder))
        assert "Added 1 course" in answer
        assert "Left out 1 file of kinds that I can't read: 1 .key." in answer
        two = [desk.file("a.txt", "Words of a talk."), desk.file("b.txt", "More of them.")]
        assert "Added 1 course" in await desk.add(*two, title="Talks")
        assert "names one course" in await desk.add(str(folder), *two, title="Talks")
        (folder / "3.md").write_text("Course Title: Bends\n\nLesson 1: Sheet\nIt holds.", "utf-8")
        answer = await desk.add(str(folder))  # now it is a folder of courses
        assert "Added 1 course" in answer
        assert "Bends" in answer
        assert "Not added: 2 of 3 files" in answer
