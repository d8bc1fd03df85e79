"""Adds the parts of a document's file that are not in its text."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.add_column("documents", sa.Column("unread", sa.Text(), nullable=False, server_default="[]"))
