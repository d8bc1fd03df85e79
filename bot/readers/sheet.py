"""Excel workbooks (.xlsx) into Documents: a section for each sheet, its rows as tables, with values as displayed.

Reads the XML itself, row by row, because openpyxl does not apply number formats and, in its memory-saving mode, knows
no merged cells. Hidden sheets, rows and columns are left out, as are comments, charts and pictures. Nothing is
computed: a formula is replaced by the value stored in the file, else kept as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from bot.events import UserError
from bot.readers import package
from bot.readers.archive import Archive
from bot.readers.document import Document, title_from_name
from bot.readers.package import Element, attribute, child, children, local, number, within
from bot.readers.rows import write_rows
from bot.readers.writer import Writer

if TYPE_CHECKING:
    from bot.readers.document import Progress

_CELL: Final = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})")
_TRUE: Final = ("1", "true")
_UNNAMED: Final = re.compile(r"(?:sheet|tabelle|planilha|plan|folha|feuil|hoja|foglio)\s?\d*", re.IGNORECASE)
"""Default names of sheets."""
_FILLED: Final = 100_000
"""The most merged cells of a sheet that repeat their value."""
_REPEATED: Final = 200
"""Characters; a longer merged value is written once."""
_EVERY: Final = 1_000

_BUILT_IN: Final = {
    1: "0", 2: "0.00", 3: "0", 4: "0.00", 9: "0%", 10: "0.00%", 37: "0", 38: "0", 39: "0.00", 40: "0.00",
    **dict.fromkeys((14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58), "yyyy-mm-dd"),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56), "h:mm"), 22: "yyyy-mm-dd h:mm", 46: "[h]:mm",
}  # fmt: skip
"""The meanings of the built-in formats (ECMA-376 part 1, 18.8.30), as far as they are shown here."""
_SAID: Final = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|_.|\*.')
_ELAPSED: Final = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_BRACKETS: Final = re.compile(r"\[[^\]]*\]")
_DECIMALS: Final = re.compile(r"0\.(0+)|0")
_CURRENCY: Final = re.compile(r"R\$|[$€£¥₹]|[A-Z]{3}")
_DAYS: Final = 2_958_466
"""The serial number of the first day after the year 9999."""


class Format(NamedTuple):
    """A number's format: a date or a time, or the number of decimals (None: as many as it has)."""

    date: bool = False
    time: bool = False
    decimals: int | None = None
    percent: bool = False
    currency: str = ""


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The workbook in `data`; blocking. Raises UserError: "library.file_damaged", and as `Archive` does."""
    archive = Archive(name, data)
    of_package = package.relations(archive, "")
    main = package.first(of_package, "officeDocument") or "xl/workbook.xml"
    root = archive.xml(main)
    if local(root) != "workbook":
        raise UserError("library.file_damaged", name=name)
    related = package.relations(archive, main)
    strings = _strings(package.part(archive, package.first(related, "sharedStrings")))
    formats = _formats(package.part(archive, package.first(related, "styles")))
    properties = child(root, "workbookPr")
    since_1904 = properties is not None and properties.get("date1904") in _TRUE
    sheets = [
        (sheet.get("name", ""), related[attribute(sheet, "id")].member)
        for sheet in children(root, "sheets")
        if sheet.get("state", "visible") == "visible" and attribute(sheet, "id") in related
    ]
    writer = Writer()
    for done, (title, member) in enumerate(sheets):
        progress(done, len(sheets))
        if len(sheets) > 1 or not _UNNAMED.fullmatch(title.strip()):
            writer.heading(1, title)
        sheet = _Sheet(strings, formats, since_1904=since_1904)
        elements = archive.elements(member, "col", "row", "mergeCell")
        write_rows(writer, sheet.rows(elements, progress, (done, len(sheets))))
    core = package.part(archive, package.first(of_package, "core-properties") or "docProps/core.xml")
    return writer.document(package.title(core) or title_from_name(name))


def _strings(root: Element | None) -> list[str]:
    return [_words(item) for item in root if local(item) == "si"] if root is not None else []


def _words(item: Element) -> str:
    """A rich text's words, without their pronunciation."""
    return "".join(
        text.text or ""
        for text in within(item, "t")
        if (above := text.getparent()) is not None and local(above) != "rPh"
    )


def _formats(root: Element | None) -> list[Format]:
    """The formats by the number of a cell's style."""
    custom_codes = {each.get("numFmtId", ""): each.get("formatCode", "") for each in within(root, "numFmt")}
    return [
        shown_as(custom_codes.get(id := each.get("numFmtId", "0"), "") or _BUILT_IN.get(number(id), ""))
        for each in children(root, "cellXfs")
    ]


def shown_as(code: str) -> Format:
    """The format for a positive number that a format code (18.8.31) defines."""
    code = code.partition(";")[0]
    literal_words = " ".join(word for match in _SAID.finditer(code) for word in match.groups() if word)
    plain = _SAID.sub("", code)
    elapsed = bool(_ELAPSED.search(plain))
    letters = _BRACKETS.sub("", plain).lower()
    if "general" in letters or "@" in letters or not letters:
        return Format(time=elapsed)
    if "e+" in letters or "?/" in letters:
        return Format()
    date, time = any(one in letters for one in "yd"), elapsed or any(one in letters for one in "hs")
    if date or time or "mmm" in letters:
        return Format(date=date or not time, time=time)
    currency = _CURRENCY.search(literal_words) or _CURRENCY.search(plain)
    digits = _DECIMALS.search(plain)
    if digits is None:
        return Format()
    return Format(
        decimals=len(digits[1] or ""), percent="%" in plain, currency=currency[0] if currency else ""
    )


def shown(value: str, form: Format, *, since_1904: bool) -> str:
    """A number as its format shows it, with dates as year, month, day; other values unchanged."""
    try:
        amount = float(value)
    except ValueError:
        return value
    if form.date or form.time:
        return _moment(amount, form, since_1904=since_1904) or value
    if abs(amount) >= 1e15 or amount != amount:
        return value
    if form.decimals is None:
        return format(amount, ".15g")
    digits = f"{amount * (100 if form.percent else 1):.{min(form.decimals, 15)}f}"
    return f"{form.currency} {digits}".lstrip() + ("%" if form.percent else "")


def _moment(days: float, form: Format, *, since_1904: bool) -> str:
    if not 0 <= days < _DAYS:
        return ""
    if not form.date and days >= 1:  # a duration in hours
        minutes = round(days * 1440)
        return f"{minutes // 60}:{minutes % 60:02}"
    # Excel's calendar has a 29 February 1900.
    epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 31 if days < 60 else 30)
    try:
        moment = epoch + timedelta(seconds=round(days * 86_400))
    except OverflowError:
        return ""
    clock = moment.strftime("%H:%M:%S").removesuffix(":00")
    day = f"{moment.year:04}-{moment.month:02}-{moment.day:02}"
    return clock if not form.date else f"{day} {clock}" if form.time else day


class _Sheet:
    """One sheet's cells."""

    def __init__(self, strings: list[str], formats: list[Format], *, since_1904: bool) -> None:
        self._strings = strings
        self._formats = formats
        self._since_1904 = since_1904
        self._hidden: set[int] = set()

    def rows(
        self, elements: Iterator[Element], progress: Progress, at: tuple[int, int]
    ) -> Iterator[dict[int, str]]:
        """The sheet's rows in order, each as cells by column; an empty row for missing ones."""
        rows_by_number: dict[int, dict[int, str]] = {}
        last = 0
        for element in elements:
            kind = local(element)
            if kind == "col" and element.get("hidden") in _TRUE:
                first = number(element.get("min"), 1)
                self._hidden.update(range(first, min(number(element.get("max"), first), 16_384) + 1))
            elif kind == "row":
                last = number(element.get("r"), last + 1)
                if element.get("hidden") not in _TRUE and (cells := self._cells(element)):
                    rows_by_number[last] = cells
                if last % _EVERY == 0:
                    progress(*at)
            elif kind == "mergeCell":
                _merge(rows_by_number, element.get("ref", ""))
        before = 0
        for place in sorted(rows_by_number):
            if place > before + 1:
                yield {}
            yield rows_by_number[place]
            before = place

    def _cells(self, row: Element) -> dict[int, str]:
        cells: dict[int, str] = {}
        column = 0
        for cell in row:
            if local(cell) != "c":
                continue
            column = place[0] if (place := _place(cell.get("r", ""))) else column + 1
            if column not in self._hidden and (text := self._value(cell).strip()):
                cells[column] = text
        return cells

    def _value(self, cell: Element) -> str:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            value_element = child(cell, "is")
            return _words(value_element) if value_element is not None else ""
        value_element = child(cell, "v")
        value = (value_element.text or "") if value_element is not None else ""
        if not value:
            formula = child(cell, "f")
            return f"={formula.text}" if formula is not None and formula.text else ""
        if kind == "s":
            at = number(value, -1)
            return self._strings[at] if 0 <= at < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind != "n":
            return value
        style = number(cell.get("s"))
        form = self._formats[style] if style < len(self._formats) else Format()
        return shown(value, form, since_1904=self._since_1904)


def _place(reference: str) -> tuple[int, int] | None:
    """The column and the row of "B7", from 1."""
    if (match := _CELL.fullmatch(reference)) is None:
        return None
    column = 0
    for letter in match[1]:
        column = 26 * column + ord(letter) - 64
    return column, int(match[2])


def _merge(rows_by_number: dict[int, dict[int, str]], reference: str) -> None:
    """Note a merged cell, whose value is repeated in each of its rows."""
    first, _, last = reference.partition(":")
    begin, end = _place(first), _place(last)
    if begin is None or end is None:
        return
    (column, top), (_, bottom) = begin, end
    text = rows_by_number.get(top, {}).get(column, "")
    if not text or len(text) > _REPEATED or bottom - top > _FILLED:
        return
    for row in range(top + 1, bottom + 1):
        if row in rows_by_number:
            rows_by_number[row].setdefault(column, text)
