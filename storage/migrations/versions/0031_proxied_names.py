"""The names under which a proxy posts people's words, and whose words they are."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    op.create_table(
        "proxied_names",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("player", sa.String(), nullable=False),
        sa.Column("confirmed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("space", "key", "author_id", name=op.f("pk_proxied_names")),
    )
    op.create_index(op.f("ix_proxied_names_space_author_id"), "proxied_names", ["space", "author_id"])
