"""The values in a PDF's form fields, as words at the fields' places on the page."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, Final

import pypdfium2.raw as pdfium

from bot.readers.pdf.page import Word

_FIELDS: Final = 5_000
"""The most annotations of a page that are looked at."""
_LONGEST: Final = 100_000
"""The most bytes of a value."""
_HIDDEN: Final = 0b10 | 0b100000
"""Flags of an annotation: hidden, not to be viewed (ISO 32000-1, table 165)."""
_PASSWORD: Final = 1 << 13
_WRITTEN: Final = (
    pdfium.FPDF_FORMFIELD_TEXTFIELD,
    pdfium.FPDF_FORMFIELD_COMBOBOX,
    pdfium.FPDF_FORMFIELD_LISTBOX,
)
_CHECKED: Final = (pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON)
_LARGEST: Final = 10.0


def values(page: Any, form: Any, box: tuple[float, float, float, float]) -> Iterator[Word]:
    """The words in the fields of a page, whose corners are `box`."""
    for at in range(min(pdfium.FPDFPage_GetAnnotCount(page), _FIELDS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, at)
        if not annotation:
            continue
        try:
            if value := _value(form, annotation):
                rect = pdfium.FS_RECTF()
                pdfium.FPDFAnnot_GetRect(annotation, rect)
                yield from _words(value, rect, box)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _value(form: Any, annotation: Any) -> str:
    if pdfium.FPDFAnnot_GetSubtype(annotation) != pdfium.FPDF_ANNOT_WIDGET:
        return ""
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if pdfium.FPDFAnnot_GetFlags(annotation) & _HIDDEN:
        return ""
    if kind in _CHECKED:
        return "[x]" if pdfium.FPDFAnnot_IsChecked(form, annotation) else ""
    if kind not in _WRITTEN or pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        return ""
    size = min(pdfium.FPDFAnnot_GetFormFieldValue(form, annotation, None, 0), _LONGEST)
    buffer = ctypes.create_string_buffer(size)
    pdfium.FPDFAnnot_GetFormFieldValue(
        form, annotation, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size
    )
    text = buffer.raw.decode("utf-16-le", "ignore").partition("\x00")[0]
    return "".join(letter for letter in text if letter.isprintable() or letter.isspace())


def _words(value: str, rect: Any, box: tuple[float, float, float, float]) -> Iterator[Word]:
    lines = value.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    height = max(rect.top - rect.bottom, 1.0) / len(lines)
    size = min(0.75 * height, _LARGEST)
    for down, line in enumerate(lines):
        left = rect.left - box[0]
        base = box[3] - rect.top + height * (down + 1) - 0.25 * height
        for word in line.split():
            right = left + 0.5 * size * len(word)
            yield Word(word, left, right, base, round(size, 1))
            left = right + 0.3 * size
