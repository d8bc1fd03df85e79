"""The second set of vectors: for questions in another language than the books', if the first model knows only one.

A shelf gets it once somebody asks in the other language, or if its space has that language set; `MissingVectors` makes
it. Independent of search.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.retrieval.embedding import Embedder, Embedding
    from storage.documents import Documents


@dataclass(frozen=True, slots=True)
class OtherVectors:
    """The model that made the second set, and the documents whose vectors are complete. `pending`: some are still being
    made.
    """

    embedder: Embedder | None
    documents: frozenset[str]
    pending: bool


class Crossing:
    """Says which books a question in another language can be compared with, and requests missing vectors."""

    def __init__(self, documents: Documents, embedding: Embedding) -> None:
        self._documents = documents
        self._embedding = embedding

    async def vectors_for(
        self, space: str, shelf: str, question: str | None, books: Collection[str]
    ) -> OtherVectors | None:
        """The second set for a question in the language `question` on a shelf whose books are in the languages `books`,
        if the first model does not know both; None if there is none.
        """
        comparable = self._embedding.other_languages
        book_languages = sorted(book for book in books if book != question and book in comparable)
        if question not in comparable or not book_languages:
            return None
        name = self._embedding.other_name
        lacking = await self._documents.ask_other_vectors(space, shelf, name, book_languages)
        rows = await self._documents.list(space, shelf, every_kind=True)
        ready = frozenset(
            row.id for row in rows if row.other_embedder == name and row.other_embedded >= row.chunk_count
        )
        model = await self._embedding.other() if ready else None
        pending = lacking and self._embedding.other_missing is None
        return OtherVectors(model, ready if model is not None else frozenset(), pending)
