"""The tables of screenplays: each script's drafts, whose it is, and which one a thread speaks of."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from storage.columns import Moment, metadata
from storage.ownership import Ownership, PersonRule

# `platform`, `channel` and `thread` are where it is shared, for who may read it only there.
scripts = Table(
    "scripts",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("title", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("author_id", String, nullable=False),
    Column("visibility", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("draft", Integer, nullable=False),
    Column("scenes", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("body", Text, nullable=False),
    Index(None, "space", "updated_at"),
    Index(None, "space", "author_id"),
    # The message with which it came may go; the script stays until its owner removes it, or goes.
    info=Ownership(people=(PersonRule("author_id", "delete"),), run="run_id").info,
)

# The drafts before the newest one, which is in `scripts`.
script_drafts = Table(
    "script_drafts",
    metadata,
    Column("space", String, nullable=False),
    Column("script_id", String, ForeignKey("scripts.id", ondelete="CASCADE"), nullable=False),
    Column("draft", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("scenes", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("script_id", "draft"),
    info=Ownership(to="space", within="scripts").info,
)

# `scene` is the thread's focus, 0 for none.
script_places = Table(
    "script_places",
    metadata,
    Column("space", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("script_id", String, ForeignKey("scripts.id", ondelete="CASCADE"), nullable=False),
    Column("scene", Integer, nullable=False),
    PrimaryKeyConstraint("space", "platform", "channel", "thread"),
    Index(None, "script_id"),
    info=Ownership(to="space", within="scripts").info,
)

# What a model has made of it; its words go with the script's, and can be made again.
script_findings = Table(
    "script_findings",
    metadata,
    Column("space", String, nullable=False),
    Column("script_id", String, ForeignKey("scripts.id", ondelete="CASCADE"), nullable=False),
    Column("key", String, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("script_id", "key"),
    info=Ownership(to="space", within="scripts").info,
)

# What a brainstorm has found; `author_id` has asked for it, `number` is what people call it by.
script_ideas = Table(
    "script_ideas",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("script_id", String, ForeignKey("scripts.id", ondelete="CASCADE"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("author_id", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("text", Text, nullable=False),
    UniqueConstraint("script_id", "number"),
    Index(None, "space", "author_id"),
    Index(None, "space", "run_id"),
    info=Ownership(
        people=(PersonRule("author_id", "delete"),), run="run_id", goes_with="run", within="scripts"
    ).info,
)

# Vectors of a scene's pieces, one after another, by the hash of what the scene prints.
script_vectors = Table(
    "script_vectors",
    metadata,
    Column("space", String, nullable=False),
    Column("script_id", String, ForeignKey("scripts.id", ondelete="CASCADE"), nullable=False),
    Column("embedder", String, nullable=False),
    Column("content", String, nullable=False),
    Column("vectors", LargeBinary, nullable=False),
    PrimaryKeyConstraint("script_id", "embedder", "content"),
    info=Ownership(to="space", within="scripts").info,
)
