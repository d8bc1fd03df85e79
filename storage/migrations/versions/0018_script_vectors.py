"""Vectors of screenplays' scenes."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "script_vectors",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("script_id", sa.String(), nullable=False),
        sa.Column("embedder", sa.String(), nullable=False),
        sa.Column("content", sa.String(), nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["script_id"], ["scripts.id"], name=op.f("fk_script_vectors_scripts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("script_id", "embedder", "content", name=op.f("pk_script_vectors")),
    )
