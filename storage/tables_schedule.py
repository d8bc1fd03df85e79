"""The tables of what comes by the calendar."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, String, Table, Text

from storage.columns import Moment, metadata
from storage.ownership import Ownership, PersonRule

__all__ = ["schedule_followers", "schedules"]

# `rule` and `options` are the work's JSON; a schedule whose last time has come is deleted.
schedules = Table(
    "schedules",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("locale", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("options", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("missed", String, nullable=False),
    Column("next_at", Moment, nullable=False),
    Column("fired", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index(None, "platform", "next_at"),
    Index(None, "space", "channel", "thread"),
    info=Ownership(people=(PersonRule("author_id", "delete"),), run="id", goes_with="run").info,
)

# Who has asked to be called by name when it comes. They outlive a schedule whose last time has come until it was shown.
schedule_followers = Table(
    "schedule_followers",
    metadata,
    Column("schedule_id", String, nullable=False),
    Column("space", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    PrimaryKeyConstraint("schedule_id", "author_id"),
    info=Ownership(people=(PersonRule("author_id", "delete"),), run="schedule_id", goes_with="run").info,
)
