"""The channel of each call, and the indexes by which the budgets of people and channels are summed."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.add_column("ledger", sa.Column("channel", sa.String(), nullable=False, server_default=""))
    op.execute(
        "UPDATE ledger SET channel = coalesce((SELECT inbox.channel FROM inbox"
        " WHERE inbox.id = ledger.run_id AND inbox.space = ledger.space), '')"
    )
    for owner in ("author_id", "channel"):
        columns = ["space", owner, "created_at"]
        op.create_index(op.f(f"ix_ledger_space_{owner}_created_at"), "ledger", columns)
