"""The council's tables: what was asked, the members' answers, their ballots.

Imported through `storage.tables`, which has them all.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from storage.columns import Dollars, Moment, metadata
from storage.ownership import Ownership, PersonRule

councils = Table(
    "councils",
    metadata,
    Column("space", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("question", Text, nullable=False),
    Column("level", String, nullable=False),
    Column("criteria", Text, nullable=False),
    Column("research", Text, nullable=False),
    Column("chair", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("dissent", Text, nullable=False),
    Column("tally", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("ended_at", Moment),
    PrimaryKeyConstraint("space", "run_id"),
    Index(None, "space", "created_at"),
    info=Ownership(people=(PersonRule("author_id", "delete"),), run="run_id", goes_with="run").info,
)

_WITH_ITS_COUNCIL = Ownership(run="run_id", within="councils").info


def _of_a_council(
    *columns: Column[Any],
) -> tuple[Column[Any] | PrimaryKeyConstraint | ForeignKeyConstraint, ...]:
    """A council's rows go with it, each of one seat."""
    return (
        Column("space", String, nullable=False),
        Column("run_id", String, nullable=False),
        Column("seat", Integer, nullable=False),
        *columns,
        PrimaryKeyConstraint("space", "run_id", "seat"),
        ForeignKeyConstraint(["space", "run_id"], ["councils.space", "councils.run_id"], ondelete="CASCADE"),
    )


council_seats = Table(
    "council_seats",
    metadata,
    *_of_a_council(
        Column("name", String, nullable=False),
        Column("model", String, nullable=False),
        Column("settings", Text, nullable=False),
        Column("state", String, nullable=False),
        Column("fault", Text, nullable=False),
        Column("answer", Text, nullable=False),
        Column("first_answer", Text, nullable=False),
        Column("reasoning", Text, nullable=False),
        Column("seconds", Float, nullable=False),
        Column("tokens", Integer),
        Column("cost_usd", Dollars),
        Column("place", Integer),
        Column("score", Float),
        Column("mean_rank", Float),
    ),
    info=_WITH_ITS_COUNCIL,
)

council_ballots = Table(
    "council_ballots",
    metadata,
    *_of_a_council(
        Column("shown", Text, nullable=False),
        Column("ranking", Text, nullable=False),
        Column("source", String, nullable=False),
        Column("partial", Boolean, nullable=False),
        Column("raw", Text, nullable=False),
        Column("again", Text, nullable=False),
        Column("reasoning", Text, nullable=False),
        Column("critiques", Text, nullable=False),
        Column("seconds", Float, nullable=False),
        Column("fault", Text, nullable=False),
    ),
    info=_WITH_ITS_COUNCIL,
)
