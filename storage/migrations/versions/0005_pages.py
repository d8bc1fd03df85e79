"""Pages of documents, and documents that are being replaced."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "pages",
        sa.Column("document_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"],
            ["documents.id"],
            name=op.f("fk_pages_document_id_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "number", name=op.f("pk_pages")),
    )
    op.create_index(op.f("ix_pages_document_id_start"), "pages", ["document_id", "start"])
    op.add_column("documents", sa.Column("built_by", sa.String(), nullable=True))
    op.add_column("documents", sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True))
