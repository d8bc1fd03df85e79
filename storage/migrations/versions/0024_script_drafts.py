"""The drafts of a screenplay before its newest one."""

import sqlalchemy as sa
from alembic import op

from storage.columns import Moment

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.create_table(
        "script_drafts",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("script_id", sa.String(), nullable=False),
        sa.Column("draft", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("scenes", sa.Integer(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["script_id"], ["scripts.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("script_id", "draft"),
    )
