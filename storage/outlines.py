"""The outlines of documents that have one: what they are called, where they are from, their parts.

Only reads; `documents` put them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from storage.db import Database
from storage.document_rows import VISIBLE, Lesson


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """A document on its shelf, by its id, with its outline."""

    document_id: str
    source: str
    title: str
    language: str
    link: str
    instructor: str
    lessons: tuple[Lesson, ...]


class Outlines:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def of(self, space: str, shelf: str) -> Sequence[OutlineRow]:
        """Those of a shelf, all of one moment, by title."""
        from sqlalchemy import select

        from storage.tables import documents, lessons, outlines

        d, k = documents.c, lessons.c
        on_shelf = (d.space == space, d.shelf == shelf, d.state.in_(VISIBLE))
        heads = (
            select(d.id, d.source, d.title, d.language, outlines.c.link, outlines.c.instructor)
            .join(outlines, outlines.c.document_id == d.id)
            .where(*on_shelf)
            .order_by(d.title, d.id)
        )
        parts = (
            select(k.document_id, k.id, k.number, k.title, k.link, k.first, k.past)
            .join(documents)
            .where(*on_shelf)
            .order_by(k.document_id, k.ordinal)
        )
        async with self._db.read() as connection:
            head_rows = (await connection.execute(heads)).all()
            rows = (await connection.execute(parts)).all()
        of = {
            id: tuple(Lesson(*row[1:]) for row in lesson_rows)
            for id, lesson_rows in groupby(rows, itemgetter(0))
        }
        return [OutlineRow(*head, of.get(head.id, ())) for head in head_rows]
