"""Which parts of a search find 40 facts again that were planted 100 and more scenes ago, in two branches of a story.

`python -m benchmarks.planted` prints the tables of docs/retrieval-lab.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from benchmarks.cached_vectors import CachedVectors
from benchmarks.figures import Figure
from benchmarks.memory import BARE, SPACE, STANDARD, alone, gain, model, variants
from benchmarks.planted_story import NAMED, Planted, planted
from benchmarks.scripted_extractor import parts
from bot.works.story.command_line import Scores
from bot.works.story.config import RecallConfig
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from storage.story_vectors import NodeVectors

SCENES = 5
"""So many of the first are looked at for the one that holds the fact."""
PIECES = 100
FOUND = "found"


class Rows:
    """The vectors of a story's nodes, where the database would keep them; and the embedder, where there is one."""

    def __init__(self, embedder: CachedVectors | None) -> None:
        self._embedder = embedder
        self._rows: dict[str, bytes] = {}

    async def get(self) -> CachedVectors | None:
        return self._embedder

    async def put(self, space: str, story: str, embedder: str, rows: Sequence[NodeVectors]) -> None:
        self._rows.update({row.node_id: row.vectors for row in rows})

    async def of(self, space: str, story: str, embedder: str, nodes: Sequence[str]) -> dict[str, bytes]:
        return {node: self._rows[node] for node in nodes if node in self._rows}


class Bench:
    def __init__(self, cached: CachedVectors | None) -> None:
        rows = Rows(cached)
        self.branches = planted()
        self.memory = Memory(rows, rows, RecallConfig())  # type: ignore[arg-type]

    async def learn(self) -> None:
        for name, branch in self.branches.items():
            await self.memory.learn(SPACE, "story", name, branch.story)

    async def found(self, by: RecallConfig, *, named: bool = False) -> dict[tuple[str, str], float]:
        """Of each of the 40 facts, by branch and name, whether it is found at the story's end: 1 or 0.

        In other words, or by a turn that names it.
        """
        found_facts = {}
        for name, branch in self.branches.items():
            for fact, turn in branch.facts:
                if fact.branch or name == "main":
                    query = NAMED[fact.name] if named else fact.query
                    found_facts[fact.branch, fact.name] = float(
                        turn in await self._scenes(name, branch, query, by)
                    )
        return found_facts

    async def scores(self, by: RecallConfig, *, named: bool) -> list[Scores]:
        """Of each fact, as FOUND."""
        return [{FOUND: value} for value in (await self.found(by, named=named)).values()]

    async def _scenes(self, name: str, branch: Planted, words: str, by: RecallConfig) -> list[str]:
        query = Query(words, parts=parts(words), chapter=branch.chapter)
        recalled = await self.memory.recall(SPACE, "story", name, branch.story, query, PIECES, by=by)
        assert all(piece.turn in branch.story.turns for piece in recalled), "nothing of the other branch"
        return list(dict.fromkeys(piece.turn for piece in recalled))[:SCENES]


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_figures())


async def _figures() -> list[Figure]:
    cached = model()
    bench = Bench(cached)
    await bench.learn()
    figures = []
    for vectors in (True, False) if cached is not None else (False,):
        by = STANDARD if vectors else STANDARD.without(["meaning"])
        for named in (False, True):
            found_facts = await bench.found(by, named=named)
            how_asked = "by name" if named else "in other words"
            how = "with vectors" if vectors else "by words"
            label = f"facts found 100 scenes later, of {len(found_facts)}, asked {how_asked}, {how}"
            figures.append(Figure(label, f"{sum(found_facts.values()):.0f}"))
    return figures


async def _tables() -> None:
    bench = Bench(model())
    await bench.learn()
    by_column = {"words": BARE, **dict(alone()), "as it is": STANDARD}
    columns = {title: await bench.found(by) for title, by in by_column.items()}
    named = {title: await bench.found(by, named=True) for title, by in by_column.items()}
    print("| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for title, found_facts in (("by name", named), ("in other words", columns)):
        print(
            f"| **{title}, of 40** | "
            + " | ".join(f"{sum(value.values()):.0f}" for value in found_facts.values())
            + " |"
        )
    for key in columns["as it is"]:
        marks = [
            f"{'n' if named[title][key] else ''}{'w' if columns[title][key] else ''}" for title in columns
        ]
        print(f"| {key[1]}{f' ({key[0]})' if key[0] else ''} | " + " | ".join(marks) + " |")
    print("\n| | by name | in other words |\n|---|---|---|")
    for title, before, after in variants():
        gains = [
            gain(
                await bench.scores(before, named=named_too), await bench.scores(after, named=named_too), FOUND
            )
            for named_too in (True, False)
        ]
        print(f"| {title} | {' | '.join(gains)} |")


if __name__ == "__main__":
    asyncio.run(_tables())
