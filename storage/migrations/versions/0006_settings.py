"""One table of settings in place of the council's and the prompts' own; whose a window is; free chat left open."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "settings",
        sa.Column("space", sa.String(), nullable=False),
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("of", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("author_id", sa.String(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("space", "scope", "of", "name", name=op.f("pk_settings")),
    )
    for table, prefix, value in (
        ("council_settings", "council.", "value"),
        ("prompt_overrides", "prompt.", "text"),
    ):
        op.execute(
            'INSERT INTO settings (space, scope, "of", name, value, author_id, updated_at) '
            f"SELECT space, 'space', '', '{prefix}' || name, {value}, author_id, updated_at FROM {table}"
        )
        op.drop_table(table)
    op.create_index(op.f("ix_inbox_space_author_id"), "inbox", ["space", "author_id"])
    op.add_column("offers", sa.Column("author_id", sa.String(), server_default="", nullable=False))
    # NULL is what nobody has chosen. Of a thread that is there it is not known, so it keeps what it had.
    with op.batch_alter_table("threads") as threads:
        threads.alter_column("free_chat", existing_type=sa.Boolean(), nullable=True)
