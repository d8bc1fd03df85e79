"""Turns rows of cells into a document's tables; blank rows separate tables.

Pure; shared by the readers of spreadsheets and of separated values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

from bot.readers.writer import Writer


def write_rows(writer: Writer, rows: Iterable[Mapping[int, str]]) -> None:
    """Write rows, each given as its filled cells by column; an empty row ends a table.

    Rows of a single cell in front of a table are paragraphs, and columns without a word in a table are left out.
    """
    table: list[Mapping[int, str]] = []
    for row in chain(rows, [{}]):
        filled = {column: text for column, text in row.items() if text.strip()}
        if filled:
            table.append(filled)
        elif table:
            _write(writer, table)
            table = []


def _write(writer: Writer, table: list[Mapping[int, str]]) -> None:
    columns = sorted({column for row in table for column in row})
    if len(columns) == 1:
        writer.paragraph("\n".join(text for row in table for text in row.values()))
        return
    head = 0
    while len(table[head]) == 1:
        writer.paragraph(next(iter(table[head].values())))
        head += 1
    writer.table([[row.get(column, "") for column in columns] for row in table[head:]])
