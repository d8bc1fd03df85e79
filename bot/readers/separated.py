"""Separated values (.csv, .tsv) into a Document: one table, its first row the names of the columns.

The separator is the one that divides the first rows equally. Formulas are kept as written; nothing is computed.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from bot.events import UserError
from bot.readers.decode import decode
from bot.readers.document import Document, Progress, title_from_name
from bot.readers.rows import write_rows
from bot.readers.writer import Writer

_SEPARATORS: Final = ",;\t|"
_ROWS: Final = 50
"""The rows that decide which separator it is."""
_NAMED: Final = re.compile(r"sep=(.)\n", re.IGNORECASE)
"""Excel's own first line, which names the separator."""
_EVERY: Final = 10_000
_LONGEST: Final = 1_000_000
"""The most characters of a cell."""


def read(name: str, data: bytes, progress: Progress) -> Document:
    """The table in `data`; blocking. Raises UserError as `decode` does, and "library.file_damaged"."""
    text = decode(name, data)
    csv.field_size_limit(_LONGEST)
    named = _NAMED.match(text)
    body = text[named.end() :] if named else text
    separator = named[1] if named else _separator(body)
    writer = Writer()
    try:
        rows = csv.reader(io.StringIO(body, newline=""), delimiter=separator, skipinitialspace=True)
        write_rows(writer, _by_column(rows, len(body), progress))
    except csv.Error as fault:
        raise UserError("library.file_damaged", name=name) from fault
    return writer.document(title_from_name(name))


def _by_column(rows: Iterable[list[str]], length: int, progress: Progress) -> Iterator[dict[int, str]]:
    """Each row's cells by column; `progress` counts characters."""
    done = 0
    for n, row in enumerate(rows):
        if n % _EVERY == 0:
            progress(min(done, length), length)
        done += sum(map(len, row)) + len(row)
        yield dict(enumerate(row))


def _separator(text: str) -> str:
    """The separator by which most of the first rows have the same number of cells, and more than one."""

    def fitness(separator: str) -> tuple[int, int]:
        try:
            rows = list(islice(csv.reader(io.StringIO(text, newline=""), delimiter=separator), _ROWS))
        except csv.Error:
            return 0, 0
        counts = Counter(len(row) for row in rows if len(row) > 1)
        (cells, times), *_ = counts.most_common(1) or [(0, 0)]
        return times, cells

    return max(_SEPARATORS, key=fitness)
