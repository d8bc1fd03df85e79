"""Which process reads something aloud."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.add_column("voice_readings", sa.Column("process", sa.String(), nullable=False, server_default=""))
