"""Hostile files: the readable part is read, the rest gets one sentence, and the next file is read.

They are read in sandboxed processes, many in one (see `batch`); files that could end a process get their own.
By default a sample is read; `make test-kill` reads all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.events import UserError
from bot.readers.sandbox import Sandbox, Timeouts
from bot.words import words
from tests.readers import test_screenplay_programs as programs
from tests.readers.hostile import docx, epub, paragraph, swelling
from tests.readers.hostile_pdfs import deflated, honest_pdf, pdf_of, pdf_of_pages, scanned_pdf
from tests.readers.hostile_pdfs import words as shown
from tests.readers.hostile_zips import many_members

ALL = os.environ.get("SUTRADHAR_KILLS") == "all"
# With all of them, only `make test-kill` runs this module.
pytestmark = [pytest.mark.slow] if ALL else []
FILES = Path(__file__).parent / "files"
PATIENT = Timeouts(silent=60, whole=110)
LONGEST_S = 20.0
"""Of one small file, on a machine with much else to do; most take a hundredth."""

Outcomes = dict[str, tuple[str, str, float]]


async def batch(**asked: object) -> Outcomes:
    """The result for each file: "read" and its text, or the reason; and the seconds."""
    reading = Sandbox(PATIENT, readers={".pdf": "tests.readers.batch"})
    document = await reading.read("batch.pdf", b"%PDF-" + json.dumps(asked).encode())
    return {title: (what, text, s) for title, (what, text, s) in json.loads(document.text).items()}


# What is not here is read, with the words that are in it.
REFUSED = {
    "laughs": "file_bomb",
    "too deep": "file_bomb",
    "not a document": "file_damaged",
    "no document": "file_damaged",
    "a document elsewhere": "file_damaged",
    "no body": "wordless",
    "laughs in the container": "file_bomb",
    "laughs in the package": "file_bomb",
    "laughs in a chapter": "another's words",
    "a chapter outside": "file_damaged",
    "a chapter of the machine's": "file_damaged",
    "a chapter of the web's": "file_damaged",
    "a chapter that is missing": "file_damaged",
    "a locked chapter": "file_locked",
    "a nul in the middle": "file_binary",
    "pages of themselves": "file_damaged",
    "a million pages by its word": "file_pages",
    "pages 5,000 deep": "file_damaged",
    "a form of itself": "file_scanned",
    "no page": "file_damaged",
    "no catalogue": "file_damaged",
    "nothing behind its mark": "file_damaged",
}
WITHOUT_STORY = {
    "one line",
    "lists 2,000 deep",
    "tables 2,000 deep",
    "quotes 5,000 deep",
    "a heading of 250,000 letters",
    "2,000 cells over 1,000 columns and rows",
    "only tags",
    "only ampersands",
    "long and by idna",
    "long and by punycode",
    "letters of no size",
    "letters that are nowhere",
}
"""Of these the first words are others, or whether there are any is in doubt."""


@pytest.mark.parametrize(
    ("maker", "suffix"),
    [
        ("hostile:odd_htmls", ".html"),
        ("hostile:odd_docxs", ".docx"),
        ("hostile:odd_epubs", ".epub"),
        ("hostile_pdfs:odd_pdfs", ".pdf"),
    ],
)
@pytest.mark.slow
async def test_cycles_lies_and_deep_nesting_end_no_process(maker: str, suffix: str) -> None:
    found = await batch(maker=f"tests.readers.{maker}", suffix=suffix)
    assert len(found) > 10
    for title, (what, text, took) in found.items():
        assert took < LONGEST_S, title
        assert "Permission is hereby granted" not in text, title
        assert "lollol" not in text, title
        assert what != "mistake", (title, text)
        if title in WITHOUT_STORY:
            continue
        said = "another's words" if what == "read" and text and "lighthouse" not in text else what
        wanted = REFUSED.get(title, "read")
        assert ("wordless" if said == "read" and not text else said) == wanted, title


@pytest.mark.parametrize(
    "name",
    [
        "groff.pdf",
        "libreoffice-outline.pdf",
        "libreoffice.docx",
        "pandoc.docx",
        "pandoc.html",
        "pandoc.epub2.epub",
        "pandoc.epub3.epub",
        "python-pptx.pptx",
        "openpyxl.xlsx",
        "libreoffice.xlsx",
        "libreoffice.odp",
        "libreoffice.ods",
        "libreoffice-marks.odt",
        "libreoffice-marks.rtf",
        "harbour.rtf",
        "nbformat.ipynb",
        "harbour.rst",
        "harbour.adoc",
        "harbour.vtt",
        "harbour.csv",
    ],
)
@pytest.mark.slow
async def test_mutations_break_no_reader(name: str) -> None:
    seeds = range(4) if ALL else range(1)
    for seed in seeds:
        found = await batch(
            path=str(FILES / name), count=200 if ALL else 6 if name.endswith(".pdf") else 24, seed=seed
        )
        assert {title: text for title, (what, text, _) in found.items() if what == "mistake"} == {}
        assert max(took for _, _, took in found.values()) < LONGEST_S
        assert found["whole"][0] == "read"


@pytest.mark.slow
async def test_mutations_break_no_reader_of_scripts(tmp_path: Path) -> None:
    """More than three hundred damaged files of Fade In, Open Screenplay, Celtx, Highland, Trelby and
    Fountain.
    """
    fountain = (
        "Title: The Sea\n\nEXT. SEA - DAY #1#\n\nANA (V.O.)\n(low)\nWait.\n\nBO ^\nNo. [[A note]] /* cut */\n"
    )
    files = {
        "a.osf": programs.FADE_IN.encode(),
        "a.fadein": programs.packed(document_dot_xml=programs.FADE_IN),
        "a.celtx": programs.packed(
            project_dot_rdf="<x/>", **{"script-a.html": programs.page(programs.CELTX)}
        ),
        "a.highland": programs.packed(**{"a.textbundle/text.md": fountain}),
        "a.trelby": programs.TRELBY.encode(),
        "a.fountain": fountain.encode(),
    }
    damaged = 0
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
        found = await batch(path=str(tmp_path / name), count=200 if ALL else 52, seed=3)
        assert {title: text for title, (what, text, _) in found.items() if what == "mistake"} == {}, name
        assert max(took for _, _, took in found.values()) < LONGEST_S
        assert found["whole"][0] == "read"
        damaged += len(found) - 1
    assert damaged >= 300


@pytest.mark.parametrize(
    "name", ["libreoffice-outline.pdf", "pandoc.docx", "pandoc.epub3.epub", "pandoc.html"]
)
async def test_a_file_cut_off_at_any_of_ten_places_is_read_or_refused(name: str) -> None:
    found = await batch(path=str(FILES / name), count=10, seed=7, cut=True)
    whole = found.pop("whole")[1]
    assert len(found) == 10
    for what, text, _ in found.values():
        if name.endswith((".docx", ".epub")):
            assert what == "file_damaged"
        elif name.endswith(".html"):
            assert what == "file_empty" or (what == "read" and len(text) <= len(whole))
        else:  # of a PDF without its table of objects, PDFium looks for them itself
            assert what in ("file_damaged", "file_scanned", "read")


Bomb = tuple[str, Callable[[], bytes], str]

BOMBS: dict[str, Bomb] = {
    "2 GB of blanks in 754 bytes": ("a.pdf", lambda: pdf_of(*deflated(2_000_000_000, 3)), "file_memory"),
    "10,001 pages": ("a.pdf", lambda: pdf_of_pages(10_001), "file_pages"),
    "scanned": ("a.pdf", (FILES / "pillow-scanned.pdf").read_bytes, "file_scanned"),
    "locked": ("a.pdf", (FILES / "libreoffice-locked.pdf").read_bytes, "file_locked"),
    "old Word": ("a.docx", (FILES / "libreoffice.doc").read_bytes, "file_other_kind"),
    "a document of blanks": ("a.docx", lambda: docx(b" " * 11_000_000), "file_bomb"),
    "a chapter of blanks": ("a.epub", lambda: epub(b" " * 11_000_000), "file_bomb"),
    "100,000 members": ("a.epub", lambda: many_members(100_000, b"META-INF/container.xml"), "file_bomb"),
}
MORE: dict[str, Bomb] = {
    "2 GB of blanks": ("a.pdf", lambda: pdf_of(*deflated(2_000_000_000)), "file_memory"),
    "a picture": ("a.pdf", scanned_pdf, "file_scanned"),
    "a page of a page of a page": ("a.docx", lambda: swelling(".docx"), "file_memory"),
    "a million members": ("a.epub", lambda: many_members(1_000_000, b"META-INF/container.xml"), "file_bomb"),
}


@pytest.mark.parametrize("bomb", BOMBS | MORE if ALL else BOMBS)
async def test_bombs_harm_only_their_own_process(bomb: str) -> None:
    name, make, reason = (BOMBS | MORE)[bomb]
    key = f"library.{reason}"
    reading = Sandbox(PATIENT)
    with pytest.raises(UserError) as raised:
        await reading.read(name, make())
    assert raised.value.key == key
    for locale in ("en", "pt-BR"):
        sentence = words(locale)(key, **raised.value.values)
        assert sentence.startswith(f"{name}: ")
        assert "{" not in sentence
    if ALL:
        good = {"a.pdf": honest_pdf(), "a.docx": docx(paragraph()), "a.epub": epub()}
        for other, data in good.items():
            assert "lighthouse" in (await reading.read(other, data)).text


@pytest.mark.skipif(not ALL, reason="make test-kill has it")
@pytest.mark.parametrize("suffix", [".html", ".epub", ".pdf"])
async def test_slow_files_are_stopped(suffix: str) -> None:
    data = pdf_of(shown("word " * 400_000)) if suffix == ".pdf" else swelling(suffix)
    try:
        await Sandbox().read(f"a{suffix}", data)
    except UserError as error:
        assert error.key in ("library.file_hangs", "library.file_memory")  # noqa: PT017  (or it is read)
