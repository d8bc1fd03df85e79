"""Expands passages over their neighbours: search matches small chunks, and the answerer may read more around them.

Uses the rows, not the ranking. While `parent_chars` equals `child_chars`, the measured default, only passages of names
that no heading has are expanded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bot.retrieval.chunk import parents

if TYPE_CHECKING:
    from storage.document_rows import ChunkRow, PassageRow, SectionRow

NAME_CHARS = 2000
"""The least length to which passages are expanded for a name that no heading has, because its text is near its
mentions.
"""

REACH = 12
"""The most chunks before and after a passage that an expansion may add."""


class Rows(Protocol):
    """The part of `storage.passages.Passages` that expansion needs."""

    async def get(self, space: str, ids: Iterable[str]) -> Mapping[str, PassageRow]: ...

    async def chunks_of(
        self, space: str, document_id: str, after_ordinal: int = -1, limit: int = 256
    ) -> Sequence[ChunkRow]: ...

    async def span(self, space: str, document_id: str, start: int, end: int) -> str | None: ...

    async def section(self, space: str, document_id: str, ordinal: int) -> SectionRow | None: ...

    async def turns(
        self, space: str, spans: Collection[tuple[str, int, int]]
    ) -> Mapping[str, Sequence[tuple[int, int]]]: ...


@dataclass(frozen=True, slots=True)
class ExpandedPassage:
    """The characters start … end-1 of a passage's document; a table's repeated heading may precede them."""

    row: PassageRow
    text: str
    start: int
    end: int


async def expanded(
    passages: Rows, space: str, rows: Sequence[PassageRow], parent_chars: int
) -> list[ExpandedPassage]:
    """Each passage expanded within its section to at most `parent_chars` characters.

    A passage that an earlier expanded one includes is left out.
    """
    covered: set[str] = set()
    spans_read: list[ExpandedPassage] = []
    for row in rows:
        chunk = row.chunk
        if chunk.id in covered:
            continue
        neighbours = await passages.chunks_of(
            space, chunk.document_id, max(-1, chunk.ordinal - REACH - 1), 2 * REACH + 1
        )
        spans = [(chunk_row.section, chunk_row.start, chunk_row.end) for chunk_row in neighbours]
        index = next(
            (n for n, chunk_row in enumerate(neighbours) if chunk_row.ordinal == chunk.ordinal), None
        )
        if index is None:  # its book was replaced a moment ago
            continue
        start, end = parents(spans, index, parent_chars)
        covered.update(
            chunk_row.id for chunk_row in neighbours if start <= chunk_row.start and chunk_row.end <= end
        )
        wide = (start, end) != (chunk.start, chunk.end)
        text = await passages.span(space, chunk.document_id, start, end) if wide else None
        if text is None:
            text, start, end = chunk.text, chunk.start, chunk.end
        spans_read.append(ExpandedPassage(row, text, start, end))
    return spans_read
