"""Adds a model's analysis of screenplays."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "script_findings",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("script_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["script_id"], ["scripts.id"], name=op.f("fk_script_findings_scripts"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("script_id", "key", name=op.f("pk_script_findings")),
    )
