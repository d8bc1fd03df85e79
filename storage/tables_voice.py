"""The tables of voice channels: where the bot is, and what is still to be read aloud there."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Identity,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from storage.columns import Moment, Sequence, metadata
from storage.ownership import Ownership

__all__ = ["voice_channels", "voice_readings"]

voice_channels = Table(
    "voice_channels",
    metadata,
    Column("space", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("channel", String, nullable=False),
    PrimaryKeyConstraint("space", "platform"),
    info=Ownership(to="space").info,
)

# One stage each, deleted once it is heard; `heard` are the digests of its sentences so far. `text` is "" until it is
# `whole`. `marked` names the message in which a sentence is marked, "" for none.
voice_readings = Table(
    "voice_readings",
    metadata,
    Column("seq", Sequence, Identity(), primary_key=True),
    Column("space", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("key", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("whole", Boolean, nullable=False),
    Column("speaker", String, nullable=False),
    Column("language", String, nullable=False),
    Column("heard", Text, nullable=False),
    Column("marked", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    UniqueConstraint("space", "run_id", "key"),
    sqlite_autoincrement=True,
    info=Ownership(run="run_id", goes_with="run").info,
)
