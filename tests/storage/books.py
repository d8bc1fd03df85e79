"""A made-up book for the storage tests, in the form in which readers and chunkers hand it over."""

from __future__ import annotations

from dataclasses import dataclass, replace

from storage.db import new_id
from storage.document_rows import NewDocument


@dataclass(frozen=True, slots=True)
class Section:
    ordinal: int
    level: int
    title: str
    path: tuple[str, ...]
    start: int
    end: int
    page: int | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    ordinal: int
    section: int
    start: int
    end: int
    text: str
    breadcrumb: str


@dataclass(frozen=True, slots=True)
class Link:
    section: int
    target: str


def book(
    space: str = "local", shelf: str = "rules", *, chunks: int = 3, chunk_chars: int = 20, **changes: str
) -> NewDocument:
    """One section per chunk; the text of chunk n is made of the letter ã and n."""
    pieces = [f"ã{n} ".ljust(chunk_chars, "x") for n in range(chunks)]
    starts = [n * chunk_chars for n in range(chunks)]
    document = NewDocument(
        id=new_id(),
        space=space,
        shelf=shelf,
        source="book.md",
        title="The Book",
        language="en",
        sha256="same",
        size=chunks * chunk_chars,
        text="".join(pieces),
        sections=[
            Section(n, 1, f"Part {n}", ("The Book", f"Part {n}"), start, start + chunk_chars, n + 1)
            for n, start in enumerate(starts)
        ],
        chunks=[
            Chunk(n, n, start, start + chunk_chars, pieces[n], f"The Book › Part {n}")
            for n, start in enumerate(starts)
        ],
        links=[Link(0, "Part 1")],
        segment=b"postings",
    )
    return replace(document, **changes)  # type: ignore[arg-type]
