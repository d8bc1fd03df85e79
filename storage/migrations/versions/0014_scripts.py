"""Screenplays, and which one a thread speaks of."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "scripts",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("visibility", sa.String(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("thread", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("draft", sa.Integer(), nullable=False),
        sa.Column("scenes", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scripts")),
    )
    op.create_index(op.f("ix_scripts_space_updated_at"), "scripts", ["space", "updated_at"])
    op.create_index(op.f("ix_scripts_space_author_id"), "scripts", ["space", "author_id"])
    op.create_table(
        "script_places",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("platform", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("thread", sa.String(), nullable=False),
        sa.Column("script_id", sa.String(), nullable=False),
        sa.Column("scene", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["script_id"], ["scripts.id"], name=op.f("fk_script_places_scripts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("space", "platform", "channel", "thread", name=op.f("pk_script_places")),
    )
    op.create_index(op.f("ix_script_places_script_id"), "script_places", ["script_id"])
