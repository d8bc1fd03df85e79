"""PDF into a Document: words in reading order, sections, lists and tables, and the page of every character.

PDFium parses the file (`page`); the order is found page by page (`layout`), everything else when all lines are known:
repeated lines (`furniture`), headings, tables, paragraphs. Blocking; PDFium is not thread-safe.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Final

from pypdfium2 import PdfDest, PdfDocument, PdfiumError
from pypdfium2 import raw as pdfium
from rapidfuzz import fuzz

from bot.events import UserError
from bot.readers.document import Document, Progress, Unread, title_from_name
from bot.readers.pdf.forms import values
from bot.readers.pdf.furniture import without_furniture
from bot.readers.pdf.headings import Entry, body_style, headings
from bot.readers.pdf.layout import Line, laid_out
from bot.readers.pdf.page import Fields, PageWords, read_page
from bot.readers.pdf.recognizer import Recognize
from bot.readers.pdf.text import Composer
from bot.readers.screenplay.indents import Row, guessed, rows
from bot.readers.writer import Writer

PAGES: Final = 10_000
"""The most pages of one file."""
_ENTRIES: Final = 20_000
"""The most entries of an outline."""
_SCANNED: Final = 0.9
"""From this share of picture pages, a document is a scan; the little text on the other pages is not its own."""
_FEW: Final = 60
"""Characters on a page with a picture up to which they are only a stamp."""
_UNKNOWN: Final = 0.5
"""From this share of unknown characters, a document counts as unreadable."""
_NO_TITLE: Final = re.compile(
    r"(?:microsoft \w+ - .*|.*\.(?:docx?|pdf|tex|dvi|indd|qxp?d?|odt|rtf|md|html?|txt|pptx?|xlsx?|wpd)|untitled.*|"
    r"\(?anonymous\)?|title|document\s?\d*|documento\s?\d*|sem t[ií]tulo.*|slide \d+|powerpoint presentation|"
    r"[\W\d_]*)",
    re.IGNORECASE,
)
_MANY_UNKNOWN: Final = 0.01
"""The share of unknown characters from which they are reported; fewer are mostly ornaments."""
_TITLE_CHARACTERS: Final = 200
_SAME_TITLE: Final = 80.0
"""The likeness in per cent from which two titles count as the same."""


def read(name: str, data: bytes, progress: Progress, recognize: Recognize | None = None) -> Document:
    """The document in `data`; `progress` is called with the number of pages read and the total. `recognize` finds the
    words of pages that are pictures.

    Raises UserError: "library.file_locked", "library.file_damaged", "library.file_pages", "library.file_scanned",
    "library.file_empty".
    """
    pdf = _opened(name, data)
    try:
        pages = len(pdf)
        if pages > PAGES:
            raise UserError("library.file_pages", name=name, pages=pages, limit=PAGES)
        outline = _outline(pdf)
        named = " ".join(_clean(partial(pdf.get_metadata_value, "Title")).split())
        lines: list[Line] = []
        pages_read: list[PageWords] = []
        scripted: list[Row] = []
        fields = _fields(pdf)
        for number in range(pages):
            page = read_page(pdf, number, fields, recognize)
            for turned, words in enumerate((page.words, *page.turned)):
                lines += laid_out(words, number, turned)
            scripted += rows(page.words, number)
            pages_read.append(page.emptied())
            progress(number + 1, pages)
    finally:
        pdf.close()
    _readable(name, pages_read)
    title = _title(named, _largest(lines)) or title_from_name(name)
    lines = without_furniture(lines, pages, title)
    writer = Writer()
    composer = Composer(
        lines, headings(lines, outline, [page_read.height for page_read in pages_read]), writer
    )
    composer.write()
    composer.turn(pages - 1)
    screenplay = guessed(scripted)
    if screenplay is not None and screenplay.title:
        title = screenplay.title
    document = writer.document(title[:_TITLE_CHARACTERS])
    return replace(document, screenplay=screenplay, unread=_unread(pages_read))


def _fields(pdf: PdfDocument) -> Fields | None:
    """A reader for the values of the document's form, if it has one."""
    if pdf.get_formtype() == pdfium.FORMTYPE_NONE:
        return None
    pdf.init_forms()
    return (lambda page, box: values(page, pdf.formenv.raw, box)) if pdf.formenv else None


def _unread(pages_read: Sequence[PageWords]) -> tuple[Unread, ...]:
    """The unread parts: pages that are pictures, recognized or not, and letters that the file does not name."""
    unread: list[Unread] = []
    if recognized := sum(page.recognized for page in pages_read):
        unread.append(("recognized", {"n": recognized, "total": len(pages_read)}))
    elif pictures := sum(page.pictured and not page.characters for page in pages_read):
        unread.append(("pictures", {"n": pictures, "total": len(pages_read)}))
    characters = sum(page.characters for page in pages_read)
    lost = [page.missing + page.unknown for page in pages_read]
    if sum(page.missing for page in pages_read) or sum(lost) > _MANY_UNKNOWN * characters:
        unread.append(("characters", {"n": sum(lost), "pages": sum(map(bool, lost))}))
    return tuple(unread)


def _opened(name: str, data: bytes) -> PdfDocument:
    """The opened document. A password that only protects against changes does not matter."""
    try:
        pdf = PdfDocument(data)
    except PdfiumError as fault:
        locked = fault.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)
        raise UserError(f"library.file_{'locked' if locked else 'damaged'}", name=name) from fault
    if not len(pdf):
        pdf.close()
        raise UserError("library.file_damaged", name=name)
    return pdf


def _outline(pdf: PdfDocument) -> list[Entry]:
    """The outline's entries in order; pypdfium2 ends loops."""
    entries = []
    for mark in islice(pdf.get_toc(), _ENTRIES):
        destination = mark.get_dest()
        page = destination.get_index() if destination else None
        entries.append(Entry(mark.level + 1, _clean(mark.get_title), page, _height(destination)))
    return entries


def _height(destination: PdfDest | None) -> float | None:
    """A destination's height above the page's foot, if given."""
    kind, place = destination.get_view() if destination else (None, ())
    at = {pdfium.PDFDEST_VIEW_XYZ: 1, pdfium.PDFDEST_VIEW_FITH: 0, pdfium.PDFDEST_VIEW_FITBH: 0}.get(kind, 9)
    return place[at] if at < len(place) else None


def _readable(name: str, pages_read: Sequence[PageWords]) -> None:
    """Raise UserError for a document without words, or with hardly any."""
    characters = sum(page.characters for page in pages_read)
    unknown = sum(page.unknown for page in pages_read)
    pictures = sum(page.pictured and page.characters < _FEW for page in pages_read)
    if not characters and not unknown and not pictures:
        opened = any(page.opened for page in pages_read)
        raise UserError(f"library.file_{'empty' if opened else 'damaged'}", name=name)
    blank = sum(not page.characters and not page.pictured for page in pages_read)
    scanned = len(pages_read) >= 3 and pictures >= _SCANNED * (len(pages_read) - blank)
    if not characters or scanned or unknown > _UNKNOWN * (characters + unknown):
        raise UserError("library.file_scanned", name=name)


def _title(named: str, largest: str) -> str:
    """The title in the file's properties, unless that is a file name; in the first page's wording if
    nearly the same.
    """
    if not named or _NO_TITLE.fullmatch(named):
        return largest
    return largest if fuzz.ratio(named.casefold(), largest.casefold()) >= _SAME_TITLE else named


def _largest(lines: Sequence[Line]) -> str:
    """The words in the largest type of the first page with words, if it is larger than the body's."""
    first = [line for line in lines if line.page == lines[0].page and not line.turned]
    size = max((line.size for line in first), default=0.0)
    words = " ".join(line.text for line in first if line.size >= 0.97 * size).replace("\xad", "")
    return words if size >= 1.2 * body_style(lines)[0] and len(words) <= _TITLE_CHARACTERS else ""


def _clean(read: Callable[[], str]) -> str:
    """A title that `read` gives, without invalid and invisible characters; pypdfium2 raises a fault for half a
    character.
    """
    try:
        text = read()
    except UnicodeDecodeError as fault:
        text = fault.object.decode(fault.encoding, "ignore")
    return "".join(
        " " if letter.isspace() else letter
        for letter in unicodedata.normalize("NFC", text)
        if letter.isspace() or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Cn", "Co")
    )
