"""Plain text: a title if there is one, and headings only where they are plain."""

from __future__ import annotations

from bot.readers import read


def test_a_separate_first_line_is_the_title() -> None:
    assert read("0009_Al_.txt", "Alû\n\nAlû is a vengeful spirit.\n".encode()).title == "Alû"


def test_a_text_without_a_title_is_named_after_its_file() -> None:
    assert read("my_notes.txt", b"It begins at once, and goes on.\n\nMore.\n").title == "my notes"


def test_chapter_lines_and_lines_in_capitals_are_headings() -> None:
    text = "Chapter 1: Dawn\n\nThe sun rose.\n\nTHE LONG ROAD\n\nThey walked.\n\nCapítulo II\n\nFim.\n"
    document = read("story.txt", ("My Story\n\n" + text).encode())
    assert [section.title for section in document.sections if section.title] == [
        "Chapter 1: Dawn",
        "THE LONG ROAD",
        "Capítulo II",
    ]


def test_a_sentence_about_a_chapter_is_no_heading() -> None:
    document = read("a.txt", b"Notes\n\nChapter 3 was long.\n\nI LIKED IT!\n\nNASA\n")
    assert [section.title for section in document.sections if section.title] == ["NASA"]


def test_the_language_of_a_text_is_recognised() -> None:
    assert (
        read("a.txt", "O curso de computação é oferecido em Campo Grande aos alunos.\n".encode()).language
        == "pt"
    )
    assert read("a.txt", b"The course is offered to students in the morning.\n").language == "en"
