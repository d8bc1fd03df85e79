"""Variety skips near-duplicates, but never what a title has found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bot.config import load
from bot.resources import Resources
from bot.retrieval.intake import Item
from bot.retrieval.ranking import Hit, varied
from tests.fakes import migrated

BOOK = """# Roads

## The old road

The old road leads north over the hills to the abbey, and pilgrims walk it by lantern light.

## The old road, again

The old road leads north over the hills to the abbey, and pilgrims walk it by lantern light still.

## Tolls

Whoever takes the road to the abbey by cart pays two coppers at the bridge.
"""
QUESTION = "Which road do pilgrims walk to the abbey?"


def hit(number: int, by: str = "search") -> Hit:
    return Hit(f"book:{number}", "book", 0, 1 / (1 + number), by)


@given(
    marks=st.lists(st.sampled_from(["search", "bridge", "exact"]), max_size=20),
    limit=st.integers(0, 25),
    trade=st.floats(0, 1),
)
def test_passages_are_chosen_at_most_once_and_titles_come_first(
    marks: list[str], limit: int, trade: float
) -> None:
    hits = [hit(number, by) for number, by in enumerate(marks)]
    chosen = varied(hits, lambda chunk: frozenset({len(chunk) % 3}), limit, trade)
    assert len(chosen) == len({passage.chunk_id for passage in chosen}) == min(limit, len(hits))
    titles = [hit for hit in hits if hit.titled]
    assert chosen[: len(titles)] == titles[:limit]


@given(count=st.integers(0, 20), limit=st.integers(0, 25))
def test_without_variety_the_order_is_plain(count: int, limit: int) -> None:
    hits = [hit(number) for number in range(count)]
    assert varied(hits, lambda chunk: frozenset({1}), limit, 1.0) == hits[:limit]
    assert np.all(np.diff([hit.score for hit in hits]) <= 0)


async def test_a_library_skips_a_duplicate(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[embedding]\nmodel = "none"\n', encoding="utf-8")
    (tmp_path / "book.md").write_text(BOOK, encoding="utf-8")
    resources = await Resources.open(
        load(tmp_path / "config.toml", migrated.folder(tmp_path / "data"), environ={})
    )
    try:
        item = Item("book.md", str(tmp_path / "book.md"))
        await resources.intake.take("local", "rules", item, "k", replace=False)
        plain = await resources.library.search("local", "rules", QUESTION, k=2)
        mixed = await resources.library.search("local", "rules", QUESTION, k=2, mmr_lambda=0.3)
    finally:
        await resources.close()
    assert {passage.heading.rpartition(" › ")[2] for passage in plain.passages} == {
        "The old road",
        "The old road, again",
    }
    assert mixed.passages[0] == plain.passages[0]
    assert mixed.passages[1].heading.endswith("Tolls")
    assert mixed.confident == plain.confident
