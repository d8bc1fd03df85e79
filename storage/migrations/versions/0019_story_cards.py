"""Files that characters' cards came in."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.create_table(
        "story_cards",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("story_id", sa.String(), nullable=False),
        sa.Column("card", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("file", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["story_id"], ["stories.id"], name=op.f("fk_story_cards_stories"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("story_id", "card", name=op.f("pk_story_cards")),
    )
    op.create_index(op.f("ix_story_cards_space_run_id"), "story_cards", ["space", "run_id"])
