"""Measures which parts of a search find 64 facts, planted 100 and more scenes ago in two branches of a story.

`python -m benchmarks.planted` prints the tables of docs/retrieval-lab.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.cached_vectors import CachedVectors
from benchmarks.figures import Figure
from benchmarks.memory import BARE, SPACE, STANDARD, alone, gain, model, variants
from benchmarks.planted_story import Fact, Planted, planted
from benchmarks.scripted_extractor import parts
from bot.works.story.command_line import Scores
from bot.works.story.config import RecallConfig
from bot.works.story.memory.excerpts import as_prompt, excerpts
from bot.works.story.memory.memory import Memory
from bot.works.story.memory.ranking import Query
from storage.story_vectors import NodeVectors

SCENES = 5
"""How many of the first scenes are checked for the one with the fact."""
PIECES = 100
FOUND = "found"
WORDS, PORTUGUESE, NAME = "in other words", "in other words, in Portuguese", "by name"
REACH: Final = {WORDS: 0.80, PORTUGUESE: 0.75}
READ: Final = {WORDS: 0.80, PORTUGUESE: 0.70}
"""What share of facts is to be found, and is to stand in the excerpts that the writer reads."""
LAST, TOKENS = 5, 3_200
"""So many scenes are in the prompt anyway, and so many tokens the excerpts have, in a window of 32,000."""


def asked_for(fact: Fact, how: str) -> str:
    return {WORDS: fact.query, PORTUGUESE: fact.query_pt, NAME: fact.named}[how]


class Rows:
    """The vectors of a story's nodes, as in the database; and the embedder, if there is one."""

    other_languages: frozenset[str] = frozenset()

    def __init__(self, embedder: CachedVectors | None) -> None:
        self._embedder = embedder
        self._rows: dict[str, bytes] = {}

    async def get(self) -> CachedVectors | None:
        return self._embedder

    async def put(self, space: str, story: str, embedder: str, rows: Sequence[NodeVectors]) -> None:
        self._rows.update({row.node_id: row.vectors for row in rows})

    async def by_node(self, space: str, story: str, embedder: str, nodes: Sequence[str]) -> dict[str, bytes]:
        return {node: self._rows[node] for node in nodes if node in self._rows}


class Bench:
    def __init__(self, cached: CachedVectors | None) -> None:
        rows = Rows(cached)
        self.branches = planted()
        self.memory = Memory(rows, rows, RecallConfig())  # type: ignore[arg-type]

    async def learn(self) -> None:
        for name, branch in self.branches.items():
            await self.memory.learn(SPACE, "story", name, branch.story)

    async def found(self, by: RecallConfig, how: str = WORDS) -> dict[tuple[str, str], float]:
        """For each fact, by branch and name, whether it is found at the story's end: 1 or 0."""
        found_facts = {}
        for name, branch in self.branches.items():
            for fact, turn in branch.facts:
                if fact.branch or name == "main":
                    scenes = await self._scenes(name, branch, asked_for(fact, how), by)
                    found_facts[fact.branch, fact.name] = float(turn in scenes)
        return found_facts

    async def read(self, how: str) -> list[float]:
        """For each fact, whether the excerpts for a turn that asks for it contain it: 1 or 0."""
        told = list[float]()
        for name, branch in self.branches.items():
            story = branch.story
            last = story.path[story.length - LAST : story.length]
            for fact, _ in branch.facts:
                if fact.branch or name == "main":
                    query = Query(asked_for(fact, how), chapter=branch.chapter)
                    chosen = await excerpts(
                        self.memory, SPACE, "story", name, story, query, STANDARD, TOKENS, last
                    )
                    told.append(float(fact.holds in as_prompt(story, chosen)))
        return told

    async def scores(self, by: RecallConfig, how: str) -> list[Scores]:
        """The scores of each fact, as FOUND."""
        return [{FOUND: value} for value in (await self.found(by, how)).values()]

    async def _scenes(self, name: str, branch: Planted, words: str, by: RecallConfig) -> list[str]:
        query = Query(words, parts=parts(words), chapter=branch.chapter)
        recalled = await self.memory.recall(SPACE, "story", name, branch.story, query, PIECES, by=by)
        assert all(piece.turn in branch.story.turns for piece in recalled), "nothing of the other branch"
        return list(dict.fromkeys(piece.turn for piece in recalled))[:SCENES]


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_figures())


def chosen_model() -> CachedVectors | None:
    """The model that stories choose."""
    return model("e5-enpt") or model()


async def _figures() -> list[Figure]:
    cached = chosen_model()
    bench = Bench(cached)
    await bench.learn()
    figures = []
    for vectors in (True, False) if cached is not None else (False,):
        by = STANDARD if vectors else STANDARD.without(["meaning"])
        for how in (WORDS, PORTUGUESE, NAME):
            facts = list((await bench.found(by, how)).values())
            label = f"facts found 100 scenes later, of {len(facts)}, asked {how}"
            label += f", with {cached.name}" if vectors and cached is not None else ", by words"
            figures.append(_figure(label, facts, REACH.get(how, 0.0) if vectors else 0.0))
            if vectors and how in READ:
                label = f"… in the excerpts of a turn that asks {how}"
                figures.append(_figure(label, await bench.read(how), READ[how]))
    return figures


def _figure(label: str, facts: Sequence[float], reach: float) -> Figure:
    """The second half of the facts was held back when the weights were chosen."""
    held = facts[1::2]
    shown = f"{sum(facts):.0f} ({sum(held):.0f} of the {len(held)} held back)"
    if not reach:
        return Figure(label, shown)
    share = sum(facts) / len(facts)
    return Figure(label, shown, f"≥ {reach:.2f}", "", share >= reach)


async def _tables() -> None:
    bench = Bench(chosen_model())
    await bench.learn()
    by_column = {"words": BARE, **dict(alone()), "as it is": STANDARD}
    columns = {title: await bench.found(by) for title, by in by_column.items()}
    named = {title: await bench.found(by, NAME) for title, by in by_column.items()}
    portuguese = {title: await bench.found(by, PORTUGUESE) for title, by in by_column.items()}
    print("| | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for title, found_facts in ((NAME, named), (WORDS, columns), (PORTUGUESE, portuguese)):
        print(
            f"| **{title}, of 64** | "
            + " | ".join(f"{sum(value.values()):.0f}" for value in found_facts.values())
            + " |"
        )
    print("\n| | by name | in other words | in Portuguese |\n|---|---|---|---|")
    for title, before, after in variants():
        gains = [
            gain(await bench.scores(before, how), await bench.scores(after, how), FOUND)
            for how in (NAME, WORDS, PORTUGUESE)
        ]
        print(f"| {title} | {' | '.join(gains)} |")


if __name__ == "__main__":
    asyncio.run(_tables())
