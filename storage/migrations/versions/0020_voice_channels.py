"""Where the bot is in voice channels, and what is still to be read aloud there."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "voice_channels",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("space", "platform", name=op.f("pk_voice_channels")),
    )
    op.create_table(
        "voice_readings",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), sa.Identity(), nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("whole", sa.Boolean(), nullable=False),
        sa.Column("speaker", sa.String(), nullable=False),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("heard", sa.Text(), nullable=False),
        sa.Column("marked", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_voice_readings")),
        sa.UniqueConstraint("space", "run_id", "key", name=op.f("uq_voice_readings_space_run_id_key")),
        sqlite_autoincrement=True,
    )
