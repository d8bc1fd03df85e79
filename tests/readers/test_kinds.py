"""A file's kind is recognised from its content, whatever its name says, and each unreadable kind has its
sentence.
"""

from __future__ import annotations

import io
import time
import zipfile

import pytest

from bot.events import UserError
from bot.readers import kinds, read
from bot.readers.kinds import SUFFIXES
from bot.words import LOCALES, words

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256))
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)


def packed(*names: str, first: bytes = b"") -> bytes:
    """A zip with members of these names; `first` is the content of an uncompressed "mimetype" in front."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        if first:
            archive.writestr(zipfile.ZipInfo("mimetype"), first)
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), b"<x/>" * 50, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def ole(stream: str) -> bytes:
    return OLE + stream.encode("utf-16-le") + bytes(500)


PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n%%EOF\n"
DOCX = packed("[Content_Types].xml", "_rels/.rels", "word/document.xml")
EPUB = packed("META-INF/container.xml", "OEBPS/a.xhtml", first=b"application/epub+zip")
ODT = packed("content.xml", first=b"application/vnd.oasis.opendocument.text")
XLSX = packed("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml")
PPTX = packed("[Content_Types].xml", "_rels/.rels", "ppt/presentation.xml")
HTML = b"\xef\xbb\xbf\n<!-- saved -->\n<!DOCTYPE html>\n<html><p>words</p></html>"
MHTML = b'From: <Saved by Blink>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related;\r\n\ttype="text/html"\r\n\r\n'
RTF = b"{\\rtf1\\ansi words}"
TEXT = b"." * 4095 + "é".encode() * 400  # the first four kilobytes end within a letter

KINDS = {
    "a PDF": PDF,
    "Word": DOCX,
    "EPUB": EPUB,
    "HTML": HTML,
    "text": TEXT,
    "old Word": ole("WordDocument"),
    "locked": ole("EncryptedPackage"),
    "old Excel": ole("Workbook"),
    "old PowerPoint": ole("PowerPoint Document"),
    "something of Microsoft's": OLE,
    "OpenDocument": ODT,
    "Excel": XLSX,
    "PowerPoint": PPTX,
    "RTF": RTF,
    "a web archive": MHTML,
    "a picture": PNG,
    "an archive": packed("notes/a.md", "notes/b.md"),
    "an empty archive": packed(),
    "packed": b"\x1f\x8b\x08" + bytes(range(100)),
    "PostScript": b"%!PS-Adobe-3.0\nshowpage\n",
    "Mobipocket": bytes(60) + b"BOOKMOBI" + bytes(60),
    "a program": b"\x7fELF" + bytes(100),
    "a film": b"\x00\x00\x00\x18ftypmp42" + bytes(100),
    "a sound": b"RIFF\x00\x00\x00\x00WAVE" + bytes(100),
}
NAMED = {
    "a PDF": "despite its name, its contents are PDF. Give it a name that ends in .pdf and add it again.",
    "Word": "despite its name, its contents are Word. Give it a name that ends in .docx and add it again.",
    "EPUB": "despite its name, its contents are EPUB. Give it a name that ends in .epub and add it again.",
    "HTML": "despite its name, its contents are HTML. Give it a name that ends in .html and add it again.",
    "text": "despite its name, its contents are TXT. Give it a name that ends in .txt and add it again.",
    "old Word": "its contents are Word 97 (.doc), which I can't read. Save it as .docx and add that.",
    "locked": "this file has a password. Save a copy without one and add that.",
    "old Excel": "its contents are Excel 97 (.xls), which I can't read. Save it as .xlsx and add that.",
    "old PowerPoint": "its contents are PowerPoint 97 (.ppt), which I can't read. Save it as .pptx and add that.",
    "OpenDocument": (
        "despite its name, its contents are OpenDocument (.odt). "
        "Give it a name that ends in .odt and add it again."
    ),
    "Excel": "despite its name, its contents are Excel. Give it a name that ends in .xlsx and add it again.",
    "PowerPoint": (
        "despite its name, its contents are PowerPoint. Give it a name that ends in .pptx and add it again."
    ),
    "RTF": "despite its name, its contents are RTF. Give it a name that ends in .rtf and add it again.",
    "a web archive": "this is a web archive (MHTML). Save the page as “HTML only” and add that.",
    "a picture": (
        "this is a picture without text that I could search. "
        "Run text recognition (OCR) on it and add the result."
    ),
    "an archive": "this is an archive. Unpack it and add the files in it.",
    "an empty archive": "this is an archive. Unpack it and add the files in it.",
    "packed": "this is an archive. Unpack it and add the files in it.",
    "PostScript": "its contents are PostScript, which I can't read. Save it as .pdf and add that.",
    "Mobipocket": "its contents are Mobipocket, which I can't read. Save it as .epub and add that.",
}
OTHER = (
    "despite its name, this is neither text nor a document that I can read. "
    "Save it as text or Markdown and add it again."
)
TEXTUAL = {
    ".html", ".htm", ".md", ".markdown", ".txt", ".fountain", ".csv", ".tsv", ".ipynb", ".rst", ".adoc", ".srt", ".vtt",
}  # fmt: skip
RIGHT = {
    "a PDF": {".pdf"},
    "Word": {".docx"},
    "EPUB": {".epub"},
    "HTML": TEXTUAL | {".celtx"},
    "text": TEXTUAL,
    "OpenDocument": {".odt"},
    "Excel": {".xlsx"},
    "PowerPoint": {".pptx"},
    "RTF": {".rtf"},
}


def said(name: str, data: bytes, locale: str = "en") -> str:
    """The sentence about a file, "" if it is accepted."""
    try:
        kinds.check(name, data)
    except UserError as error:
        return words(locale)(error.key, **error.values)
    return ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_under_another_kinds_name_is_refused(kind: str) -> None:
    for suffix in SUFFIXES:
        sentence = said(f"a{suffix}", KINDS[kind])
        wrong = f"a{suffix}: {NAMED.get(kind, OTHER)}"
        assert sentence == ("" if suffix in RIGHT.get(kind, ()) else wrong)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("data", [b"", b" \r\n\t ", b"\x00" * 5000])
def test_an_empty_file_is_reported_as_empty_whatever_its_name(suffix: str, data: bytes) -> None:
    assert (
        said(f"a{suffix.upper()}", data)
        == f"a{suffix.upper()}: the file is empty. Check that it is the right one."
    )


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("greeted.pdf", b"HTTP/1.1 200 OK\r\n\r\n" + PDF),
        ("greeted and cut.pdf", b"HTTP/1.1 200 OK\r\n\r\n" + PDF[:-6]),
        ("greeted, cut, and of plain letters.pdf", b"HTTP/1.1 200 OK\r\n\r\n%PDF-1.4\n1 0 obj\n"),
        ("cut.docx", DOCX[:100]),
        ("cut a little.docx", DOCX[:-40]),
        ("cut.epub", EPUB[:25]),
        ("noise.docx", bytes(range(128, 256)) * 20),
        ("saved by a browser.docx", packed("[Content_Types].xml", "word/document2.xml")),
        ("with a sheet.docx", packed("[Content_Types].xml", "xl/sheet.xlsx", "word/document.xml")),
        ("macros.docx", packed("[Content_Types].xml", "word/document.xml", "word/vbaProject.bin")),
        ("no mimetype.epub", packed("META-INF/container.xml")),
        ("about.md", b"# The PDF format\n\nA file begins with %PDF- and ends with an end mark.\n"),
        ("mail.txt", b"From: Ana\nSubject: rules\n\nContent-Type: text/plain\n"),
        ("GIF.md", b"GIF, PK and Rar! are formats. MM* is none."),
        ("wide.html", HTML.decode("utf-8-sig").encode("utf-16")),
        ("fragment.html", b"<p>words</p>"),
        ("half a letter.txt", "é".encode() * 2047 + b"a\xc3\xa9"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_doubtful_files_are_left_to_their_reader(name: str, data: bytes) -> None:
    assert said(name, data) == ""


def test_old_kinds_are_refused_with_how_to_save_them() -> None:
    for name, sentence in (
        ("a.doc", "a.doc: I can't read Word 97 (.doc). Save it as .docx and add that."),
        ("a.XLS", "a.XLS: I can't read Excel 97 (.xls). Save it as .xlsx and add that."),
        ("a.ppt", "a.ppt: I can't read PowerPoint 97 (.ppt). Save it as .pptx and add that."),
        ("a.exe", f"a.exe: I can't read this kind of file. I read {', '.join(SUFFIXES)}."),
    ):
        error = kinds.unread(name)
        assert words("en")(error.key, **error.values) == sentence
    assert kinds.unread("a.doc", (".ogg", ".mp3")).key == "library.file_kind"


@pytest.mark.parametrize("locale", LOCALES)
def test_no_sentence_has_an_unfilled_placeholder(locale: str) -> None:
    for data in KINDS.values():
        for suffix in (".md", ".pdf"):
            assert "{" not in said(f"a{suffix}", data, locale)


def test_a_text_file_is_checked_before_it_is_read() -> None:
    with pytest.raises(UserError, match="file_picture"):
        read("a.md", PNG)


def test_the_check_of_a_large_file_is_quick() -> None:
    data = DOCX[:4] + b"PK" * 8_000_000 + DOCX
    began = time.process_time()
    said("a.docx", data)
    assert time.process_time() - began < 1
