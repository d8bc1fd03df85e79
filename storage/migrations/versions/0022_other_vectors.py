"""A second set of vectors of a book, for questions in another language than its own."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("documents", sa.Column("other_embedder", sa.String()))
    op.add_column("documents", sa.Column("other_embedded", sa.Integer(), server_default="0", nullable=False))
