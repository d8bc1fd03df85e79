"""Councils: what was asked, the members' answers, their ballots, and what a space has set."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "councils",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("thread", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("level", sa.String(), nullable=False),
        sa.Column("criteria", sa.Text(), nullable=False),
        sa.Column("research", sa.Text(), nullable=False),
        sa.Column("chair", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("dissent", sa.Text(), nullable=False),
        sa.Column("tally", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("space", "run_id", name=op.f("pk_councils")),
    )
    op.create_index(op.f("ix_councils_space_created_at"), "councils", ["space", "created_at"], unique=False)
    op.create_table(
        "council_seats",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("first_answer", sa.Text(), nullable=False),
        sa.Column("reasoning", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=True),
        sa.Column("cost_usd", sa.BigInteger(), nullable=True),
        sa.Column("place", sa.Integer(), nullable=True),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("mean_rank", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("space", "run_id", "seat", name=op.f("pk_council_seats")),
        sa.ForeignKeyConstraint(
            ["space", "run_id"],
            ["councils.space", "councils.run_id"],
            name=op.f("fk_council_seats_councils"),
            ondelete="CASCADE",
        ),
    )
    op.create_table(
        "council_ballots",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.Column("ranking", sa.Text(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("raw", sa.Text(), nullable=False),
        sa.Column("again", sa.Text(), nullable=False),
        sa.Column("reasoning", sa.Text(), nullable=False),
        sa.Column("critiques", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("space", "run_id", "seat", name=op.f("pk_council_ballots")),
        sa.ForeignKeyConstraint(
            ["space", "run_id"],
            ["councils.space", "councils.run_id"],
            name=op.f("fk_council_ballots_councils"),
            ondelete="CASCADE",
        ),
    )
    op.create_table(
        "council_settings",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("space", "name", name=op.f("pk_council_settings")),
    )


def downgrade() -> None:
    raise NotImplementedError("restore the copy from before the upgrade instead")
