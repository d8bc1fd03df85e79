"""The postings of a term come back as they were added, however rare or frequent it is."""

from __future__ import annotations

import random

from bot.works.story.memory.postings import Postings


def test_postings_come_back_as_they_were_added() -> None:
    chance, postings = random.Random(4), Postings()
    added = dict[str, list[tuple[int, int, bool]]]()
    for spread in (1, 2, 31, 32, 33, 64, 1_000, 1_024, 32_768, 40_000, 2_000_000):
        piece, rows = chance.choice([-1, 0, spread]), added.setdefault(f"term {spread}", [])
        for _ in range(200):
            piece += chance.choice([1, spread, chance.randint(1, spread)])
            count = chance.choice([1, 1, 1, 2, 3, 4, 6, 7, 127])
            rows.append((piece, count, chance.random() < 0.3))
    every = sorted((row, term) for term, rows in added.items() for row in rows)
    for (piece, count, capital), term in every:
        postings.add(term, piece, count, capital)
    assert list(postings) == list(dict.fromkeys(term for _, term in every))
    for term, rows in added.items():
        pieces, counts, capitals = postings.of(term)
        assert list(zip(pieces.tolist(), counts.tolist(), capitals.tolist(), strict=True)) == rows
    assert [len(column) for column in postings.of("unknown")] == [0, 0, 0]
