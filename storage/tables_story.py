"""The tables of stories: what happened in each is appended to a log of nodes, branch by branch.

The state of a story is computed from its nodes (`bot.works.story.log.story`). Nothing is overwritten, except words that
a person withdraws; their node stays.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)

from storage.columns import Moment, Sequence, metadata
from storage.ownership import Ownership, PersonRule

# `offered`: it was imported, and nobody has opened it yet, so that anybody of its space may.
stories = Table(
    "stories",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("title", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("offered", Boolean, nullable=False, server_default=text("false")),
    Index(None, "space", "updated_at"),
    # Others play it, too.
    info=Ownership(
        people=(PersonRule("author_id", "unname", emptied=("title",)),), run="id", blanked=("title",)
    ).info,
)

# `turn` is where it leaves its parent, "" for before the first turn; of what comes before, it shares pointers up to the
# node `until`, and settings, cast and lore up to the node `cut`.
story_branches = Table(
    "story_branches",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("story_id", String, ForeignKey("stories.id", ondelete="CASCADE"), nullable=False),
    Column("name", String, nullable=False),
    Column("parent", String, nullable=False),
    Column("turn", String, nullable=False),
    Column("cut", Sequence, nullable=False),
    Column("until", Sequence, nullable=False),
    Column("author_id", String, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index(None, "space", "story_id"),
    info=Ownership(
        people=(PersonRule("author_id", "unname", emptied=("name",)),),
        run="id",
        blanked=("name",),
        within="stories",
    ).info,
)

# `author_id` is the person whose words the body holds, "" for a model's. `branch_id` is "" of what is of all branches.
story_nodes = Table(
    "story_nodes",
    metadata,
    Column("seq", Sequence, Identity(), primary_key=True),
    Column("id", String, nullable=False, unique=True),
    Column("space", String, nullable=False),
    Column("story_id", String, ForeignKey("stories.id", ondelete="CASCADE"), nullable=False),
    Column("branch_id", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("turn", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Index(None, "space", "story_id", "branch_id", "seq"),
    Index(None, "space", "run_id"),
    Index(None, "space", "author_id", "story_id"),
    Index(
        "ix_story_nodes_withdrawn",
        "space",
        "story_id",
        sqlite_where=text("body = ''"),
        postgresql_where=text("body = ''"),
    ),
    sqlite_autoincrement=True,
    info=Ownership(
        people=(PersonRule("author_id", "unname", emptied=("body",)),),
        run="run_id",
        blanked=("body",),
        within="stories",
    ).info,
)

# Which branch a thread plays, and since which run. `away`: another thread has taken the branch there.
story_places = Table(
    "story_places",
    metadata,
    Column("space", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("thread", String, nullable=False),
    Column("story_id", String, ForeignKey("stories.id", ondelete="CASCADE"), nullable=False),
    Column("branch_id", String, nullable=False),
    Column("run_id", String, nullable=False, server_default=""),
    Column("away", Boolean, nullable=False, server_default=text("false")),
    PrimaryKeyConstraint("space", "platform", "channel", "thread"),
    Index(None, "space", "story_id"),
    info=Ownership(to="space", run="run_id").info,
)

# Computed from the words of nodes, so they are deleted with these; they can be computed again.
story_vectors = Table(
    "story_vectors",
    metadata,
    Column("space", String, nullable=False),
    Column("story_id", String, ForeignKey("stories.id", ondelete="CASCADE"), nullable=False),
    Column("node_id", String, nullable=False),
    Column("embedder", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("vectors", LargeBinary, nullable=False),
    PrimaryKeyConstraint("node_id", "embedder"),
    Index(None, "space", "story_id"),
    Index(None, "space", "run_id"),
    info=Ownership(
        people=(PersonRule("author_id", "delete"),),
        run="run_id",
        goes_with="run",
        within="stories",
        copies=True,
    ).info,
)

# The file that a character's card came in, for its picture: `card` is the SHA-256 of the card's JSON in the sheet.
story_cards = Table(
    "story_cards",
    metadata,
    Column("space", String, nullable=False),
    Column("story_id", String, ForeignKey("stories.id", ondelete="CASCADE"), nullable=False),
    Column("card", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("size", Integer, nullable=False),
    Column("file", LargeBinary, nullable=False),
    PrimaryKeyConstraint("story_id", "card"),
    Index(None, "space", "run_id"),
    # It belongs to the person who uploaded it.
    info=Ownership(
        people=(PersonRule("author_id", "delete"),),
        run="run_id",
        goes_with="run",
        within="stories",
        copies=True,
    ).info,
)

# The names under which a proxy posts people's words. `key` is the name in one case; until it is `confirmed` it says
# nothing about the person.
proxied_names = Table(
    "proxied_names",
    metadata,
    Column("space", String, nullable=False),
    Column("key", String, nullable=False),
    Column("name", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("player", String, nullable=False),
    Column("confirmed", Boolean, nullable=False),
    PrimaryKeyConstraint("space", "key", "author_id"),
    Index(None, "space", "author_id"),
    info=Ownership(people=(PersonRule("author_id", "delete"),)).info,
)

# Characters and worlds that a person keeps of stories. `writer_id` has written the character's sheet, in `run_id`.
story_library = Table(
    "story_library",
    metadata,
    Column("id", String, primary_key=True),
    Column("space", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("key", String, nullable=False),
    Column("name", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("writer_id", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("shared", Boolean, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("file", LargeBinary, nullable=False),
    Index(None, "space", "author_id"),
    Index(None, "space", "run_id"),
    info=Ownership(
        people=(PersonRule("author_id", "delete"), PersonRule("writer_id", "delete")),
        run="run_id",
        goes_with="run",
    ).info,
)

# The entries of a world, each of who has written it.
story_library_lore = Table(
    "story_library_lore",
    metadata,
    Column("space", String, nullable=False),
    Column("library_id", String, ForeignKey("story_library.id", ondelete="CASCADE"), nullable=False),
    Column("key", String, nullable=False),
    Column("author_id", String, nullable=False),
    Column("run_id", String, nullable=False),
    Column("entry", Text, nullable=False),
    PrimaryKeyConstraint("library_id", "key"),
    Index(None, "space", "run_id"),
    info=Ownership(
        people=(PersonRule("author_id", "delete"),),
        run="run_id",
        goes_with="run",
        within="story_library",
    ).info,
)
