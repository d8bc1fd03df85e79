"""Who changed which setting of a channel, a category or a space, and when."""

import sqlalchemy as sa
from alembic import op

from storage.columns import Moment

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    op.create_table(
        "setting_changes",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("of", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.Text()),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("changed_at", Moment(), nullable=False),
    )
    op.create_index(op.f("ix_setting_changes_space_changed_at"), "setting_changes", ["space", "changed_at"])
