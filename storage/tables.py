"""Every table, as SQLAlchemy Core sees it; migrations must arrive at exactly this.

Imported only by what already needs SQLAlchemy. Every table but the engine-facing ones leads with `space`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

# Constraints need names so that a later migration can refer to them on both databases.
metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

NANO = Decimal("1e9")

# SQLite numbers rows by itself only when the key's type is exactly INTEGER.
Sequence = BigInteger().with_variant(Integer(), "sqlite")


class Moment(TypeDecorator[datetime]):
    """A point in time, always UTC and always aware (SQLite forgets the zone)."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


class Dollars(TypeDecorator[Decimal]):
    """US dollars, kept as whole nano-dollars: exact, and SQL can add them up on both databases."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> int | None:
        return int((value * NANO).to_integral_value()) if value is not None else None

    def process_result_value(self, value: int | None, dialect: Dialect) -> Decimal | None:
        return Decimal(int(value)) / NANO if value is not None else None


inbox = Table(
    "inbox",
    metadata,
    Column("seq", Sequence, Identity(), primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("platform", String, nullable=False),
    Column("space", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("work", String, nullable=False),
    Column("verb", String, nullable=False),
    Column("ordered", Boolean, nullable=False),
    Column("payload", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index(None, "state", "seq"),
    sqlite_autoincrement=True,
)

outbox = Table(
    "outbox",
    metadata,
    Column("space", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("stage", String, nullable=False),
    Column("state", String, nullable=False),
    Column("message_id", String),
    Column("shown", String),
    Column("created_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "run_id", "stage"),
    Index(None, "space", "message_id"),
)

# The buttons of a run's messages, numbered within their kind.
offers = Table(
    "offers",
    metadata,
    Column("space", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("n", Integer, nullable=False),
    Column("item", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "run_id", "kind", "n"),
)

feedback = Table(
    "feedback",
    metadata,
    Column("space", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("verdict", String, nullable=False),
    Column("updated_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "run_id", "author_id"),
)

threads = Table(
    "threads",
    metadata,
    Column("space", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("real", String, nullable=False),
    Column("free_chat", Boolean, nullable=False),
    Column("explained", Boolean, nullable=False),
    PrimaryKeyConstraint("space", "channel", "thread"),
    UniqueConstraint("space", "real"),
)

# The process's own notes, which belong to no space.
marks = Table(
    "marks",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
    Column("updated_at", Moment, nullable=False),
)

ledger = Table(
    "ledger",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("step", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("model", String, nullable=False),
    Column("state", String, nullable=False),
    Column("estimate_tokens", Integer, nullable=False),
    Column("estimate_usd", Dollars),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("cache_read_tokens", Integer, nullable=False),
    Column("cache_write_tokens", Integer, nullable=False),
    Column("cost_usd", Dollars),
    Column("created_at", Moment, nullable=False),
    Column("settled_at", Moment),
    Index(None, "space", "created_at"),
    Index(None, "space", "run_id"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("work", String, nullable=False),
    Column("state", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("closed_at", Moment),
    Column("title", String, nullable=False, server_default=""),
    Column("author_id", String, nullable=False, server_default=""),
    Column("updated_at", Moment, nullable=False, server_default="1970-01-01 00:00:00"),
    Index(None, "space", "author_id", "updated_at"),
    Index(
        "uq_sessions_active",
        "space",
        "platform",
        "channel",
        "thread",
        unique=True,
        sqlite_where=text("state = 'active'"),
        postgresql_where=text("state = 'active'"),
    ),
)

exchanges = Table(
    "exchanges",
    metadata,
    Column("seq", Sequence, Identity(), primary_key=True),
    Column("space", String, nullable=False),
    Column("session_id", String, ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("run_id", String, nullable=False),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("citations", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    UniqueConstraint("session_id", "run_id"),
    Index(None, "space", "run_id"),
    sqlite_autoincrement=True,
)

shelves = Table(
    "shelves",
    metadata,
    Column("space", String, nullable=False),
    Column("name", String, nullable=False),
    Column("version", BigInteger, nullable=False),
    PrimaryKeyConstraint("space", "name"),
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
    Index(None, "space", "shelf", "sha256"),
)

# Documents that are off their shelf while their vectors and kept files may not be: what a crash cut off in
# between is found here and finished.
leftovers = Table(
    "leftovers",
    metadata,
    Column("space", String, nullable=False),
    Column("document_id", String, nullable=False),
    Column("shelf", String, nullable=False),
    PrimaryKeyConstraint("space", "document_id"),
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
)

segments = Table(
    "segments",
    metadata,
    _document_id(),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("document_id"),
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
)

links = Table(
    "links",
    metadata,
    _document_id(),
    Column("ordinal", Integer, nullable=False),
    Column("section", Integer, nullable=False),
    Column("target", Text, nullable=False),
    PrimaryKeyConstraint("document_id", "ordinal"),
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
)

prompt_overrides = Table(
    "prompt_overrides",
    metadata,
    Column("space", String, nullable=False),
    Column("name", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("author_id", String, nullable=False),
    Column("updated_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "name"),
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
)
