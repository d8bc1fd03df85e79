"""Ideas that are kept with screenplays."""

import sqlalchemy as sa
from alembic import op

from storage.columns import Moment

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "script_ideas",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("script_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("created_at", Moment(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["script_id"], ["scripts.id"], name=op.f("fk_script_ideas_scripts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_script_ideas")),
        sa.UniqueConstraint("script_id", "number", name=op.f("uq_script_ideas_script_id_number")),
    )
    op.create_index(op.f("ix_script_ideas_space_author_id"), "script_ideas", ["space", "author_id"])
    op.create_index(op.f("ix_script_ideas_space_run_id"), "script_ideas", ["space", "run_id"])
