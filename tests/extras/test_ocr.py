"""Text recognition with the real model: scanned pages are added, cited and indexed again."""

from __future__ import annotations

import io
import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pypdfium2
import pytest

from bot.events import Notice
from bot.readers.sandbox import Sandbox
from tests.readers.test_pdf_made import body, lines, made
from tests.works.course.desk import cited, opened, words_of

pytestmark = pytest.mark.skipif(find_spec("rapidocr") is None, reason="the package rapidocr is not here")
FILES = Path(__file__).parents[1] / "readers" / "files"
WORD = re.compile(r"\w{4,}")
NOTE = "2 of 3 pages are pictures. Their text was recognized (OCR) and may have mistakes."


def scanned(data: bytes, pages: int, words: bytes = b"") -> bytes:
    """A PDF with pictures of the first pages, after the pages of `words`."""
    source, scan = pypdfium2.PdfDocument(data), pypdfium2.PdfDocument.new()
    if words:
        scan.import_pages(pypdfium2.PdfDocument(words))
    for number in range(pages):
        page = source[number]
        picture = pypdfium2.PdfImage.new(scan)
        picture.set_bitmap(page.render(scale=150 / 72, grayscale=True))
        picture.set_matrix(pypdfium2.PdfMatrix().scale(*page.get_size()))
        new = scan.new_page(*page.get_size())
        new.insert_obj(picture)
        new.gen_content()
    out = io.BytesIO()
    scan.save(out)
    return out.getvalue()


async def test_words_on_pictures_are_added_cited_and_indexed_again(tmp_path: Path) -> None:
    original = (FILES / "libreoffice-plain.pdf").read_bytes()
    async with opened(tmp_path) as desk:
        path = desk.file("almanac.pdf", scanned(original, 2, made(body(1))))
        assert "are pictures, which I can't read" in await desk.said("library", "add", paths=[path])
        events = await desk.ask("library", "add", paths=[path], ocr=True)
        assert NOTE in words_of(events)
        assert any(isinstance(event, Notice) and NOTE in event.text for event in events)
        assert "already" in await desk.said("library", "add", paths=[path], ocr=True)
        question = "What does a milestone without a ring mark?"
        for _ in range(2):
            answered = await desk.ask("rules", "ask", question, thread="t")
            assert any(
                "marks a spring" in citation.quote and citation.page == 2 for citation in cited(answered)
            )
            assert NOTE in words_of(answered)
            assert NOTE in await desk.said("library", "show", "almanac.pdf")
            assert "Indexing 1 book" in await desk.said("library", "reindex")


async def test_words_are_found_in_english_and_portuguese() -> None:
    portuguese = (
        "O relatório não está pronto: três capítulos ficaram para amanhã.",
        "A maré sobe às seis, e ninguém atravessa o canal até a manhã.",
        "Você só precisa de um lampião, de pão e de muita atenção.",
    )
    typed = [
        "".join(letter if letter.isascii() else f"\\{ord(letter):o}" for letter in line)
        for line in portuguese
    ]
    font = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"
    for data, pages, share in (
        ((FILES / "libreoffice-plain.pdf").read_bytes(), 2, 0.95),
        (made(lines(typed, size=11), font=font), 1, 0.95),
    ):
        source = pypdfium2.PdfDocument(data)
        wanted = Counter(
            word for n in range(pages) for word in WORD.findall(source[n].get_textpage().get_text_bounded())
        )
        document = await Sandbox().read("scan.pdf", scanned(data, pages), recognize=True)
        found = Counter(WORD.findall(document.text))
        assert sum((wanted & found).values()) >= share * sum(wanted.values()), wanted - found
        assert document.unread == (("recognized", {"n": pages, "total": pages}),)
        assert len(document.pages) == pages
