"""The bot names what it could not read of a file: when it is added, in the list, where it is shown, under
answers.
"""

from __future__ import annotations

from pathlib import Path

from bot.events import File
from tests.readers.test_pdf_made import body, made
from tests.readers.test_pdf_unread import IMAGE
from tests.works.course.desk import opened, words_of

SAID = "ferry.pdf: 2 of 4 pages are pictures, which I can't read."


async def test_scanned_pages_are_named_wherever_the_book_is_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as desk:
        path = desk.file("ferry.pdf", made(body(1), IMAGE, body(2), IMAGE))
        whole = desk.file("moles.md", "# Moles\n\nA mole digs at night.")
        assert SAID in await desk.said("library", "add", paths=[path, whole])
        assert f"- {SAID}" in await desk.said("library", "list")
        assert SAID in await desk.said("library", "show", "ferry.pdf")
        question = "What does the ferry carry to the island?"
        assert SAID in await desk.said("rules", "ask", question)
        assert "pictures" not in await desk.said("rules", "ask", "When does a mole dig?")
        assert "Indexing 2 books" in await desk.said("library", "reindex")
        assert f"- {SAID}" in await desk.said("library", "list")
        events = await desk.ask("rules", "ask", question, files=(File("ferry.pdf", path, 0),), thread="other")
        assert SAID in words_of(events)
