"""Sessions get an owner and a title; threads, offers, feedback and marks are new; nothing read inbox.snapshot."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# What is known of the sessions that are there: who asked first in them, and what.
_FIRST = """
    SELECT {what} FROM exchanges JOIN inbox ON inbox.id = exchanges.run_id
    WHERE exchanges.session_id = sessions.id ORDER BY exchanges.seq LIMIT 1
"""


def upgrade() -> None:
    # No table is copied. A copied inbox would give numbers out again, and to drop the old `sessions` would
    # take the exchanges along that refer to it. Every SQLite that Chroma accepts (3.35) can do without.
    op.drop_column("inbox", "snapshot")
    op.add_column("sessions", sa.Column("title", sa.String(), server_default="", nullable=False))
    op.add_column("sessions", sa.Column("author_id", sa.String(), server_default="", nullable=False))
    op.add_column(
        "sessions",
        sa.Column(
            "updated_at", sa.DateTime(timezone=True), server_default="1970-01-01 00:00:00", nullable=False
        ),
    )
    op.execute(
        "UPDATE sessions SET updated_at = coalesce(closed_at, created_at), "
        f"author_id = coalesce(({_FIRST.format(what='inbox.author_id')}), ''), "
        f"title = coalesce(({_FIRST.format(what='substr(exchanges.question, 1, 100)')}), '')"
    )
    op.create_index(
        op.f("ix_sessions_space_author_id_updated_at"),
        "sessions",
        ["space", "author_id", "updated_at"],
        unique=False,
    )
    op.create_index(op.f("ix_exchanges_space_run_id"), "exchanges", ["space", "run_id"], unique=False)
    op.create_index(op.f("ix_outbox_space_message_id"), "outbox", ["space", "message_id"], unique=False)

    op.create_table(
        "offers",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("space", "run_id", "kind", "n", name=op.f("pk_offers")),
    )
    op.create_table(
        "feedback",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("space", "run_id", "author_id", name=op.f("pk_feedback")),
    )
    op.create_table(
        "threads",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("thread", sa.String(), nullable=False),
        sa.Column("real", sa.String(), nullable=False),
        sa.Column("free_chat", sa.Boolean(), nullable=False),
        sa.Column("explained", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("space", "channel", "thread", name=op.f("pk_threads")),
        sa.UniqueConstraint("space", "real", name=op.f("uq_threads_space_real")),
    )
    op.create_table(
        "marks",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_marks")),
    )


def downgrade() -> None:
    raise NotImplementedError("restore the copy from before the upgrade instead")
