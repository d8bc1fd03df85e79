"""The vectors of stories' pieces."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.create_table(
        "story_vectors",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("story_id", sa.String(), nullable=False),
        sa.Column("node_id", sa.String(), nullable=False),
        sa.Column("embedder", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("vectors", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["story_id"], ["stories.id"], name=op.f("fk_story_vectors_stories"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("node_id", "embedder", name=op.f("pk_story_vectors")),
    )
    op.create_index(op.f("ix_story_vectors_space_run_id"), "story_vectors", ["space", "run_id"])
    op.create_index(op.f("ix_story_vectors_space_story_id"), "story_vectors", ["space", "story_id"])
