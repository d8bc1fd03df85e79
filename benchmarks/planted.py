"""Which parts of a search find 40 facts again that were planted 100 and more scenes ago, in two branches of a story.

`python -m benchmarks.planted` prints the tables of docs/retrieval.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from benchmarks.figures import Figure
from benchmarks.kept_vectors import KeptVectors
from benchmarks.memory import OFF_BY_DEFAULT, SPACE, model
from benchmarks.planted_story import NAMED, Planted, planted
from benchmarks.scripted_extractor import parts
from benchmarks.strategies import bootstrap
from bot.works.story.memory.config import COMPONENTS, RecallConfig
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from storage.story_vectors import NodeVectors

SCENES = 5
"""So many of the first are looked at for the one that holds the fact."""
PIECES = 100


class Rows:
    """The vectors of a story's nodes, where the database would keep them; and the embedder, where there is one."""

    def __init__(self, embedder: KeptVectors | None) -> None:
        self._embedder = embedder
        self._rows: dict[str, bytes] = {}

    async def get(self) -> KeptVectors | None:
        return self._embedder

    async def put(self, space: str, story: str, embedder: str, rows: Sequence[NodeVectors]) -> None:
        self._rows.update({row.node_id: row.vectors for row in rows})

    async def of(self, space: str, story: str, embedder: str, nodes: Sequence[str]) -> dict[str, bytes]:
        return {node: self._rows[node] for node in nodes if node in self._rows}


class Bench:
    def __init__(self, kept: KeptVectors | None) -> None:
        rows = Rows(kept)
        self.branches = planted()
        self.memory = Memory(rows, rows, RecallConfig())  # type: ignore[arg-type]

    async def learn(self) -> None:
        for name, branch in self.branches.items():
            await self.memory.learn(SPACE, "story", name, branch.story)

    async def found(self, by: RecallConfig, *, named: bool = False) -> dict[tuple[str, str], float]:
        """Of each of the 40 facts, by branch and name, whether it is found at the story's end: 1 or 0.

        In other words, or by a turn that names it.
        """
        found = {}
        for name, branch in self.branches.items():
            for fact, turn in branch.facts:
                if fact.branch or name == "main":
                    asked = NAMED[fact.name] if named else fact.query
                    found[fact.branch, fact.name] = float(turn in await self._scenes(name, branch, asked, by))
        return found

    async def _scenes(self, name: str, branch: Planted, asked: str, by: RecallConfig) -> list[str]:
        query = Query(asked, parts=parts(asked), chapter=branch.chapter)
        recalled = await self.memory.recall(SPACE, "story", name, branch.story, query, PIECES, by=by)
        assert all(piece.turn in branch.story.turns for piece in recalled), "nothing of the other branch"
        return list(dict.fromkeys(piece.turn for piece in recalled))[:SCENES]


STANDARD = RecallConfig()
BARE = STANDARD.without(COMPONENTS)
ALONE: dict[str, RecallConfig] = {"words": BARE} | {
    title: replace(BARE, **{key: getattr(STANDARD, key) for key in keys})
    for title, keys in {
        "neighbours, scene": ("after_one", "after_two", "before_one", "before_two", "scene"),
        "meaning": ("meaning", "covered"),
        "keywords": ("keywords",),
        "decomposition": ("decomposition",),
        "phrases": ("phrases",),
        "events": ("events",),
    }.items()
}
"""Words alone, and with one other part of the search each."""
for _name, _on in OFF_BY_DEFAULT.items():
    ALONE[_name] = replace(BARE, **_on)  # type: ignore[arg-type]


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_figures())


async def _figures() -> list[Figure]:
    kept = model()
    bench = Bench(kept)
    await bench.learn()
    made = []
    for vectors in (True, False) if kept is not None else (False,):
        by = STANDARD if vectors else STANDARD.without(["meaning"])
        for named in (False, True):
            found = await bench.found(by, named=named)
            asked = "by name" if named else "in other words"
            how = "with vectors" if vectors else "by words"
            what = f"facts found 100 scenes later, of {len(found)}, asked {asked}, {how}"
            made.append(Figure(what, f"{sum(found.values()):.0f}"))
    return made


async def _tables() -> None:
    bench = Bench(model())
    await bench.learn()
    by_column = ALONE | {"as it is": STANDARD}
    columns = {title: await bench.found(by) for title, by in by_column.items()}
    named = {title: await bench.found(by, named=True) for title, by in by_column.items()}
    print("| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for title, found in (("by name", named), ("in other words", columns)):
        print(
            f"| **{title}, of 40** | "
            + " | ".join(f"{sum(one.values()):.0f}" for one in found.values())
            + " |"
        )
    for key in columns["as it is"]:
        marks = [
            f"{'n' if named[title][key] else ''}{'w' if columns[title][key] else ''}" for title in columns
        ]
        print(f"| {key[1]}{f' ({key[0]})' if key[0] else ''} | " + " | ".join(marks) + " |")
    print("\n| | by name | in other words |\n|---|---|---|")
    variants = {f"without {name}": STANDARD.without([name]) for name in COMPONENTS}
    variants |= {f"with {name}": replace(STANDARD, **on) for name, on in OFF_BY_DEFAULT.items()}  # type: ignore[arg-type]
    rows = [(title, STANDARD, by) for title, by in variants.items() if by != STANDARD]
    rows += [(f"words and {title} alone", BARE, by) for title, by in ALONE.items() if by != BARE]
    for title, before, after in rows:
        gains = [
            _gain(await bench.found(before, named=named_too), await bench.found(after, named=named_too))
            for named_too in (True, False)
        ]
        print(f"| {title} | {' | '.join(gains)} |")


def _gain(before: dict[tuple[str, str], float], after: dict[tuple[str, str], float]) -> str:
    gain, low, high = bootstrap([before[key] for key in before], [after[key] for key in before])
    shown = f"{gain:+.3f} ({low:+.3f} … {high:+.3f})"
    return f"**{shown}**" if low > 0 or high < 0 else shown


if __name__ == "__main__":
    asyncio.run(_tables())
