"""The library of characters and worlds that people keep of stories."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    op.create_table(
        "story_library",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("writer_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("file", sa.LargeBinary(), nullable=False),
    )
    op.create_index(op.f("ix_story_library_space_author_id"), "story_library", ["space", "author_id"])
    op.create_index(op.f("ix_story_library_space_run_id"), "story_library", ["space", "run_id"])
    op.create_table(
        "story_library_lore",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("library_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("entry", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["library_id"],
            ["story_library.id"],
            name=op.f("fk_story_library_lore_story_library"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("library_id", "key", name=op.f("pk_story_library_lore")),
    )
    op.create_index(op.f("ix_story_library_lore_space_run_id"), "story_library_lore", ["space", "run_id"])
