"""The kinds of files that are read: by the suffix of a name, and by a file's first bytes (for a zip, by the names
inside).

Imports no reader, so that checking names is cheap. It examines bytes and unpacks nothing, so it is safe for any file.
If in doubt it returns no kind and leaves the file to the reader for its name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final, NamedTuple

from bot.events import UserError

PLAIN: Final = (".md", ".markdown", ".txt")
"""Read unchanged, in this process."""

PARSED: Final = {
    ".html": "bot.readers.web.html",
    ".htm": "bot.readers.web.html",
    ".pdf": "bot.readers.pdf.reader",
    ".docx": "bot.readers.docx.reader",
    ".epub": "bot.readers.web.epub",
    ".odt": "bot.readers.open_document",
    ".rtf": "bot.readers.rtf",
    ".pptx": "bot.readers.slides",
    ".odp": "bot.readers.open_document",
    ".xlsx": "bot.readers.sheet",
    ".ods": "bot.readers.open_document",
    ".csv": "bot.readers.separated",
    ".tsv": "bot.readers.separated",
    ".ipynb": "bot.readers.notebook",
    ".rst": "bot.readers.restructured",
    ".adoc": "bot.readers.asciidoc",
    ".srt": "bot.readers.captions",
    ".vtt": "bot.readers.captions",
    ".fdx": "bot.readers.screenplay.final_draft",
    ".fountain": "bot.readers.screenplay.fountain",
    ".osf": "bot.readers.screenplay.open_screenplay",
    ".fadein": "bot.readers.screenplay.open_screenplay",
    ".celtx": "bot.readers.screenplay.celtx",
    ".highland": "bot.readers.screenplay.highland",
    ".trelby": "bot.readers.screenplay.trelby",
}
"""Parsed in a process of its own (see `sandbox`), by the `read` of this module."""

BUNDLE: Final = ".zip"
"""A folder's files as one document. Only a course can be one, so it is not among SUFFIXES."""

READERS: Final = {**PARSED, BUNDLE: "bot.readers.bundle"}

RECOGNIZED: Final = {".pdf": "bot.readers.pdf.recognized"}
"""The same for a file whose pages may be pictures, if the words on them are wanted too."""

SUFFIXES: Final = (*PLAIN, *PARSED)
"""All suffixes, in the order in which people see them."""

PICTURES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")
"""Not read, but shown to a vision model (see `pictures`)."""


_TEXTUAL: Final = (
    *PLAIN, ".html", ".htm", ".fountain", ".csv", ".tsv", ".ipynb", ".rst", ".adoc", ".srt", ".vtt",
)  # fmt: skip
"""Files of these kinds may contain either HTML or plain text."""

_SAVED_AS: Final = {
    ".doc": ("Word 97 (.doc)", ".docx"),
    ".dot": ("Word 97 (.dot)", ".docx"),
    ".docm": ("Word (.docm)", ".docx"),
    ".pages": ("Pages", ".docx"),
    ".wpd": ("WordPerfect", ".docx"),
    ".xls": ("Excel 97 (.xls)", ".xlsx"),
    ".xlsm": ("Excel (.xlsm)", ".xlsx"),
    ".xlsb": ("Excel (.xlsb)", ".xlsx"),
    ".numbers": ("Numbers", ".xlsx"),
    ".ppt": ("PowerPoint 97 (.ppt)", ".pptx"),
    ".pps": ("PowerPoint 97 (.pps)", ".pptx"),
    ".ppsx": ("PowerPoint (.ppsx)", ".pptx"),
    ".pptm": ("PowerPoint (.pptm)", ".pptx"),
    ".key": ("Keynote", ".pptx"),
    ".mobi": ("Mobipocket", ".epub"),
    ".azw3": ("Kindle (.azw3)", ".epub"),
}
"""Kinds that are not read, by suffix: their names, and the format to save them as."""


class Kind(NamedTuple):
    """A kind of file. `format` is its own name, the same in every language. `suffix` is the right suffix for a file of
    this kind (`read`), or the one to save it as. `key` is set if the kind has a sentence of its own.
    """

    format: str
    suffix: str
    read: bool = False
    key: str = ""


PDF: Final = Kind("PDF", ".pdf", read=True)
WORD: Final = Kind("Word", ".docx", read=True)
EPUB: Final = Kind("EPUB", ".epub", read=True)
HTML: Final = Kind("HTML", ".html", read=True)
FINAL_DRAFT: Final = Kind("Final Draft", ".fdx", read=True)
OPEN_SCREENPLAY: Final = Kind("Open Screenplay Format", ".osf", read=True)
FADE_IN: Final = Kind("Fade In", ".fadein", read=True)
CELTX: Final = Kind("Celtx", ".celtx", read=True)
HIGHLAND: Final = Kind("Highland", ".highland", read=True)
TRELBY: Final = Kind("Trelby", ".trelby", read=True)
TEXT: Final = Kind("TXT", ".txt", read=True)
RTF: Final = Kind("RTF", ".rtf", read=True)
EXCEL: Final = Kind("Excel", ".xlsx", read=True)
POWER_POINT: Final = Kind("PowerPoint", ".pptx", read=True)
OLD_WORD: Final = Kind("Word 97 (.doc)", ".docx")
MHTML: Final = Kind("", "", key="library.file_mhtml")
PICTURE: Final = Kind("", "", key="library.file_picture")
ARCHIVE: Final = Kind("", "", key="library.file_archive")
LOCKED: Final = Kind("", "", key="library.file_locked")
OTHER: Final = Kind("", "", key="library.file_binary")

_HEAD: Final = 4096
_PDF: Final = b"%PDF-"
_NEAR: Final = 1024
"""The bytes at either end in which readers look for a PDF's mark and its end (ISO 32000-1, annex H.3.4)."""
_BLANK: Final = b"\x00 \t\r\n"
_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")

# From Gary Kessler's table of file signatures and the formats' own specifications; signatures that a text could begin
# with are left out.
_FIRST: Final = (
    (b"{\\rtf", RTF),
    (b"%!PS-", Kind("PostScript", ".pdf")),
    (b"AT&TFORM", Kind("DjVu", ".pdf")),
    (b"\x89PNG\r\n", PICTURE),
    (b"\xff\xd8\xff", PICTURE),
    (b"GIF87a", PICTURE),
    (b"GIF89a", PICTURE),
    (b"II*\x00", PICTURE),
    (b"MM\x00*", PICTURE),
    (b"\x1f\x8b\x08", ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", ARCHIVE),
    (b"Rar!\x1a\x07", ARCHIVE),
    (b"\xfd7zXZ\x00", ARCHIVE),
    (b"\x28\xb5\x2f\xfd", ARCHIVE),
    (b"BZh91AY&SY", ARCHIVE),
    (b"\x7fELF", OTHER),
    (b"OggS\x00", OTHER),
    (b"fLaC\x00", OTHER),
    (b"ID3\x03\x00", OTHER),
    (b"ID3\x04\x00", OTHER),
    (b"\x1aE\xdf\xa3", OTHER),
)
_AT: Final = (
    (60, b"BOOKMOBI", Kind("Mobipocket", ".epub")),
    (8, b"WEBP", PICTURE),
    (8, b"WAVE", OTHER),
    (8, b"AVI ", OTHER),
    (4, b"ftypheic", PICTURE),
    (4, b"ftypavif", PICTURE),
    (4, b"ftyp", OTHER),
)
_ZIP_END: Final = b"PK\x05\x06"
_ZIP_TAIL: Final = 22 + 65_535
"""The size of its last record and the longest comment (PKWARE's APPNOTE, 4.3.16)."""
_OPEN_DOCUMENT: Final = {
    b"text": Kind("OpenDocument (.odt)", ".odt", read=True),
    b"spreadsheet": Kind("OpenDocument (.ods)", ".ods", read=True),
    b"presentation": Kind("OpenDocument (.odp)", ".odp", read=True),
}
_MIMETYPE: Final = re.compile(
    rb"mimetypeapplication/(epub\+zip|vnd\.oasis\.opendocument\.(text|spreadsheet|presentation))"
)
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Microsoft's compound file ([MS-CFB] 2.2): all Office files from before 2007, and encrypted ones today."""
_STREAMS: Final = (
    ("EncryptedPackage", LOCKED),  # [MS-OFFCRYPTO] 2.3.4.4
    ("WordDocument", OLD_WORD),
    ("PowerPoint Document", Kind("PowerPoint 97 (.ppt)", ".pptx")),
    ("Workbook", Kind("Excel 97 (.xls)", ".xlsx")),
)
_RELATED: Final = re.compile(rb"(?im)^content-type:\s*multipart/related\b")
_HEADER: Final = re.compile(rb"(?i)(?:from|mime-version|snapshot-content-location|subject|date):[ \t]")
_MARKUP: Final = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html)\b",
    re.IGNORECASE | re.DOTALL,
)
_SCREENPLAY: Final = re.compile(
    rb"\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!DOCTYPE.{0,2000}?>\s*)?<FinalDraft\b", re.DOTALL
)
_OPEN_SCREENPLAY: Final = re.compile(
    rb"""\s*(?:<\?xml[^>]{0,200}>\s*)?<document\s[^>]{0,200}?type=["']Open Screenplay Format"""
)
_TRELBY: Final = re.compile(rb"#Version [1-9]\r?\n")
_DECLARED: Final = re.compile(rb"\s*(?:<\?xml[^>]{0,200}>\s*)?<!DOCTYPE\b", re.IGNORECASE)
"""The kind of such XML follows a declaration that may be longer than a file's head."""
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def suffix_of(name: str) -> str:
    return PurePath(name).suffix.lower()


def readable(name: str) -> bool:
    """Whether a file of this name is of a kind that is read."""
    return suffix_of(name) in SUFFIXES


def unread(name: str, kinds: Sequence[str] = SUFFIXES) -> UserError:
    """The reason why a file whose name ends in none of `kinds` is not read: "library.file_old_kind" if it can be saved
    as one of them, else "library.file_kind".
    """
    kind, suffix = _SAVED_AS.get(suffix_of(name), ("", ""))
    if suffix in kinds:
        return UserError("library.file_old_kind", name=name, kind=kind, suffix=suffix)
    return UserError("library.file_kind", name=name, kinds=", ".join(kinds))


def check(name: str, data: bytes) -> None:
    """Raise UserError for a file that is empty, or certainly of another kind than its name says: "library.file_empty",
    "library.file_wrong_kind" (for a kind that is read), "library.file_other_kind" (for one that is not),
    "library.file_mhtml", "library.file_picture", "library.file_archive", "library.file_locked" or
    "library.file_binary".
    """
    if not data.strip(_BLANK):
        raise UserError("library.file_empty", name=name)
    suffix = suffix_of(name)
    if suffix == BUNDLE:
        return
    kind = kind_of(data)
    if kind is None or (suffix == kind.suffix and kind.read):
        return
    if suffix == ".pdf" and _PDF in data[:_NEAR]:
        return  # after other bytes, and perhaps truncated
    if kind in (HTML, TEXT) and suffix in _TEXTUAL:
        return  # either is text, and may be about the other
    if kind is HTML and suffix == ".celtx":
        return
    if kind.key:
        raise UserError(kind.key, name=name)
    key = "library.file_wrong_kind" if kind.read else "library.file_other_kind"
    raise UserError(key, name=name, kind=kind.format, suffix=kind.suffix)


def kind_of(data: bytes) -> Kind | None:
    """The kind of `data`, where it is certain."""
    head = data[:_HEAD]
    for mark in _MARKS:
        head = head.removeprefix(mark)
    if head.startswith((b"PK\x03\x04", _ZIP_END)):
        return _zip(data)
    if head.startswith(_OLE):
        return next((kind for stream, kind in _STREAMS if stream.encode("utf-16-le") in data), OTHER)
    for mark, kind in _FIRST:
        if head.startswith(mark):
            return kind
    if _CONTROL.search(head) and not head.startswith(_PDF):
        for at, mark, kind in _AT:
            if head.startswith(mark, at):
                return kind
    # A text about PDF may contain its mark further down, but does not end with its end.
    if head.startswith(_PDF) or (_PDF in head[:_NEAR] and b"%%EOF" in data[-_NEAR:]):
        return PDF
    if _HEADER.match(head) and _RELATED.search(head):
        return MHTML
    if _MARKUP.match(head):
        return HTML
    if _SCREENPLAY.match(head):
        return FINAL_DRAFT
    if _OPEN_SCREENPLAY.match(head):
        return OPEN_SCREENPLAY
    if _TRELBY.match(head):
        return TRELBY
    return TEXT if _is_text(head) and not _DECLARED.match(head) else None


def _zip(data: bytes) -> Kind | None:
    """The kind of a zip by its directory, which is at its end and has each name uncompressed; None for a truncated
    file.
    """
    if named := _MIMETYPE.search(data, 0, 200):
        return _OPEN_DOCUMENT.get(named[2], EPUB)
    if _ZIP_END not in data[-_ZIP_TAIL:]:
        return None
    at = data.find(b"PK\x01\x02")
    names = data[at:] if at >= 0 else b""
    if b"META-INF/container.xml" in names:
        return EPUB
    if b"[Content_Types].xml" in names or b"_rels/.rels" in names:
        for folder, kind in ((b"word/", WORD), (b"xl/", EXCEL), (b"ppt/", POWER_POINT)):
            if folder in names:
                return kind
    for member, kind in (
        (b".textbundle/", HIGHLAND),
        (b"project.rdf", CELTX),
        (b"document.xml", FADE_IN),
    ):
        if member in names:
            return kind
    return ARCHIVE


def _is_text(head: bytes) -> bool:
    if _CONTROL.search(head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as fault:
        return fault.start >= len(head) - 3  # cut inside a letter
    return True
