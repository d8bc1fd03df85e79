"""The tables of quizzes: the questions that were asked, and of each learner a card for each that they answered."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Index, Integer, PrimaryKeyConstraint, String, Table, Text

from storage.columns import Moment, metadata
from storage.ownership import Ownership, PersonRule

# `run_id` is the quiz's; `first` names the question's first asking. `closed_by` is the run that has ended the quiz.
quiz_questions = Table(
    "quiz_questions",
    metadata,
    Column("space", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("n", Integer, nullable=False),
    Column("first", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("subject", Text, nullable=False),
    Column("lesson", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("link", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("options", Text, nullable=False),
    Column("answer", Integer, nullable=False),
    Column("quote", Text, nullable=False),
    Column("closed_by", String, nullable=False, server_default=""),
    Column("created_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "run_id", "n"),
    Index(None, "space", "channel", "created_at"),
    # A subject's words, which others have answered, too.
    info=Ownership(to="space", run="run_id").info,
)

# `run_id` is the answer's. `due` is NULL where the same question was answered again since.
quiz_cards = Table(
    "quiz_cards",
    metadata,
    Column("space", String, nullable=False),
    Column("quiz", String, nullable=False),
    Column("n", Integer, nullable=False),
    Column("author_id", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("first", String, nullable=False),
    Column("subject", Text, nullable=False),
    Column("chosen", Integer, nullable=False),
    Column("right", Boolean, nullable=False),
    Column("memory", Text, nullable=False),
    Column("due", Moment),
    Column("answered_at", Moment, nullable=False),
    PrimaryKeyConstraint("space", "quiz", "n", "author_id"),
    Index(None, "space", "author_id", "subject"),
    info=Ownership(people=(PersonRule("author_id", "delete"),), run="run_id", goes_with="run").info,
)
