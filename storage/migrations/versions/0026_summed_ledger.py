"""How many calls an entry of the ledger stands for, and for which work: those of old runs are summed."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    op.add_column("ledger", sa.Column("calls", sa.Integer(), nullable=False, server_default="1"))
    op.add_column("ledger", sa.Column("work", sa.String(), nullable=False, server_default=""))
