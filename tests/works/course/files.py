"""The courses of the tests, in each kind of file that a course may have."""

from __future__ import annotations

import io
from pathlib import Path
from textwrap import wrap

from docx import Document as Made

from tests.readers.test_pdf_made import made, shown

COURSES = Path(__file__).parent / "courses"
TITLES = {
    "aquarela.txt": "Aquarela para Quem Nunca Pintou",
    "keeping_bees.txt": "Keeping Bees: A First Year",
    "search_engines.txt": "Search Engines from the Inside",
    "sourdough.txt": "Sourdough from Scratch",
}


def text_of(name: str) -> str:
    return (COURSES / name).read_text(encoding="utf-8")


def as_markdown(text: str) -> str:
    """The course with headings in place of the lines."""
    lines = []
    for line in text.split("\n"):
        name, colon, value = line.partition(": ")
        if line.startswith(("Course Title", "Título do curso")):
            lines.append(f"# {line}")
        elif line.startswith(("Lesson ", "Aula ")) and not value.startswith("http"):
            lines.append(f"## {line}")
        elif colon and value.startswith("http"):
            lines.append(f"**{name}:** <{value}>")
        else:
            lines.append(line)
    return "\n".join(lines)


def as_word(text: str, *, headings: bool) -> bytes:
    document = Made()
    for line in text.split("\n"):
        lesson = line.startswith(("Lesson ", "Aula ")) and not line.startswith("Lesson Link")
        if headings and lesson:
            document.add_heading(line, 2)
        elif headings and line.startswith(("Course Title", "Título do curso")):
            document.add_heading(line, 0)
        else:
            document.add_paragraph(line)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def as_pdf(text: str, width: int = 90) -> bytes:
    """A PDF with lines of this many letters, so that addresses are broken, too."""
    pages, contents, y = [], "", 790.0
    for line in text.split("\n"):
        for part in wrap(line, width) or [""]:
            if y < 50:
                pages.append(contents)
                contents, y = "", 790.0
            escaped = part.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
            contents += shown(escaped, 50, y) if part else ""
            y -= 13
    return made(*pages, contents)
