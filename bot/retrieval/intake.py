"""Takes documents in: read, cut, counted and stored first, vectors afterwards.

Each call is idempotent, so that a durable run may repeat the one that a crash cut off. Knows no run.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.events import Sorry
from bot.retrieval.files import read_whole
from bot.retrieval.language import may_vote
from storage.faults import fault_of

if TYPE_CHECKING:
    from bot.config import Config
    from bot.retrieval.embedding import Embedding
    from storage.document_rows import ChunkRow, NewDocument
    from storage.documents import Documents
    from storage.passages import Passages
    from storage.vectors import Vectors

_NAMESPACE = uuid.UUID("6f1c3c0e-6a0f-5d0c-9d52-0f6a7f0c7a51")


@dataclass(frozen=True, slots=True)
class Item:
    """One file of a job. `replaces` is the id of the document it takes the place of, for a reindex."""

    name: str
    path: str
    replaces: str = ""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of one file: a new document, a known one (`known`), or a refusal (`key` is not empty)."""

    name: str
    document: str = ""
    chunks: int = 0
    sections: int = 0
    language: str = ""
    known: bool = False
    key: str = ""
    values: dict[str, str | int | float | bool | None] = field(default_factory=dict)


class Intake:
    """Writes what `Library` reads."""

    def __init__(
        self,
        config: Config,
        documents: Documents,
        passages: Passages,
        vectors: Vectors,
        embedding: Embedding,
    ) -> None:
        self._retrieval = config.retrieval
        self._originals = config.data_dir / "originals"
        self._max_bytes = config.library.max_mb * 1_000_000
        self._documents = documents
        self._passages = passages
        self._vectors = vectors
        self._embedding = embedding

    @property
    def max_bytes(self) -> int:
        """How large one file may be."""
        return self._max_bytes

    async def take(self, space: str, shelf: str, item: Item, key: str, *, replace: bool) -> Taken:
        """Read one file and put it on the shelf, searchable by its words from then on.

        `key` names the file within its job and must be the same on a repeat. A file that cannot be
        read is refused by name; only the storage's own faults are raised.
        """
        try:
            document_id = str(uuid.uuid5(_NAMESPACE, key))
            # Before the file is looked at: after a crash a reindex may find that its source was replaced by then.
            if (done := await self._documents.get(space, document_id)) is not None:
                return Taken(item.name, done.id, done.chunk_count, done.section_count, done.language)
            data = await asyncio.to_thread(read_whole, item.path, self._max_bytes)
            sha256 = hashlib.sha256(data).hexdigest()
            old = await self._in_the_way(space, shelf, item, sha256, replace=replace)
            if isinstance(old, Taken):
                return old
            new = await asyncio.to_thread(self._read, document_id, space, shelf, item.name, data, sha256)
        except Sorry as sorry:
            return Taken(item.name, key=sorry.key, values=_plain(sorry.values | {"name": item.name}))
        await asyncio.to_thread(self._keep_original, document_id, item.name, data)
        await self._documents.add(new, replaces=old)
        return Taken(item.name, document_id, len(new.chunks), len(new.sections), new.language)

    async def _in_the_way(
        self, space: str, shelf: str, item: Item, sha256: str, *, replace: bool
    ) -> list[str] | Taken:
        """Ids that the new document replaces, or what to answer instead of taking it in."""
        if item.replaces:
            if await self._documents.get(space, item.replaces) is None:
                return Taken(item.name, known=True)  # replaced or removed by somebody else meanwhile
            return [item.replaces]
        named = [
            one.id for one in await self._documents.find(space, shelf, item.name) if one.source == item.name
        ]
        same = await self._documents.by_sha(space, shelf, sha256)
        if same is not None and (same.source == item.name or not named):
            return Taken(item.name, same.id, same.chunk_count, same.section_count, same.language, known=True)
        if named and not replace:
            raise Sorry("library.name_taken", name=item.name, shelf=shelf)
        return named

    def _read(
        self, document_id: str, space: str, shelf: str, name: str, data: bytes, sha256: str
    ) -> NewDocument:
        from bot.readers import read
        from bot.retrieval.chunk import chunks
        from bot.retrieval.lexical import Segment
        from storage.document_rows import NewDocument

        document = read(name, data)
        parts = chunks(
            document, child_chars=self._retrieval.child_chars, parent_chars=self._retrieval.parent_chars
        )
        return NewDocument(
            id=document_id,
            space=space,
            shelf=shelf,
            source=name,
            title=document.title,
            language=document.language,
            sha256=sha256,
            size=len(data),
            text=document.text,
            sections=document.sections,
            chunks=parts,
            links=document.links,
            segment=Segment.build(parts, document.language).to_bytes(),
        )

    def _keep_original(self, document_id: str, name: str, data: bytes) -> None:
        kept = self.original(document_id, name)
        try:
            self._originals.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
        except OSError as error:
            kept.unlink(missing_ok=True)  # half a file helps nobody, and its room may
            raise fault_of(error) from error

    def original(self, document_id: str, name: str) -> Path:
        """Where the bytes of a document are kept, so that a reindex needs no expired address."""
        return self._originals / f"{document_id}{Path(name).suffix.lower()}"

    async def ready_for_vectors(self) -> str:
        """Fetch and load the embedder; "" when it is there, "none" when none is wanted, else "absent"."""
        if not self._embedding.wanted:
            return "none"
        await self._embedding.fetch()
        return "" if await self._embedding.get() is not None else "absent"

    async def do_without_vectors(self, space: str, taken: Sequence[Taken]) -> list[str]:
        """Call those documents ready whose language the embedder does not speak; the ids of the others."""
        embedder = await self._embedding.get()
        wanted = []
        for one in taken:
            if embedder is not None and may_vote(embedder.languages, None, one.language):
                wanted.append(one.document)
            elif embedder is not None or not self._embedding.wanted:
                await self._documents.mark_embedded(space, one.document, one.chunks, None)
        return wanted

    async def embed(self, space: str, shelf: str, spans: Sequence[tuple[str, int, int]]) -> None:
        """Make and store the vectors of chunks: (document id, first ordinal, one past the last) each."""
        embedder = await self._embedding.get()
        if embedder is None:
            return
        rows: list[ChunkRow] = []
        for document, first, past in spans:
            rows += await self._passages.chunks_of(space, document, first - 1, past - first)
        texts = [f"{row.breadcrumb}\n{row.text}" if row.breadcrumb else row.text for row in rows]
        vectors = await asyncio.to_thread(embedder.passages, texts)
        at = 0
        for document, first, past in spans:
            mine = [row for row in rows if row.document_id == document and first <= row.ordinal < past]
            await self._vectors.add(
                space, shelf, embedder.name, [row.id for row in mine], vectors[at : at + len(mine)], document
            )
            at += len(mine)
            if not await self._documents.mark_embedded(space, document, past, embedder.name):
                await self._vectors.remove_document(space, shelf, document)  # taken off its shelf meanwhile

    async def rest(self) -> None:
        """Give back the memory that adding vectors took, at the end of a job."""
        await self._vectors.rest()

    async def remove(self, space: str, document_id: str) -> None:
        """Take a document off its shelf, with its vectors and its kept original."""
        await self._documents.remove(space, document_id)
        await self.clear()

    async def clear(self) -> None:
        """Remove the vectors and kept originals of what was removed or replaced, also before a crash."""
        for left in await self._documents.leftovers():
            await self._vectors.remove_document(left.space, left.shelf, left.document_id)
            for file in await asyncio.to_thread(
                lambda id: list(self._originals.glob(f"{id}*")), left.document_id
            ):
                await asyncio.to_thread(file.unlink, missing_ok=True)
            await self._documents.cleared(left.space, left.document_id)


def _plain(values: dict[str, object]) -> dict[str, str | int | float | bool | None]:
    return {
        name: v if isinstance(v, str | int | float | bool | None) else str(v) for name, v in values.items()
    }
