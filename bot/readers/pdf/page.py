"""Reads a page of a PDF into words with their position, size and weight. Independent of layout.

All coordinates are upright: x grows to the right and y downwards, in points, for a reader who holds the page so that
its text is upright. All calls of PDFium except the opening are here.
"""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfiumError

HYPHEN: Final = "\xad"
"""A hyphen at the end of a word that may exist only because of the line end."""

_BULLETS: Final = {
    **dict.fromkeys((0xF0B7, 0xF06C, 0xF09F), "•"),
    **dict.fromkeys((0xF0A7, 0xF06E, 0xF0A8), "▪"),
    **dict.fromkeys((0xF0D8, 0xF0E0, 0xF076), "➢"),
    0xF0FC: "✓",
}
"""The list marks of Symbol and Wingdings in Unicode's private use area."""
_FORMS: Final = re.compile("[\ufb00-\ufdff\ufe70-\ufefc\U0001d400-\U0001d7ff]")
"""Presentation forms of letters (ligatures, Arabic shapes) and the mathematical alphabets."""
_BOLD: Final = re.compile(r"bold|black|heavy|demi(?!a)", re.IGNORECASE)
_SLANTED: Final = re.compile(r"italic|oblique|slanted", re.IGNORECASE)
_FORCE_BOLD: Final = 1 << 18
_ITALIC: Final = 1 << 6
"""Bits of a font's flags (ISO 32000-1, table 123)."""
_BOLD_WEIGHT: Final = 600
_SKEW: Final = 0.1
"""Radians by which a line of text may be off a right angle; more is a stamp across the page."""
_NO_WIDTH: Final = 0.01
"""Points below which a character has no width."""
_FORM_DEPTH: Final = 4
_OBJECTS: Final = 200
"""The most objects of a page without words that are searched for a picture."""


@dataclass(frozen=True, slots=True)
class Word:
    """Characters between blanks: `left` and `right` edges, `base`line, type `size` in points."""

    text: str
    left: float
    right: float
    base: float
    size: float
    bold: bool = False
    italic: bool = False


@dataclass(slots=True)
class PageWords:
    """The words of a page in the file's order; words with another rotation are kept separately."""

    words: list[Word] = field(default_factory=list)
    turned: list[list[Word]] = field(default_factory=list)
    height: float = 0.0
    unknown: int = 0
    """The number of characters for which the file does not say which letters they are."""
    pictured: bool = False
    """Whether it has a picture; checked only if there are hardly any words."""
    characters: int = 0
    missing: int = 0
    """The number of text pieces for which PDFium gives no letter."""
    opened: bool = True
    recognized: bool = False
    """Whether the words were recognized in a picture."""

    def emptied(self) -> PageWords:
        """A copy without the words."""
        return replace(self, words=[], turned=[])


@dataclass(frozen=True, slots=True)
class _Style:
    size: float
    bold: bool
    italic: bool
    quarter: int
    """The right angles by which the text is turned against the page, or -1 for any other angle."""


Fields = Callable[[Any, tuple[float, float, float, float]], Iterable[Word]]
"""Gives the words in a page's form for the page's corners."""


def read_page(
    pdf: PdfDocument,
    number: int,
    fields: Fields | None = None,
    recognize: Callable[[Any], tuple[list[Word], float]] | None = None,
) -> PageWords:
    """Page `number` (from 0) of a document; a page that PDFium cannot read has no words. `recognize` finds the words
    and the height of a page that is a picture.
    """
    try:
        page = pdf[number]
    except PdfiumError:
        return PageWords(opened=False)
    try:
        page_words = _read(page, fields)
        if recognize is not None and page_words.pictured:
            words, height = recognize(page)
            if (characters := sum(len(word.text) for word in words)) > page_words.characters:
                return PageWords(words, height=height, characters=characters, recognized=True)
    except PdfiumError:
        return PageWords(opened=False)
    else:
        return page_words
    finally:
        page.close()


def _read(page: Any, fields: Fields | None) -> PageWords:
    box = page.get_bbox()
    widened = set(_widened(page.raw, pdfium.FPDFPage_CountObjects, pdfium.FPDFPage_GetObject, 0))
    page_words = PageWords()
    ways: dict[int, list[Word]] = {}
    text = page.get_textpage()
    try:
        for word, quarter, unknown in _words(text.raw, box, widened):
            page_words.unknown += unknown
            if word is not None:
                ways.setdefault(quarter, []).append(word)
    finally:
        text.close()
    page_words.missing = len(widened)
    if fields is not None:
        ways.setdefault(0, []).extend(fields(page.raw, box))
        ways = {quarter: words for quarter, words in ways.items() if words}
    skewed = ways.pop(-1, [])
    if not ways and skewed:
        ways[0] = skewed
    by_size = sorted(ways, key=lambda quarter: -sum(len(word.text) for word in ways[quarter]))
    page_words.words, *page_words.turned = [ways[quarter] for quarter in by_size] or [[]]
    sides = (box[3] - box[1], box[2] - box[0])
    page_words.height = sides[by_size[0] % 2] if by_size else sides[0]
    page_words.characters = sum(len(word.text) for words in ways.values() for word in words)
    if page_words.characters < 60:
        page_words.pictured = _pictured(page)
    return page_words


def _widened(
    container: Any, count: Callable[[Any], int], get: Callable[[Any, int], Any], depth: int
) -> Iterator[int]:
    """Make text without width visible to PDFium.

    PDFium leaves out text without width, such as a single glyph in a font that is not embedded, unless its letters
    have an outline. Yields the addresses of such pieces.
    """
    sides = [ctypes.c_float() for _ in range(4)]
    for at in range(count(container)):
        part = get(container, at)
        kind = pdfium.FPDFPageObj_GetType(part)
        if kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _FORM_DEPTH:
            yield from _widened(
                part, pdfium.FPDFFormObj_CountObjects, pdfium.FPDFFormObj_GetObject, depth + 1
            )
        if kind != pdfium.FPDF_PAGEOBJ_TEXT or not pdfium.FPDFPageObj_GetBounds(part, *sides):
            continue
        left, low, right, top = (side.value for side in sides)
        if max(right - left, top - low) > _NO_WIDTH or pdfium.FPDFFont_GetIsEmbedded(
            pdfium.FPDFTextObj_GetFont(part)
        ):
            continue
        pdfium.FPDFTextObj_SetTextRenderMode(part, pdfium.FPDF_TEXTRENDERMODE_STROKE)
        pdfium.FPDFPageObj_SetStrokeWidth(part, 1.0)
        pdfium.FPDFPageObj_Transform(part, 1, 0, 0, 1, 0, 0)
        yield ctypes.cast(part, ctypes.c_void_p).value or 0


def _words(
    text: Any, box: tuple[float, float, float, float], widened: set[int]
) -> Iterator[tuple[Word | None, int, int]]:
    """Each word inside the box, its quarter, and its number of unknown characters. Addresses that have characters are
    removed from `widened`.
    """
    styles: dict[int, _Style] = {}
    faces: dict[int, tuple[bool, bool]] = {}
    first = last = high = 0
    style: _Style | None = None
    letters: list[str] = []
    before = -1
    unknown = 0

    def flush() -> Iterator[tuple[Word | None, int, int]]:
        nonlocal letters, unknown
        if letters or unknown:
            yield (
                _word("".join(letters), text, first, last, style, box),
                style.quarter if style else 0,
                unknown,
            )
        letters, unknown = [], 0

    for at in range(pdfium.FPDFText_CountChars(text)):
        code = pdfium.FPDFText_GetUnicode(text, at)
        if 0xD800 <= code < 0xDC00:
            high = code
            continue
        if 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((high - 0xD800) << 10) + code - 0xDC00 if high else 0xFFFD
        high = 0
        owner = ctypes.cast(pdfium.FPDFText_GetTextObject(text, at), ctypes.c_void_p).value or 0
        widened.discard(owner)
        if not owner or code in (0x20, 0xA0, 0x09, 0x0A, 0x0D) or 0x2000 <= code <= 0x200A or code == 0x3000:
            yield from flush()
            continue
        if owner != before or style is None:
            before = owner
            now = styles.get(owner) or styles.setdefault(owner, _style(text, at, faces))
            if letters and (
                style is None or now.quarter != style.quarter or _apart(text, last, at, now.size)
            ):
                yield from flush()
            style = now
        if not letters:
            first = at
            if pdfium.FPDFText_HasUnicodeMapError(text, at) == 1:
                code = 0xFFFD
        last = at
        if code == 0x02:  # PDFium's sign for a hyphen at a line's end
            letters.append(HYPHEN)
            yield from flush()
        elif letter := _letter(code):
            letters.append(letter)
        elif code == 0xFFFD or 0xE000 <= code < 0xF900 or code >= 0xF0000:
            unknown += 1
    yield from flush()


def _letter(code: int) -> str:
    """The character for a code; "" if it is no text, or unknown."""
    if 0xE000 <= code < 0xF900:
        return _BULLETS.get(code, "")
    if code in (0xFFFD, 0xFFFE, 0xFFFF, 0xFEFF) or code >= 0xF0000:
        return ""
    letter = chr(code)
    return letter if code == 0xAD or unicodedata.category(letter) not in ("Cc", "Cf", "Cs", "Cn") else ""


def _word(
    words: str, text: Any, first: int, last: int, style: _Style | None, box: tuple[float, float, float, float]
) -> Word | None:
    words = unicodedata.normalize(
        "NFC", _FORMS.sub(lambda form: unicodedata.normalize("NFKC", form[0]), words)
    )
    words = words[:-1].replace(HYPHEN, "") + words[-1:]
    if not words.strip(HYPHEN) or style is None:
        return None
    x, y = _origin(text, first)
    start, end = _box(text, first), _box(text, last)
    left, low = min(start[0], end[0]), min(start[1], end[1])
    right, top = max(start[2], end[2]), max(start[3], end[3])
    if right < box[0] or left > box[2] or top < box[1] or low > box[3]:
        return None
    word = Word(words, left - box[0], right - box[0], box[3] - y, style.size, style.bold, style.italic)
    if style.quarter == 1:  # upwards
        return replace(word, left=low - box[1], right=top - box[1], base=x - box[0])
    if style.quarter == 2:  # upside down
        return replace(word, left=box[2] - right, right=box[2] - left, base=y - box[1])
    if style.quarter == 3:  # downwards
        return replace(word, left=box[3] - top, right=box[3] - low, base=box[2] - x)
    return word


def _style(text: Any, at: int, faces: dict[int, tuple[bool, bool]]) -> _Style:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(text, at, matrix)
    size = pdfium.FPDFText_GetFontSize(text, at) * math.hypot(matrix.c, matrix.d)
    turn = math.atan2(matrix.b, matrix.a) / (math.pi / 2)
    quarter = round(turn) % 4 if abs(turn - round(turn)) * math.pi / 2 < _SKEW else -1
    font = pdfium.FPDFTextObj_GetFont(pdfium.FPDFText_GetTextObject(text, at))
    face = ctypes.cast(font, ctypes.c_void_p).value or 0
    bold, italic = faces.get(face) or faces.setdefault(face, _face(font))
    size = round(abs(size), 1) if math.isfinite(size) and abs(size) > 0.1 else 1.0
    return _Style(size, bold, italic, quarter)


def _face(font: Any) -> tuple[bool, bool]:
    """Whether a font is bold, and whether it is slanted: by its name, its flags or its weight."""
    buffer = ctypes.create_string_buffer(128)
    pdfium.FPDFFont_GetBaseFontName(font, buffer, len(buffer))
    name = buffer.value.decode("utf-8", "replace")
    flags = max(pdfium.FPDFFont_GetFlags(font), 0)
    heavy = bool(_BOLD.search(name) or flags & _FORCE_BOLD)
    return heavy or pdfium.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT, bool(
        _SLANTED.search(name) or flags & _ITALIC
    )


def _apart(text: Any, last: int, at: int, size: float) -> bool:
    """Whether two consecutive characters are too far apart to be in one word."""
    x, y = _origin(text, last)
    left, low, right, top = _box(text, last)
    new_x, new_y = _origin(text, at)
    new = _box(text, at)
    across = max(new[0] - right, left - new[2])
    along = max(new[1] - top, low - new[3])
    return max(across, along) > 0.5 * size or min(abs(new_x - x), abs(new_y - y)) > 0.7 * size


def _origin(text: Any, at: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text, at, x, y)
    return x.value, y.value


def _box(text: Any, at: int) -> tuple[float, float, float, float]:
    rect = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(text, at, rect)
    return rect.left, rect.bottom, rect.right, rect.top


def _pictured(page: Any) -> bool:
    """Whether there is an image among the page's first objects, or a form that may hold one."""
    kinds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM)
    count = min(pdfium.FPDFPage_CountObjects(page), _OBJECTS)
    return any(
        pdfium.FPDFPageObj_GetType(pdfium.FPDFPage_GetObject(page, at)) in kinds for at in range(count)
    )
