"""Every table, as SQLAlchemy Core sees it; migrations must arrive at exactly this.

Imported only by modules that already need SQLAlchemy. Every table but the engine-facing ones leads with `space`.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from storage.columns import Dollars, Moment, Sequence
from storage.columns import metadata as metadata
from storage.ownership import Ownership, PersonRule
from storage.tables_council import *  # noqa: F403
from storage.tables_library import *  # noqa: F403
from storage.tables_quiz import *  # noqa: F403
from storage.tables_script import *  # noqa: F403
from storage.tables_slack import *  # noqa: F403
from storage.tables_story import *  # noqa: F403

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
    Column("parent", String, nullable=False, server_default=""),
    Column("follows", String, nullable=False, server_default=""),
    Column("line", String, nullable=False, server_default=""),
    Column("process", String, nullable=False, server_default=""),
    Index(None, "state", "seq"),
    Index(None, "parent"),
    Index(None, "follows"),
    Index(None, "space", "author_id"),
    sqlite_autoincrement=True,
    # The id stays, so that a second delivery of a deleted message has no effect.
    info=Ownership(
        people=(PersonRule("author_id", "unname", emptied=("channel", "thread"), rewritten=("payload",)),),
        run="id",
    ).info,
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
    # No words: which message of the platform shows which stage. It leads from a message deleted there to its run.
    info=Ownership(run="run_id").info,
)

# What is not on the screen yet of runs that have ended.
unshown = Table(
    "unshown",
    metadata,
    Column("space", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("stage", String, nullable=False),
    Column("status", String, nullable=False),
    Column("events", Text, nullable=False),
    Column("request", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("process", String, nullable=False, server_default=""),
    PrimaryKeyConstraint("space", "run_id", "stage"),
    info=Ownership(run="run_id", goes_with="run", stays={"status": "withdrawn"}, copies=True).info,
)

# The buttons of a run's messages, numbered within their kind; a window's are those of the person it is open for.
offers = Table(
    "offers",
    metadata,
    Column("space", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("n", Integer, nullable=False),
    Column("item", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("author_id", String, nullable=False, server_default=""),
    PrimaryKeyConstraint("space", "run_id", "kind", "n"),
    info=Ownership(
        people=(PersonRule("author_id", "delete"),), run="run_id", goes_with="run", copies=True
    ).info,
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
    # It belongs to the person who gave it, not to the one who was answered.
    info=Ownership(people=(PersonRule("author_id", "delete"),)).info,
)

# A group of choices is known by the number of its first one.
votes = Table(
    "votes",
    metadata,
    Column("space", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("group", Integer, nullable=False),
    Column("author_id", String, nullable=False),
    Column("n", Integer, nullable=False),
    Column("updated_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "run_id", "group", "author_id"),
    Index(None, "space", "author_id"),
    info=Ownership(people=(PersonRule("author_id", "delete"),), run="run_id", goes_with="run").info,
)

threads = Table(
    "threads",
    metadata,
    Column("space", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("real", String, nullable=False),
    Column("free_chat", Boolean),
    Column("explained", Boolean, nullable=False),
    PrimaryKeyConstraint("space", "channel", "thread"),
    UniqueConstraint("space", "real"),
    info=Ownership(to="space").info,
)

# The processes that share a database on a server; see `storage.lease`.
processes = Table(
    "processes",
    metadata,
    Column("id", String, primary_key=True),
    Column("machine", String, nullable=False),
    Column("seen_at", Moment, nullable=False),
    info=Ownership(to="process").info,
)

# The process's own notes, which belong to no space.
marks = Table(
    "marks",
    metadata,
    Column("name", String, primary_key=True),
    Column("value", Text, nullable=False),
    Column("updated_at", Moment, nullable=False),
    info=Ownership(to="process").info,
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
    # The calls of an old run are summed in one entry; `work` is the work of its deleted request.
    Column("calls", Integer, nullable=False, server_default="1"),
    Column("work", String, nullable=False, server_default=""),
    Column("process", String, nullable=False, server_default=""),
    Column("channel", String, nullable=False, server_default=""),
    Index(None, "space", "created_at"),
    Index(None, "space", "run_id"),
    Index(None, "space", "author_id", "created_at"),
    Index(None, "space", "channel", "created_at"),
    # The space's sums and caps stay correct.
    info=Ownership(people=(PersonRule("author_id", "unname"),), run="run_id").info,
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
    # If others have asked, too, the session continues without the person who began it.
    info=Ownership(
        people=(PersonRule("author_id", "delete", emptied=("title",), held_by="exchanges.session_id"),)
    ).info,
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
    info=Ownership(run="run_id", goes_with="run", within="sessions").info,
)

settings = Table(
    "settings",
    metadata,
    Column("space", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("of", String, nullable=False),
    Column("name", String, nullable=False),
    Column("value", Text, nullable=False),
    Column("author_id", String, nullable=False),
    Column("updated_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "scope", "of", "name"),
    info=Ownership(
        people=(PersonRule("of", "delete", where={"scope": "person"}), PersonRule("author_id", "unname"))
    ).info,
)

# Only shared settings, not those of a person. `value` is None if a setting was removed.
setting_changes = Table(
    "setting_changes",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("scope", String, nullable=False),
    Column("of", String, nullable=False),
    Column("name", String, nullable=False),
    Column("value", Text),
    Column("author_id", String, nullable=False),
    Column("changed_at", Moment, nullable=False),
    Index(None, "space", "changed_at"),
    info=Ownership(people=(PersonRule("author_id", "unname"),)).info,
)

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

# The people who asked to be mentioned by a schedule. Their rows outlive its last time until it was shown.
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
# `whole`. `marked` names the message in which a sentence is marked, "" for none. `process` makes the clip of it.
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
    Column("process", String, nullable=False, server_default=""),
    UniqueConstraint("space", "run_id", "key"),
    sqlite_autoincrement=True,
    info=Ownership(run="run_id", goes_with="run").info,
)
