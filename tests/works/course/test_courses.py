"""Courses are added, changed, removed and listed with the library's jobs, apart from its books."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path

import pytest

from bot.events import Attachment, Failed, File
from bot.kind import Typed
from bot.works.course.catalogue import SHELF, Catalogues
from bot.works.course.command_line import evaluate_courses
from storage.passages import Passages
from tests.works.course.desk import course, opened, words_of
from tests.works.course.files import COURSES, TITLES, as_pdf, text_of

KNOTS = "Course Title: Knots\nCourse Link: https://x.org/k\n\nLesson 1: Bowline\nThe rabbit leaves its hole."


async def test_courses_are_listed_with_the_total_and_outlined_with_every_link(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        assert "no course yet" in await desk.said("course", "list")
        answer = await desk.add(*(course(name) for name in TITLES))
        assert "Added 4 courses" in answer
        listed = await desk.said("course", "list")
        assert listed.startswith("4 courses")
        assert all(title in listed for title in TITLES.values())
        assert "6 lessons · Ada Lind" in listed
        outlined = await desk.said("course", "outline", "bees")
        assert outlined.startswith(
            "Keeping Bees: A First Year\nCourse: https://example.org/courses/keeping-bees-a"
        )
        assert "[Lesson 6: Varroa](https://example.org/courses/keeping-bees/lesson/6/varroa)" in outlined
        # One without a link has the course's.
        assert "[Lesson 5: Swarming](https://example.org/courses/keeping-bees-a-first-year" in outlined
        assert "Instrutor: " not in outlined
        missing = await desk.said("course", "outline", "quantum chess")
        assert "no course “quantum chess”. The nearest are: " in missing


async def test_only_lessons_of_a_course_that_exists_are_scheduled(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        daily = {"when": "in 20 hours", "every": "day"}
        assert "no course yet" in await desk.said("schedule", "lesson", "bees", **daily)
        await desk.add(course("keeping_bees.txt"))
        refused = await desk.said("schedule", "lesson", "quantum chess", **daily)
        assert "no course “quantum chess”. The nearest are: Keeping Bees: A First Year" in refused
        assert "0 scheduled here" in await desk.said("schedule", "list")
        assert "then every day" in await desk.said("schedule", "lesson", "bees", **daily)


async def test_courses_are_identified_by_their_title(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.add(desk.file("a.txt", KNOTS))
        other = desk.file("b.md", KNOTS.replace("Knots", "KNOTS!").replace("rabbit", "hare"))
        refused = await desk.add(other)
        assert "there is already a course “KNOTS!”. Replace it with `/course replace`." in refused
        assert await desk.titles() == ["Knots"]
        lesson = (await desk.app.resources.outlines.of_shelf("local", SHELF))[0].lessons[0].id
        assert "Added 1 course" in await desk.add(other, verb="replace")
        (row,) = await desk.app.resources.outlines.of_shelf("local", SHELF)
        assert (row.title, row.source, row.lessons[0].id) == ("KNOTS!", "b.md", lesson)
        assert "1 file was already there" in await desk.add(other, verb="replace")
        # A file's name identifies nothing: another course's file may have the same.
        await desk.add(desk.file("b.md", "Course Title: Ropes\n\nLesson 1: Hemp\nIt rots."))
        assert await desk.titles() == ["KNOTS!", "Ropes"]
        assert "no course “b.md”" in await desk.said(
            "course", "remove", "b.md"
        )  # two came out of such a file
        assert "Removed the course “Ropes”." in await desk.said("course", "remove", "ropes")
        assert await desk.titles() == ["KNOTS!"]
        assert await desk.titles("other") == []


async def test_courses_and_books_are_separate(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.add(desk.file("knots.txt", KNOTS))
        book = desk.file("moles.md", "# Moles\n\n## Digging\n\nA mole leaves its hole at night.")
        await desk.said("library", "add", paths=[book], shelf="courses")
        assert "moles.md" in await desk.said("library", "list")
        assert "knots.txt" not in await desk.said("library", "list")
        answer = await desk.said("rules", "ask", "Who leaves its hole?")
        assert "mole" in answer
        assert "rabbit" not in answer
        assert "no shelf" in (await desk.said("rules", "ask", "Who leaves?", shelf=SHELF)).lower()
        assert await desk.titles() == ["Knots"]
        result = await desk.app.library.search("local", SHELF, "Who leaves its hole?")
        assert {passage.source for passage in result.passages} == {"knots.txt"}


async def test_a_reindex_rebuilds_books_and_courses(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.add(desk.file("knots.txt", KNOTS))
        book = desk.file("book.md", "# Ropes\n\n## Hemp\n\nIt rots.\n\n## Nylon\n\nIt melts.")
        await desk.add(book, book=True)
        before = await desk.app.resources.outlines.of_shelf("local", SHELF)
        assert [(course.title, [lesson.title for lesson in course.lessons]) for course in before] == [
            ("Knots", ["Bowline"]),
            ("Ropes", ["Hemp", "Nylon"]),
        ]
        assert "Indexing 2 books again" in await desk.said("library", "reindex")
        after = await desk.app.resources.outlines.of_shelf("local", SHELF)
        assert [(course.title, course.lessons) for course in after] == [
            (course.title, course.lessons) for course in before
        ]
        assert {course.document_id for course in after}.isdisjoint(course.document_id for course in before)


async def test_windows_overlap_as_in_the_seed_project_and_never_cross_a_lesson(tmp_path: Path) -> None:
    async with opened(
        tmp_path, '[course]\nchunks = "windows"\n[retrieval]\nchild_chars = 400\nparent_chars = 400\n'
    ) as desk:
        await desk.add(course("keeping_bees.txt"))
        (row,) = await desk.app.resources.outlines.of_shelf("local", SHELF)
        rows = await Passages(desk.app.records.database).chunks_of("local", row.document_id)
        assert max(len(row.text) for row in rows) <= 400
        pairs = [(a, b) for a, b in pairwise(rows) if a.section == b.section]
        assert pairs
        assert all(0 < a.end - b.start <= 100 or b.start - a.end in (1, 2) for a, b in pairs)
        assert any(a.end > b.start for a, b in pairs)


async def test_unusable_files_are_named_one_by_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        answer = await desk.add(
            desk.file("empty.txt", ""),
            desk.file("rules.md", "# Rules\n\nGrappling is holding somebody."),
            desk.file("knots.pdf", as_pdf(KNOTS)),
            desk.file("twin.txt", KNOTS),
            desk.file("long.txt", f"Course Title: {'a' * 100_000}\n\nLesson 1: One\nWords."),
        )
        assert "empty.txt: the file is empty" in answer
        assert "rules.md: this is not a course. It has neither a line `Course Title: …`" in answer
        assert "twin.txt: there is already a course “Knots”" in answer
        assert "Not added: 3 of 5 files." in answer
        assert [len(title) for title in await desk.titles()] == [5, 300]
        assert "not have two headings" in await desk.add(
            desk.file("rules2.md", "# Rules\n\nGrapple."), book=True
        )
        assert "Attach the courses" in await desk.said("course", "add")
        assert "Lesson 1: Bowline" in await desk.said("course", "outline", "knots")


async def test_an_outline_of_very_many_lessons_comes_as_a_file(tmp_path: Path) -> None:
    lessons = "\n\n".join(f"Lesson {n}: Part {n}\nWords of part {n}." for n in range(1_200))
    async with opened(tmp_path) as desk:
        await desk.add(desk.file("long.txt", f"Course Title: Long_[ago]\n\n{lessons}"))
        events = await desk.ask("course", "outline", "long")
        assert "1200 lessons" in words_of(events)
        assert "and 1100 more, in the file" in words_of(events)
        (file,) = [event for event in events if isinstance(event, Attachment)]
        assert b"Lesson 1199: Part 1199" in file.data
        listed = await desk.said("course", "list")
        assert r"**Long\_\[ago\]**" in listed


async def test_a_folders_courses_are_added_at_the_start(tmp_path: Path) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    for name in TITLES:
        (folder / name).write_text(text_of(name), encoding="utf-8")
    (folder / "notes.md").write_text("Buy rope.", encoding="utf-8")
    for file in folder.iterdir():
        os.utime(file, (1_700_000_000, 1_700_000_000))  # long ago: nobody is writing it
    settings = '[course]\nfolder = "given"\nspace = "1234"\n'
    async with opened(tmp_path, settings) as desk:
        assert sorted(await desk.titles("1234")) == sorted(TITLES.values())
        assert await desk.titles() == []
    changed = text_of("sourdough.txt").replace("Lesson 5: Baking", "Lesson 5: The Oven")
    (folder / "sourdough.txt").write_text(changed, encoding="utf-8")
    os.utime(folder / "sourdough.txt", (1_700_000_100, 1_700_000_100))
    async with opened(tmp_path, settings) as desk:
        found = await Catalogues(desk.app.resources.outlines, desk.app.resources.shelves).of("1234")
        assert len(found.courses) == 4
        bread = found.titled("sourdough from scratch")
        assert bread is not None
        assert bread.lessons[-1].title == "The Oven"


async def test_an_attachment_is_a_course_on_a_platform(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        path = desk.file("knots.txt", KNOTS)
        events = await desk.ask("course", "add", files=(File("knots.txt", path, len(KNOTS)),))
        assert not any(isinstance(event, Failed) for event in events)
        assert await desk.titles() == ["Knots"]


async def test_names_are_completed(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.add(*(course(name) for name in TITLES))
        complete = desk.app.complete
        assert await complete("course", Typed("local", "so")) == ["Sourdough from Scratch"]
        assert await complete("course", Typed("local", "first")) == ["Keeping Bees: A First Year"]
        assert await complete("lesson", Typed("local", "molhado")) == [
            "3. Molhado sobre molhado",
            "4. Molhado sobre seco",
        ]
        assert await complete("course", Typed("other", "")) == []


async def test_the_search_tool_finds_the_answers_to_questions_on_the_lessons(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.add(*(course(name) for name in TITLES))
        config = desk.app.resources.config
    report = await evaluate_courses(config, "local", COURSES.parent / "questions.jsonl")
    assert report.figures["n"] == 67
    assert report.figures["recall@5"] >= 0.95
    assert report.figures["strangers_answered"] == 0
    file = tmp_path / "narrow.jsonl"
    gold = [{"source": "keeping_bees.txt", "quote": "the old queen leaves with half of the workers"}]
    rows: list[dict[str, object]] = [
        {"query": "old queen", "gold": gold, "course": "bees", "lesson": 5},
        {"query": "old queen", "gold": gold, "course": "bees", "lesson": 6},
        {"query": "old queen", "gold": gold, "course": "jazz piano"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    report = await evaluate_courses(config, "local", file)
    assert {failure.id for failure in report.failures} == {"2", "3"}
    assert report.figures["recall@5"] == pytest.approx(1 / 3)
