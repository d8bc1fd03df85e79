"""Adds documents: reads, chunks, indexes and stores them first, and makes vectors afterwards.

Each call is idempotent, so that a durable run may repeat one that a crash cut off. The replacement of an older book is
built next to it and then swapped in. Of runs, only their ids are used.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from bot.events import TransientError, UserError
from bot.readers.kinds import BUNDLE
from bot.readers.sandbox import Sandbox
from bot.retrieval.cleanup import AWAY_S, GRACE, ORIGINALS, Cleanup
from bot.retrieval.files import read_file
from bot.retrieval.language import may_vote
from bot.retrieval.results import UnreadPart, recognized, unread_parts
from bot.retrieval.titles import normal
from bot.words import words
from storage.faults import StorageFault, fault_of
from storage.files import stored

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bot.config import Config
    from bot.readers.document import Document, Progress
    from bot.retrieval.cleanup import DamagedVectors
    from bot.retrieval.embedding import Embedder, Embedding
    from storage.document_rows import ChunkRow, DocumentRow, NewDocument, Outline
    from storage.documents import Documents
    from storage.files import Files
    from storage.passages import Passages
    from storage.vectors import Vectors

_NAMESPACE = uuid.UUID("6f1c3c0e-6a0f-5d0c-9d52-0f6a7f0c7a51")


@dataclass(frozen=True, slots=True)
class Item:
    """One file to read, of at most `max_bytes`. `replaces` is the id of the document that it replaces in a reindex.
    `kind` is "" for a book, else the name of its shape. `recognize`: words on pages that are pictures are recognized
    too.
    """

    name: str
    path: str
    replaces: str = ""
    max_bytes: int = 20_000_000
    kind: str = ""
    recognize: bool = False


@dataclass(frozen=True, slots=True)
class Shaped:
    """A document in the shape of another kind than a book: its sections, and the facts about it and its parts.

    Its title is its name on its shelf. With `overlap` its chunks are windows of the configured size that share so many
    characters.
    """

    document: Document
    outline: Outline
    overlap: int | None = None


Mark: TypeAlias = "Callable[[str, str, int, str], Awaitable[bool]]"
"""Notes how far a document has come: space, document id, one past the last chunk, embedder. False if it is gone."""

Shape: TypeAlias = "Callable[[str, Document], Shaped]"
"""Gives a document its shape. The first argument is the file's name. Raises UserError for a file of another kind."""


@dataclass(frozen=True, slots=True)
class IntakeResult:
    """The result for one file: a new document, a known one (`known`), or a refusal (`key` is not empty).

    A `staged` document is on no shelf until it is swapped in. It then replaces the document with the id `replaces`, or
    those with its name.
    """

    name: str
    document: str = ""
    chunks: int = 0
    sections: int = 0
    language: str = ""
    title: str = ""
    known: bool = False
    staged: bool = False
    replaces: str = ""
    unread: list[UnreadPart] = field(default_factory=list)
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
        damage: DamagedVectors,
        files: Files,
    ) -> None:
        self._damage = damage
        self._retrieval = config.retrieval
        self._files = files
        self._documents = documents
        self._passages = passages
        self._vectors = vectors
        self._embedding = embedding
        self._reading = Sandbox()
        self._cleanup = Cleanup(documents, vectors, files)

    async def take(
        self,
        space: str,
        shelf: str,
        item: Item,
        key: str,
        *,
        replace: bool,
        run: str = "",
        progress: Progress | None = None,
        shape: Shape | None = None,
    ) -> IntakeResult:
        """Read one file and put it on the shelf, where its words can be searched from then on.

        If it replaces something, it is only staged for `swap`, and deleted if `run` ends before that. `key` names the
        file within its job and must be the same on a repeat; `progress` is called with the number of pages read and the
        total. `shape` is that of the item's kind, None for a book. A file that cannot be read is refused by name; only
        the storage's own faults are raised.
        """
        try:
            document_id = str(uuid.uuid5(_NAMESPACE, key))
            # Before the file is read, because after a crash a reindex may find that its source was already replaced.
            if (existing := await self._documents.get(space, document_id)) is not None:
                place = await self._place_of(existing, item)
                return _result(item, existing, staged=existing.state == "building", replaces=place)
            data, sha256 = await self._bytes(item)
            in_the_way = await self._in_the_way(space, shelf, item, sha256, replace=replace)
            if isinstance(in_the_way, IntakeResult):
                return in_the_way
            document = await self._reading.read(item.name, data, progress, recognize=item.recognize)
            new = await asyncio.to_thread(
                self._cut, document_id, space, shelf, item, data, sha256, document, shape
            )
            replaces = item.replaces if in_the_way else ""
            if item.kind and not replaces:
                replaces = await self._titled(new, replace=replace)
                in_the_way = bool(replaces)
        except UserError as error:
            name = item.name.removesuffix(BUNDLE)
            return IntakeResult(name, key=error.key, values=words("en").plain(error.values | {"name": name}))
        await self._add(new, data, run if in_the_way else None)
        return _result(item, new, staged=in_the_way, replaces=replaces)

    async def read(self, space: str, item: Item, document_id: str) -> NewDocument:
        """Read and cut a file that goes on no shelf. Raises UserError if it cannot be read."""
        data, sha256 = await self._bytes(item)
        document = await self._reading.read(item.name, data)
        return await asyncio.to_thread(self._cut, document_id, space, "", item, data, sha256, document, None)

    async def _titled(self, new: NewDocument | DocumentRow, *, replace: bool = True) -> str:
        """The id of the document on the shelf with a new document's title; "" if there is none.

        Raises UserError if it must not be replaced.
        """
        title = normal(new.title)
        rows = await self._documents.list(new.space, new.shelf)
        document_id = next((row.id for row in rows if normal(row.title) == title and row.id != new.id), "")
        if document_id and not replace:
            raise UserError("library.title_taken", title=new.title)
        return document_id

    async def _place_of(self, row: DocumentRow, item: Item) -> str:
        """The id of the document that a staged one, left by a crash, will replace."""
        if row.state != "building":
            return ""
        return item.replaces or (await self._titled(row) if row.kind else "")

    async def _in_the_way(
        self, space: str, shelf: str, item: Item, sha256: str, *, replace: bool
    ) -> bool | IntakeResult:
        """Whether the new document replaces anything, or the result to return instead of adding it."""
        if item.replaces:
            old = await self._documents.get(space, item.replaces)
            if old is None or old.state == "retired":
                return IntakeResult(item.name, known=True)  # replaced or removed meanwhile
            return True
        named = not item.kind and any(
            row.source == item.name for row in await self._documents.find(space, shelf, item.name)
        )
        same_file = await self._documents.by_sha(space, shelf, sha256)
        if same_file is not None and (same_file.source == item.name or not named):
            if item.recognize and same_file.source == item.name and not recognized(same_file.unread):
                return True  # the same file, now with the text of its pictures
            return replaced(_result(item, same_file), known=True)
        if named and not replace:
            raise UserError("library.name_taken", name=item.name, shelf=shelf)
        return named

    def _cut(
        self,
        document_id: str,
        space: str,
        shelf: str,
        item: Item,
        data: bytes,
        sha256: str,
        document: Document,
        shape: Shape | None,
    ) -> NewDocument:
        from bot.retrieval.chunk import chunks, windows
        from bot.retrieval.lexical import Segment
        from storage.document_rows import NewDocument

        shaped = None if shape is None else shape(item.name, document)
        document = document if shaped is None else shaped.document
        chars = self._retrieval.child_chars
        if shaped is None or shaped.overlap is None:
            parts = chunks(document, child_chars=chars, parent_chars=self._retrieval.parent_chars)
        else:
            parts = windows(document, chars=chars, overlap=shaped.overlap)
        return NewDocument(
            id=document_id,
            space=space,
            shelf=shelf,
            source=item.name,
            title=document.title,
            language=document.language,
            sha256=sha256,
            size=len(data),
            text=document.text,
            sections=document.sections,
            chunks=parts,
            links=document.links,
            segment=Segment.build(parts, document.language).to_bytes(),
            pages=document.pages,
            kind=item.kind,
            outline=None if shaped is None else shaped.outline,
            unread=json.dumps(document.unread),
        )

    async def _add(self, new: NewDocument, data: bytes, built_by: str | None) -> None:
        """Store the original first, so that every document has one even after a crash; without a document, the original
        is deleted.
        """
        key = _original_key(new.id, new.source)
        keeping = asyncio.ensure_future(self._keep_original(key, data))
        try:
            await asyncio.shield(keeping)
            await self._documents.add(new, built_by=built_by)
        except BaseException:
            if (await asyncio.wait({keeping}, timeout=AWAY_S))[1]:
                keeping.cancel()  # the store hangs
            with suppress(StorageFault, TimeoutError):
                if await self._documents.get(new.space, new.id) is None:
                    async with asyncio.timeout(AWAY_S):
                        await self._files.delete([key])
            raise

    async def _keep_original(self, key: str, data: bytes) -> None:
        async with self._files.writing(key) as path:
            try:
                await asyncio.to_thread(path.write_bytes, data)
            except OSError as error:
                raise fault_of(error) from error

    def original(self, document_id: str, name: str) -> str:
        """The place where the bytes of a document are kept, so that a reindex needs no expired address;
        see `bytes_of`.
        """
        return stored(_original_key(document_id, name))

    async def bytes_of(self, path: str, max_bytes: int) -> bytes:
        """The bytes of a file on this machine, or of a stored one. Raises UserError, StorageFault."""
        return await read_file(self._files, path, max_bytes)

    async def _bytes(self, item: Item) -> tuple[bytes, str]:
        data = await self.bytes_of(item.path, item.max_bytes)
        return data, (await asyncio.to_thread(hashlib.sha256, data)).hexdigest()

    async def ready_for_vectors(self, space: str, replaced: Sequence[str] = ()) -> str:
        """Fetch and load the embedder. Returns "" on success, "none" if none is wanted, else "absent".

        Raises UserError instead of "absent" if any of the documents `replaced` (ids) has vectors, because without the
        embedder they are better than their replacements.
        """
        if not self._embedding.configured:
            return "none"
        await self._embedding.fetch()
        if await self._embedding.get() is not None:
            return ""
        for document_id in replaced:
            old = await self._documents.get(space, document_id)
            if old is not None and old.embedder is not None and self._embedding.missing is not None:
                raise self._embedding.missing
        return "absent"

    async def do_without_vectors(self, space: str, documents: Sequence[IntakeResult]) -> list[str]:
        """Mark documents as ready if the embedder does not know their language. Returns the ids of the others."""
        embedder = await self._embedding.get()
        with_vectors = []
        for document in documents:
            if embedder is not None and may_vote(embedder.languages, None, document.language):
                with_vectors.append(document.document)
            elif embedder is not None or not self._embedding.configured:
                await self._documents.mark_embedded(space, document.document, document.chunks, None)
        return with_vectors

    async def embed(self, space: str, shelf: str, spans: Sequence[tuple[str, int, int]]) -> None:
        """Make and store the vectors of chunks; each span is (document id, first ordinal, one past the last).

        Raises UserError if the vectors turn out to be damaged; they are then set aside and made again later.
        """
        embedder = await self._embedding.get()
        if embedder is not None:
            await self._embed(space, shelf, spans, embedder, self._documents.mark_embedded)

    async def embed_other(
        self, space: str, shelf: str, span: tuple[str, int, int], embedder: Embedder
    ) -> None:
        """Make the vectors for questions in another language with an `embedder` that is not the configured one."""
        await self._embed(space, shelf, [span], embedder, self._documents.mark_other_vectors)

    async def _embed(
        self,
        space: str,
        shelf: str,
        spans: Sequence[tuple[str, int, int]],
        embedder: Embedder,
        mark: Mark,
    ) -> None:
        rows: list[ChunkRow] = []
        for document, first, past in spans:
            rows += await self._passages.chunks_of(space, document, first - 1, past - first)
        texts = [f"{row.breadcrumb}\n{row.text}" if row.breadcrumb else row.text for row in rows]
        vectors = await asyncio.to_thread(embedder.passages, texts)
        at = 0
        for document, first, past in spans:
            document_rows = [
                row for row in rows if row.document_id == document and first <= row.ordinal < past
            ]
            folders = self._vectors.folders
            try:
                await self._vectors.add(
                    space,
                    shelf,
                    embedder.name,
                    [row.id for row in document_rows],
                    vectors[at : at + len(document_rows)],
                    document,
                )
            except StorageFault as fault:
                if fault.kind != "damaged" or not await self._damage.set_aside(folders):
                    raise
                raise TransientError("rules.vectors_damaged") from fault
            at += len(document_rows)
            if not await mark(space, document, past, embedder.name):
                await self._vectors.remove(space, shelf, [document])  # taken off its shelf meanwhile

    async def swap(self, space: str, shelf: str, staged: Sequence[IntakeResult]) -> list[str]:
        """Put the staged documents on the shelf in one transaction. Returns the ids of those now on it.

        The replaced documents are no longer found, but questions that found them before can read them for a while
        (GRACE).
        """
        pairs = [(document.document, document.replaces) for document in staged]
        swapped = await self._documents.swap(space, shelf, pairs)
        self._cleanup.later()
        return [id for id, _ in pairs if id in swapped]

    async def mixed(self, space: str, shelf: str) -> bool:
        """Whether different models embedded the books of a shelf; then a question uses only one of them."""
        makers = {row.embedder for row in await self._documents.list(space, shelf)} - {None}
        return len(makers) > 1

    async def release_memory(self) -> None:
        """Release the memory that adding vectors used, at the end of a job."""
        await self._vectors.release_memory()

    async def remove(self, space: str, *document_ids: str) -> None:
        """Take documents off their shelf, with their vectors and their kept originals."""
        for document_id in document_ids:
            await self._documents.remove(space, document_id)
        try:
            await self.clear()
        except StorageFault as fault:
            if fault.kind != "files":
                raise
            self._cleanup.later()  # the rest to delete is noted

    async def clear(self, grace: timedelta = GRACE) -> None:
        """Remove what is no longer read; see `Cleanup.clear`."""
        await self._cleanup.clear(grace)

    async def close(self) -> None:
        await self._cleanup.close()


def _original_key(document_id: str, name: str) -> str:
    return f"{ORIGINALS}/{document_id}{Path(name).suffix.lower()}"


def _result(
    item: Item, document: NewDocument | DocumentRow, *, staged: bool = False, replaces: str = ""
) -> IntakeResult:
    from storage.document_rows import DocumentRow

    if isinstance(document, DocumentRow):
        chunks, sections = document.chunk_count, document.section_count
    else:
        chunks, sections = len(document.chunks), len(document.sections)
    return IntakeResult(
        item.name.removesuffix(BUNDLE),
        document.id,
        chunks,
        sections,
        document.language,
        document.title,
        staged=staged,
        replaces=replaces,
        unread=unread_parts(document.unread),
    )
