"""Which run has begun another one."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("inbox", sa.Column("parent", sa.String(), nullable=False, server_default=""))
    op.create_index(op.f("ix_inbox_parent"), "inbox", ["parent"])
