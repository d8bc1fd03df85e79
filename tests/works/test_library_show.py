"""A book is shown: its contents, its sections as a tree, the first page of a PDF."""

from __future__ import annotations

import struct
from pathlib import Path

from bot.events import Attachment, Picture, Text
from tests.readers.test_pdf_made import made, shown
from tests.works.course.desk import Desk, opened, words_of

PAGES = [
    shown("Tides", 60, 700, 24)
    + shown("The water turns twice a day, at the pier and in the harbour.", 60, 640),
    shown("Moons", 60, 700, 24)
    + shown("There are two moons, and both of them are said to be hollow.", 60, 640),
]


async def test_a_pdf_is_shown_with_its_pages_sections_and_first_page(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.said("library", "add", paths=[desk.file("sea.pdf", made(*PAGES))], shelf="rules")
        events = await desk.ask("library", "show", "sea.pdf")
        told = words_of(events)
        assert "2 pages" in told
        assert "on “rules”" in told
        assert "- Tides · p. 1\n- Moons · p. 2" in told
        (picture,) = [event for event in events if isinstance(event, Picture)]
        assert picture.png.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", picture.png[16:24])
        assert max(width, height) == 900
        assert len(set(picture.png)) > 2  # something is drawn


async def test_a_long_book_shows_its_upper_headings_and_the_file_all(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        chapters = "\n".join(
            f"# Chapter {n}\n\nWords.\n\n" + "\n".join(f"## Part {n}.{m}\n\nWords.\n" for m in range(20))
            for n in range(1, 9)
        )
        await desk.said("library", "add", paths=[desk.file("long.md", chapters)], shelf="rules")
        events = await desk.ask("library", "show", "long", shelf="rules")
        told = "".join(event.text for event in events if isinstance(event, Text))
        assert told.count("\n- Chapter") == 8
        assert "Part" not in told
        (file,) = [event for event in events if isinstance(event, Attachment)]
        assert file.data.decode().count("  - Part") == 160
        await refused(desk)


async def refused(desk: Desk) -> None:
    assert "There is no book “nothing”. `/library list` shows" in await desk.said(
        "library", "show", "nothing"
    )
    assert "no book “long” on “maps”" in await desk.said("library", "show", "long", shelf="maps")
    assert "no book “long”" in words_of(await desk.ask("library", "show", "long", space="other"))
    await desk.said("library", "add", paths=[desk.file("long.md", "# Other\n\nWords.\n")], shelf="maps")
    assert "could be more than one book: long.md (" in await desk.said("library", "show", "long.md")
    await desk.said("library", "add", paths=[desk.file("tides.md", "# The Sea\n\nWords.\n")], shelf="rules")
    assert "tides.md" in await desk.said("library", "show", "tides")


async def test_for_a_book_on_another_shelf_remove_names_that_shelf(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        await desk.said("library", "add", paths=[desk.file("sea.md", "# The Sea\n\nWords.\n")], shelf="maps")
        said = await desk.said("library", "remove", "sea.md")
        assert said == "“sea.md” is not on “rules”, but on “maps”. Name that shelf with the option `shelf`."
        assert "no book “sky” on “rules”" in await desk.said("library", "remove", "sky")
        assert "no book “sea.md” on “other”" in await desk.said("library", "remove", "sea.md", shelf="other")
        assert "Removed sea.md from “maps”." in await desk.said("library", "remove", "sea.md", shelf="maps")
