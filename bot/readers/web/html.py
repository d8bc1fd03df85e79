"""HTML into a Document: as browsers show it, without the parts that belong to the site rather than to the page.

`markup` reads broken markup; `survey` and `walker` are the two readings. It fetches nothing, runs nothing and follows
no address.
"""

from __future__ import annotations

import codecs
import re
from urllib.parse import unquote

from bot.events import UserError
from bot.readers.decode import decode
from bot.readers.document import Document, Progress, title_from_name
from bot.readers.web.markup import parse
from bot.readers.web.survey import Survey, SurveyHandler
from bot.readers.web.walker import Walker
from bot.readers.writer import Writer

_DECLARED = re.compile(
    rb"""<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{2,40})|<meta[^>]{0,500}?charset\s*=\s*["']?\s*([\w.:-]{2,40})""",
    re.IGNORECASE,
)
_DECLARED_WITHIN = 4096
"""The bytes in which an encoding is looked for. Browsers use 1024 (HTML standard, 13.2.3.2), but comments before it may
be longer.
"""
_ENCODINGS = re.compile(
    r"(?:iso-?8859|windows-|cp|koi8|gb|big5|euc|shift_jis|sjis|iso-2022|mac|tis-)[\w.:-]*|latin-?[1-9]",
    re.IGNORECASE,
)
"""Encodings that a page may name; Python has others that do not encode letters."""
_WESTERN = frozenset(("iso8859-1", "ascii", "latin-1"))
"""Read as windows-1252 (Encoding standard, 4.2)."""
_BETWEEN = re.compile(r"\s+(?:[|–—·•«»:-]|::|\|\|)\s+|:\s+")


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The page in `data`; `progress` is called with the thousands of elements written.

    Its title is its <title>, without the site's name if that accompanies the first heading; else the first heading,
    else the file's name. Raises UserError: "library.file_empty" also if nothing is visible, "library.file_binary",
    "library.file_encoding".
    """
    page = text_of(name, data).encode("utf-8", "replace")
    handler = SurveyHandler(None, lambda done: progress(0, 1))
    parse(page, handler)
    survey = handler.survey
    total = 1 + survey.elements // 1000
    writer = Writer()

    def see(address: str) -> str:
        return survey.titles.get(unquote(address[1:]), "") if address.startswith("#") else ""

    parse(
        page,
        Walker(writer, survey, see, progress=lambda done: progress(done // 1000, total)),
    )
    if writer.empty:
        raise UserError("library.file_empty", name=name)
    return writer.document(title_of(survey) or title_from_name(name))


def title_of(survey: Survey) -> str:
    """A page's own title; "" if it has none."""
    titles = [heading.title for heading in survey.own if not heading.quoted]
    first = next((heading.title for heading in survey.own if heading.level == 1), titles[0] if titles else "")
    if first and _plain(first) in map(_plain, _BETWEEN.split(survey.title)):
        return first
    return survey.title or first


def text_of(name: str, data: bytes) -> str:
    """The markup in `data`, decoded by its byte-order mark, else as valid UTF-8, else as declared, else by its shape.

    UTF-8 precedes the declaration, because hardly any other text is valid UTF-8 by chance, and converted pages often
    still declare their former encoding. Raises UserError as `decode` does.
    """
    declared = _declared(data)
    if declared is None or data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return decode(name, data)
    try:
        if b"\x1b" not in data:  # the character with which ISO 2022 begins its letters
            data.decode("utf-8")
            return decode(name, data)
    except UnicodeDecodeError:
        pass
    text = data.decode(declared, "replace")
    if "\x00" in text or 50 * text.count("\ufffd") > len(text):
        return decode(name, data)
    return text


def _declared(data: bytes) -> str | None:
    """The encoding that a page or an XML file declares, if it is possible and not UTF-8."""
    match = _DECLARED.search(data, 0, _DECLARED_WITHIN)
    if not match:
        return None
    label = (match[1] or match[2]).decode("ascii", "replace")
    if not _ENCODINGS.fullmatch(label):
        return None
    try:
        encoding = codecs.lookup(label).name
    except LookupError:
        return None
    return "cp1252" if encoding in _WESTERN else encoding


def _plain(title: str) -> str:
    return " ".join(title.casefold().split())
