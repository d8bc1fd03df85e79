"""The titles of a shelf's documents and sections, and the chunks under each; chunks are numbered across the shelf.

Independent of words and scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.retrieval.lexical import Segment
from bot.retrieval.ranking import Part
from bot.retrieval.titles import Match

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ShelvedDocument:
    """The data that a shelf needs about one document. `chunk_sections[i]` is the section ordinal of its chunk i."""

    id: str
    title: str
    language: str
    sections: Sequence[tuple[str, tuple[str, ...]]]  # (title, path) by ordinal
    chunk_sections: Sequence[int]
    segment: Segment


class Contents:
    """Titles and chunks of a shelf; immutable once made."""

    def __init__(self, documents: Sequence[ShelvedDocument]) -> None:
        import numpy as np

        self.documents: list[tuple[str, str]] = []
        """(id, language)"""
        self.sections: list[tuple[int, int, str, tuple[str, ...]]] = []
        """(number of the document, ordinal in it, title, path)"""
        self.titles: list[tuple[str, int, str]] = []
        """(title, entry, language), first of sections, then of documents, whose entries are negative."""
        self._number: dict[str, int] = {}
        self._section_base: list[int] = []
        own_titles: list[tuple[str, int, str]] = []
        section_of, counts, spoken = [np.zeros(0, np.int32)], [0], list[str]()
        for at, document in enumerate(documents):
            language, base = document.language, len(self.sections)
            self._section_base.append(base)
            self._number[document.id] = at
            self.documents.append((document.id, language))
            own_titles.append((document.title, -1 - at, language))
            spoken.append(language)
            for ordinal, (title, path) in enumerate(document.sections):
                self.titles.append((title, base + ordinal, language))
                self.sections.append((at, ordinal, title, path))
            section_of.append(np.asarray(document.chunk_sections, dtype=np.int32) + np.int32(base))
            counts.append(len(document.chunk_sections))
        self._section_base.append(len(self.sections))
        self.titles += own_titles
        self.languages = dict(self.documents)
        self.first: NDArray[np.int64] = np.cumsum(counts, dtype=np.int64)
        """Where each document's chunks begin, and where the last document's end."""
        self.size = int(self.first[-1])
        self.language_of: NDArray[np.object_] = np.repeat(np.array(spoken, object), counts[1:])
        self.section_of: NDArray[np.int32] = np.concatenate(section_of)
        sections = np.arange(len(self.sections) + 1)
        self._section_first = np.searchsorted(self.section_of, sections).astype(np.int64)
        self.starts: NDArray[np.int64] = np.concatenate([self._section_first[:-1], self.first[:-1]])
        """Where the chunks of each of `titles` begin."""
        self.ends: NDArray[np.int64] = np.concatenate([self._section_first[1:], self.first[1:]])

    def chunk_number(self, chunk_id: str) -> int | None:
        document, _, ordinal = chunk_id.rpartition(":")
        at = self._number.get(document)
        if at is None or not ordinal.isdigit():
            return None
        number = int(self.first[at]) + int(ordinal)
        return number if number < self.first[at + 1] else None

    def chunk_id(self, number: int) -> str:
        document = self.sections[int(self.section_of[number])][0]
        return f"{self.documents[document][0]}:{number - int(self.first[document])}"

    def mask(self, parts: Sequence[Part]) -> NDArray[np.bool_]:
        """Which chunks belong to these parts of documents."""
        import numpy as np

        mask = np.zeros(self.size, dtype=bool)
        for document, first, past in parts:
            if (at := self._number.get(document)) is not None:
                base, end = self._section_base[at : at + 2]
                sections = slice(min(base + first, end), min(base + past, end))
                mask[self._section_first[sections.start] : self._section_first[sections.stop]] = True
        return mask

    def _entry_chunks(self, entry: int) -> slice:
        if entry < 0:
            return slice(int(self.first[-1 - entry]), int(self.first[-entry]))
        return slice(int(self._section_first[entry]), int(self._section_first[entry + 1]))

    def title_chunks(self, titles: Sequence[Match], k: int) -> dict[int, str]:
        """For each title looked up, the chunks where its text begins and continues: half of `k` in all.

        For a title that only nearly matches the question, only the first chunk, because the best passage may be
        another's.
        """
        spans: list[tuple[slice, str]] = []
        first: dict[int, str] = {}
        for match in titles:
            span = self.text_under(match.entry)
            if span.stop > span.start:
                spans.append((span, match.kind))
                first[span.start] = match.kind
        for span, kind in spans if len(spans) <= 2 else ():
            if kind == "fuzzy":
                continue
            stop = min(span.stop, span.start + max(1, k // 2 // len(spans)))
            first.update(dict.fromkeys(range(span.start, stop), kind))
        return first

    def text_under(self, entry: int) -> slice:
        """The chunks of a title's section; for a section without its own text, those of the first section below it."""
        span = self._entry_chunks(entry)
        if entry < 0:
            return span
        document, _, _, path = self.sections[entry]
        while span.start == span.stop and entry + 1 < len(self.sections):
            entry += 1
            at, _, _, below = self.sections[entry]
            if at != document or below[: len(path)] != path or below == path:
                break
            span = self._entry_chunks(entry)
        return span

    def in_order(self, numbers: Sequence[int], first: Iterable[int]) -> list[int]:
        """The passages, with those of sections that were looked up by their titles in the book's order."""
        ordered = list(numbers)
        for section in set(self.section_of[list(first)].tolist()):
            places = [at for at, number in enumerate(numbers) if self.section_of[number] == section]
            for at, number in zip(places, sorted(numbers[at] for at in places), strict=True):
                ordered[at] = number
        return ordered
