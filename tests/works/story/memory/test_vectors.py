"""Vectors held small find what floats find."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bot.retrieval.embedding import unit
from bot.works.story.memory.vectors import PieceVectors, packed

DIMENSIONS = 384


def units(count: int, seed: int) -> NDArray[np.float32]:
    return unit(np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32))


def test_the_nearest_are_those_that_floats_find() -> None:
    queries, vectors = units(10, 2), units(5_000, 1)
    for number, query in enumerate(queries):  # 50 that are near it, the others are near nothing
        near_it = slice(50 * number, 50 * number + 50)
        vectors[near_it] = unit(query + units(50, 10 + number))
    kept = PieceVectors(DIMENSIONS)
    kept.add(range(5_000), packed(vectors))
    for number, query in enumerate(queries):
        found = kept.nearest(query, np.arange(5_000, dtype=np.int32), 50)
        assert set(found) == set(range(50 * number, 50 * number + 50))
        cosines = vectors @ query
        assert all(abs(cosine - cosines[at]) < 0.06 for at, cosine in found.items())


def test_only_the_pieces_asked_for_are_found() -> None:
    vectors = units(100, 3)
    kept = PieceVectors(DIMENSIONS)
    kept.add(range(50), packed(vectors[:50]))
    near = kept.nearest(vectors[7], np.array([1, 2, 3, 70, 99], dtype=np.int32), 10)
    assert set(near) == {1, 2, 3}, "7 was not asked for, 70 and 99 have no vector"
    assert kept.nearest(vectors[7], np.arange(50, dtype=np.int32), 1).keys() == {7}
    assert PieceVectors(DIMENSIONS).nearest(vectors[7], np.arange(5, dtype=np.int32), 3) == {}


def test_vectors_may_come_in_any_order_and_any_number_of_dimensions() -> None:
    kept = PieceVectors(5)
    row = np.eye(5, dtype=np.float32)
    kept.add([900], packed(row[:1]))
    kept.add([3], packed(row[1:2]))
    assert kept.nearest(row[0], np.array([3, 900], dtype=np.int32), 1).keys() == {900}
