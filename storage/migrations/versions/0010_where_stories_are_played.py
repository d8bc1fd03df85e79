"""Stories that were imported, who took a turn in which, and branches that another thread has taken."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    no = sa.text("false")
    op.add_column("stories", sa.Column("offered", sa.Boolean(), nullable=False, server_default=no))
    op.add_column("story_places", sa.Column("run_id", sa.String(), nullable=False, server_default=""))
    op.add_column("story_places", sa.Column("away", sa.Boolean(), nullable=False, server_default=no))
    op.create_index(
        op.f("ix_story_nodes_space_author_id_story_id"), "story_nodes", ["space", "author_id", "story_id"]
    )
    # One that was begun here has the id of the run that began it.
    op.execute(
        "UPDATE stories SET offered = true WHERE id NOT IN (SELECT run_id FROM story_nodes) "
        "AND id NOT IN (SELECT story_id FROM story_places)"
    )
