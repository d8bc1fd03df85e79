"""Stories: their branches, their logs, and the threads that play them."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "stories",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stories")),
    )
    op.create_index(op.f("ix_stories_space_updated_at"), "stories", ["space", "updated_at"])
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "story_branches",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("story_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("parent", sa.String(), nullable=False),
        sa.Column("turn", sa.String(), nullable=False),
        sa.Column("cut", number, nullable=False),
        sa.Column("until", number, nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_story_branches")),
        sa.ForeignKeyConstraint(
            ["story_id"], ["stories.id"], name=op.f("fk_story_branches_stories"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_story_branches_space_story_id"), "story_branches", ["space", "story_id"])
    op.create_table(
        "story_nodes",
        sa.Column("seq", number, sa.Identity(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("story_id", sa.String(), nullable=False),
        sa.Column("branch_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("turn", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_story_nodes")),
        sa.UniqueConstraint("id", name=op.f("uq_story_nodes_id")),
        sa.ForeignKeyConstraint(
            ["story_id"], ["stories.id"], name=op.f("fk_story_nodes_stories"), ondelete="CASCADE"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("ix_story_nodes_space_story_id_branch_id_seq"),
        "story_nodes",
        ["space", "story_id", "branch_id", "seq"],
    )
    op.create_index(op.f("ix_story_nodes_space_run_id"), "story_nodes", ["space", "run_id"])
    op.create_index(
        "ix_story_nodes_withdrawn",
        "story_nodes",
        ["space", "story_id"],
        sqlite_where=sa.text("body = ''"),
        postgresql_where=sa.text("body = ''"),
    )
    op.create_table(
        "story_places",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("thread", sa.String(), nullable=False),
        sa.Column("story_id", sa.String(), nullable=False),
        sa.Column("branch_id", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("space", "platform", "channel", "thread", name=op.f("pk_story_places")),
        sa.ForeignKeyConstraint(
            ["story_id"], ["stories.id"], name=op.f("fk_story_places_stories"), ondelete="CASCADE"
        ),
    )
    op.create_index(op.f("ix_story_places_space_story_id"), "story_places", ["space", "story_id"])
