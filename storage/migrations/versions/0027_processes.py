"""The processes that share a database, and which of them does what."""

import sqlalchemy as sa
from alembic import op

from storage.columns import Moment

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.create_table(
        "processes",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("machine", sa.String(), nullable=False),
        sa.Column("seen_at", Moment(), nullable=False),
    )
    op.add_column("inbox", sa.Column("line", sa.String(), nullable=False, server_default=""))
    for table in ("inbox", "unshown", "ledger"):
        op.add_column(table, sa.Column("process", sa.String(), nullable=False, server_default=""))
