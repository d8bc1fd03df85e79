"""The parser of courses reads each kind of file, whatever its author has left out."""

from __future__ import annotations

import time

import pytest

from bot.events import UserError
from bot.readers.document import Document
from bot.readers.sandbox import Sandbox
from bot.readers.text import read_markdown, read_text
from bot.retrieval.titles import normal
from bot.works.course.course_document import read_book, read_course
from bot.works.course.course_fields import address
from bot.works.course.outline import lesson_id
from storage.document_rows import Outline
from tests.works.course.files import TITLES, as_markdown, as_pdf, as_word, text_of

Catalogued = tuple[str, str, str, list[tuple[int, str, str]]]


def catalogued(name: str, document: Document) -> Catalogued:
    read, outline = read_course(name, document)
    return read.title, outline.link, outline.instructor, lessons(outline)


def lessons(outline: Outline) -> list[tuple[int, str, str]]:
    return [(lesson.number, lesson.title, lesson.link) for lesson in outline.lessons]


def bodies(document: Document) -> list[str]:
    """The text of each lesson, letters and digits only."""
    read, outline = read_course("course", document)
    spans = [
        (read.sections[lesson.first].start, read.sections[lesson.past - 1].end) for lesson in outline.lessons
    ]
    return [normal(read.text[start:end]).replace(" ", "") for start, end in spans]


def course(text: str, name: str = "some_course.txt") -> Catalogued:
    return catalogued(name, read_text(name, text))


@pytest.mark.parametrize(
    "name",
    [
        "keeping_bees.txt",
        *(pytest.param(title, marks=pytest.mark.slow) for title in TITLES if "bees" not in title),
    ],
)
async def test_every_kind_of_file_gives_the_same_course(name: str) -> None:
    text, reading = text_of(name), Sandbox()
    plain = await reading.read("a.txt", text.encode())
    expected, words = catalogued("a.txt", plain), bodies(plain)
    assert expected[0] == TITLES[name]
    assert all(expected[1:3])
    assert len(expected[3]) in (5, 6, 7)
    files = {
        "windows.txt": text.replace("\n", "\r\n").encode(),
        "lines.md": text.encode(),
        "headings.md": as_markdown(text).encode(),
        "lines.docx": as_word(text, headings=False),
        "headings.docx": as_word(text, headings=True),
        "wide.pdf": as_pdf(text, 95),
        "narrow.pdf": as_pdf(text, 70),
    }
    for file, data in files.items():
        document = await reading.read(file, data)
        assert catalogued(file, document) == expected, file
        assert bodies(document) == words, file


def test_missing_parts_are_empty_and_numbers_are_the_authors() -> None:
    text = "Course Title: Knots\n\nLesson 3: Bowline\nUp the hole.\n\nLesson 3: Again\nRound.\n\nLesson 12\nBack."
    title, link, instructor, found = course(text)
    assert (title, link, instructor) == ("Knots", "", "")
    assert found == [(3, "Bowline", ""), (3, "Again", ""), (12, "", "")]
    _, outline = read_course("a.txt", read_text("a.txt", text))
    assert [lesson.id for lesson in outline.lessons] == [
        lesson_id("knots", 3, 0), lesson_id("Knots", 3, 1), lesson_id("Knots!", 12, 0),
    ]  # fmt: skip


def test_text_before_the_first_lesson_belongs_to_the_course() -> None:
    text = (
        "Course Title: Knots\nCourse Link: www.example.org/knots.\n\nBring a rope.\n\nLesson 1: Bowline\nUp."
    )
    read, outline = read_course("a.txt", read_text("a.txt", text))
    before, lesson = read.sections
    assert read.text[before.start : before.end].strip() == "Bring a rope."
    assert (before.path, lesson.path) == (("Knots",), ("Knots", "1. Bowline"))
    assert (outline.link, outline.lessons[0].first) == ("https://www.example.org/knots", 1)


def test_a_course_may_have_no_lessons_at_all() -> None:
    assert course("Course Title: Knots\nCourse Instructor: Mo\n\nBring a rope.") == ("Knots", "", "Mo", [])


def test_portuguese_field_names_work_too() -> None:
    text = "Curso: Nós\nProfessora: Ana\nLink do curso: https://x.org/n\n\nLição 1 – O laço\nURL: https://x.org/1\nPasse."
    assert course(text) == ("Nós", "https://x.org/n", "Ana", [(1, "O laço", "https://x.org/1")])


def test_headings_count_as_lesson_lines() -> None:
    text = "# Knots\n\n## Lesson 0 - Rope\n\nBuy it.\n\n### Colours\n\nRed.\n\n## Lesson 1. Bowline\n\nUp."
    read, outline = read_course("a.md", read_markdown("a.md", text))
    assert (read.title, lessons(outline)) == ("Knots", [(0, "Rope", ""), (1, "Bowline", "")])
    assert [section.path for section in read.sections] == [
        ("Knots",), ("Knots", "0. Rope"), ("Knots", "0. Rope", "Colours"), ("Knots", "1. Bowline"),
    ]  # fmt: skip
    assert [(lesson.first, lesson.past) for lesson in outline.lessons] == [(1, 3), (3, 4)]
    text = "Course Title: Knots\n\n## 2. Rope\n\nBuy it.\n\n## 4. Bowline\n\nUp."
    assert catalogued("a.md", read_markdown("a.md", text))[3] == [(2, "Rope", ""), (4, "Bowline", "")]


@pytest.mark.parametrize(
    "text",
    [
        "- **Course Title:** Knots\n- **Course Link:** <https://x.org/k>\n\n**Lesson 1: Bowline**\n"
        "[Lesson Link](https://x.org/1)\nUp.",
        "# Course Title: Knots\n[Course Link](https://x.org/k)\n\n### Lesson 1 – Bowline\n\n*Lesson Link*: https://x.org/1.\n\nUp.",
        "Course Title: Knots\nCourse URL: https://x.org/k\nLESSON 1. Bowline\nlink: https://x.org/1\nUp.",
    ],
)
def test_markup_around_the_lines_is_ignored(text: str) -> None:
    courses = catalogued("a.md", read_markdown("a.md", text))
    assert courses == ("Knots", "https://x.org/k", "", [(1, "Bowline", "https://x.org/1")])


def test_a_sentence_that_begins_with_the_word_lesson_is_no_lesson() -> None:
    text = (
        "Course Title: Knots\n\nLesson 1: Bowline\nWe tie it as we have heard in\n"
        "Lesson 2: the rabbit comes up through the hole, goes round the tree and back again,\nand so on."
    )
    assert course(text)[3] == [(1, "Bowline", "")]


@pytest.mark.parametrize(
    "text", ["Grappling\n\nA grappled creature has speed 0.", "x", "# Rules\n\n## One\n\n## Two"]
)
def test_a_file_without_a_course_is_reported_as_none(text: str) -> None:
    with pytest.raises(UserError) as error:
        read_course("rules.md", read_markdown("rules.md", text))
    assert error.value.key == "course.no_course"


def test_the_headings_of_an_ordinary_book_become_lessons() -> None:
    text = "# Knots\n\nOf.\n\n## Rope\n\nBuy.\n\n### Red\n\nYes.\n\n> ### Aside\n> Blue.\n\nMore.\n\n## Bowline\n\nUp."
    read, outline = read_book("a.md", read_markdown("a.md", text))
    assert read.title == "Knots"
    assert [(lesson.number, lesson.title) for lesson in outline.lessons][:1] == [(1, "Rope")]
    assert [lesson.title for lesson in outline.lessons][-1] == "Bowline"
    with pytest.raises(UserError) as error:
        read_book("a.txt", read_text("a.txt", "No heading at all."))
    assert error.value.key == "course.no_headings"


def test_five_thousand_lessons_and_a_title_without_end_are_read_in_linear_time() -> None:
    parts = "\n\n".join(
        f"Lesson {n % 4_000}: Part {n}\nLesson Link: https://x.org/{n}\nWords." for n in range(5_000)
    )
    began = time.process_time()
    read, outline = read_course("a.txt", read_text("a.txt", f"Course Title: {'long ' * 20_000}\n\n{parts}"))
    assert time.process_time() - began < 10
    assert len(read.title) <= 300
    assert len(outline.lessons) == len({lesson.id for lesson in outline.lessons}) == 5_000


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[the page](https://x.org/a_(b))", "https://x.org/a_(b)"),
        ("<https://x.org/a>", "https://x.org/a"),
        ("(https://x.org/a_(b))", "https://x.org/a_(b)"),
        (r"https://x.org/a\_b.", "https://x.org/a_b"),
        ("javascript:alert(1)", ""),
        ("n/a", ""),
        ("https://x.org/" + "a" * 3_000, ""),
    ],
)
def test_an_address_is_extracted_from_the_text_around_it(text: str, found: str) -> None:
    assert address(text) == found
