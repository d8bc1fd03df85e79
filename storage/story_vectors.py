"""Vectors of stories' pieces: a row for a node of the log and an embedder. A vector is the caller's bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from storage.db import Database

NODES = 1_000
"""How many nodes are queried at a time."""


@dataclass(frozen=True, slots=True)
class NodeVectors:
    """The vectors of a node's pieces, one after another. `run_id` and `author_id` are the node's."""

    node_id: str
    run_id: str
    author_id: str
    vectors: bytes


class StoryVectors:
    def __init__(self, db: Database) -> None:
        self._db = db

    async def put(self, space: str, story: str, embedder: str, rows: Sequence[NodeVectors]) -> None:
        """Store them, replacing the node's earlier vectors of any embedder. Nothing for a deleted story."""
        from sqlalchemy import delete, select

        from storage.tables import stories, story_vectors

        story_id = select(stories.c.id).where(stories.c.space == space, stories.c.id == story)
        async with self._db.write() as connection:
            if await connection.scalar(story_id) is None:
                return
            nodes = [row.node_id for row in rows]
            table = story_vectors.c
            of_story = (table.space == space, table.story_id == story, table.embedder != embedder)
            await connection.execute(delete(story_vectors).where(*of_story, table.node_id.in_(nodes)))
            for row in rows:
                new = self._db.insert(story_vectors).values(
                    **asdict(row), space=space, story_id=story, embedder=embedder
                )
                await connection.execute(
                    new.on_conflict_do_update(
                        index_elements=["node_id", "embedder"], set_={"vectors": row.vectors}
                    )
                )

    async def by_node(self, space: str, story: str, embedder: str, nodes: Sequence[str]) -> dict[str, bytes]:
        """The vectors of those of these nodes that have any."""
        from sqlalchemy import bindparam, select

        from storage.tables import story_vectors as table

        # With a condition on the story SQLite reads all of its rows; the nodes alone use the primary key.
        columns = (table.c.node_id, table.c.vectors, table.c.space, table.c.story_id)
        query = select(*columns).where(
            table.c.embedder == embedder, table.c.node_id.in_(bindparam("nodes", expanding=True))
        )
        names, vectors_by_node = sorted(nodes), dict[str, bytes]()  # the next row is often on the same page
        for first in range(0, len(names), NODES):
            rows = await self._db.execute(query, nodes=names[first : first + NODES])
            vectors_by_node.update(
                (node, vectors)
                for node, vectors, of_space, of_story in rows.all()
                if (of_space, of_story) == (space, story)
            )
        return vectors_by_node
