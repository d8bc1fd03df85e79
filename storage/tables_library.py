"""The library's tables: shelves, documents in their parts, jobs, vectors of questions.

Imported through `storage.tables`, which has them all.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from storage.columns import Moment, Sequence, metadata
from storage.ownership import Ownership

# A book belongs to its shelf, not to the person who added it.
_OF_THE_SPACE = Ownership(to="space").info
_OF_A_DOCUMENT = Ownership(within="documents").info

shelves = Table(
    "shelves",
    metadata,
    Column("space", String, nullable=False),
    Column("name", String, nullable=False),
    Column("version", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "name"),
    info=_OF_THE_SPACE,
)

documents = Table(
    "documents",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("shelf", String, nullable=False),
    Column("source", String, nullable=False),
    Column("title", String, nullable=False),
    Column("language", String, nullable=False),
    Column("sha256", String, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("state", String, nullable=False),
    Column("section_count", Integer, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("embedded", Integer, nullable=False),
    Column("embedder", String),
    Column("created_at", Moment, nullable=False),
    Column("built_by", String),
    Column("retired_at", Moment),
    Column("kind", String, nullable=False, server_default=""),
    Column("other_embedder", String),
    Column("other_embedded", Integer, nullable=False, server_default="0"),
    Column("unread", Text, nullable=False, server_default="[]"),
    Index(None, "space", "shelf", "sha256"),
    info=_OF_THE_SPACE,
)

# Documents that are off their shelf but whose vectors and stored files may remain: an interrupted removal is found here
# and finished.
leftovers = Table(
    "leftovers",
    metadata,
    Column("space", String, nullable=False),
    Column("document_id", String, nullable=False),
    Column("shelf", String, nullable=False),
    PrimaryKeyConstraint("space", "document_id"),
    info=_OF_THE_SPACE,
)


def _document_id() -> Column[str]:
    return Column("document_id", String, ForeignKey("documents.id", ondelete="CASCADE"), nullable=False)


# Apart from `documents`, so that listing a library never walks through megabytes of text.
texts = Table(
    "texts",
    metadata,
    _document_id(),
    Column("text", Text, nullable=False),
    PrimaryKeyConstraint("document_id"),
    info=_OF_A_DOCUMENT,
)

segments = Table(
    "segments",
    metadata,
    _document_id(),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("document_id"),
    info=_OF_A_DOCUMENT,
)

sections = Table(
    "sections",
    metadata,
    _document_id(),
    Column("ordinal", Integer, nullable=False),
    Column("level", Integer, nullable=False),
    Column("title", String, nullable=False),
    Column("path", Text, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("page", Integer),
    PrimaryKeyConstraint("document_id", "ordinal"),
    info=_OF_A_DOCUMENT,
)

# The metadata of an outlined document and of each of its parts; a part's number may occur twice.
outlines = Table(
    "outlines",
    metadata,
    _document_id(),
    Column("link", Text, nullable=False),
    Column("instructor", Text, nullable=False),
    PrimaryKeyConstraint("document_id"),
    info=_OF_A_DOCUMENT,
)

lessons = Table(
    "lessons",
    metadata,
    _document_id(),
    Column("ordinal", Integer, nullable=False),
    Column("id", String, nullable=False),
    Column("number", Integer, nullable=False),
    Column("title", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("first", Integer, nullable=False),
    Column("past", Integer, nullable=False),
    PrimaryKeyConstraint("document_id", "ordinal"),
    info=_OF_A_DOCUMENT,
)

# Where the pages begin, of documents that have pages.
pages = Table(
    "pages",
    metadata,
    _document_id(),
    Column("number", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    PrimaryKeyConstraint("document_id", "number"),
    Index(None, "document_id", "start"),
    info=_OF_A_DOCUMENT,
)

chunks = Table(
    "chunks",
    metadata,
    _document_id(),
    Column("ordinal", Integer, nullable=False),
    Column("section", Integer, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("breadcrumb", Text, nullable=False),
    Column("text", Text, nullable=False),
    PrimaryKeyConstraint("document_id", "ordinal"),
    info=_OF_A_DOCUMENT,
)

links = Table(
    "links",
    metadata,
    _document_id(),
    Column("ordinal", Integer, nullable=False),
    Column("section", Integer, nullable=False),
    Column("target", Text, nullable=False),
    PrimaryKeyConstraint("document_id", "ordinal"),
    info=_OF_A_DOCUMENT,
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", String, nullable=False),
    Column("space", String, nullable=False),
    Column("shelf", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("state", String, nullable=False),
    Column("phase", String, nullable=False),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("files_total", Integer, nullable=False),
    Column("files_done", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "id"),
    Index(None, "space", "created_at"),
    # A library job is shown as long as its author is known. A reindex belongs to the space; the ids of its jobs contain
    # their shelves, too.
    info=Ownership(run="id", goes_with="person").info,
)

job_errors = Table(
    "job_errors",
    metadata,
    Column("space", String, nullable=False),
    Column("job_id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("key", String, nullable=False),
    Column("values", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "job_id", "name"),
    ForeignKeyConstraint(["space", "job_id"], ["jobs.space", "jobs.id"], ondelete="CASCADE"),
    info=Ownership(run="job_id", within="jobs").info,
)

query_vectors = Table(
    "query_vectors",
    metadata,
    Column("seq", Sequence, Identity(), primary_key=True),
    Column("space", String, nullable=False),
    Column("embedder", String, nullable=False),
    Column("text_hash", String, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    UniqueConstraint("space", "embedder", "text_hash"),
    sqlite_autoincrement=True,
    info=Ownership(to="cache").info,
)
