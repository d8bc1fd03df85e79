"""Packed vectors find what float vectors find."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bot.retrieval.embedding import unit
from bot.works.story.memory.vectors import (
    CANDIDATES,
    CROWD,
    PieceVectors,
    decode,
    encode,
    nearest,
    outstanding,
)

DIMENSIONS = 384


def units(count: int, seed: int) -> NDArray[np.float32]:
    return unit(np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32))


def held(vectors: NDArray[np.float32]) -> tuple[NDArray[np.uint8], PieceVectors]:
    rows = encode(vectors)
    signs = PieceVectors(rows.shape[1])
    signs.add(range(len(rows)), rows)
    return rows, signs


def wanted(*pieces: int) -> NDArray[np.bool_]:
    """A mask of these pieces."""
    mask = np.zeros(max(pieces, default=-1) + 1, dtype=np.bool_)
    mask[list(pieces)] = True
    return mask


def test_the_nearest_vectors_are_those_that_floats_find() -> None:
    queries, vectors = units(4, 2), units(40_000, 1)
    for number, query in enumerate(queries):  # 50 that are near it, the others are near nothing
        near_it = slice(50 * number, 50 * number + 50)
        vectors[near_it] = unit(query + units(50, 10 + number))
    rows, signs = held(vectors)
    every = np.ones(len(vectors), dtype=np.bool_)
    for number, query in enumerate(queries):
        likely = signs.likely(query, every)
        assert len(likely) == CANDIDATES
        found = nearest(query, signs.pieces(likely), decode(rows[likely], DIMENSIONS), 50)
        assert set(found) == set(range(50 * number, 50 * number + 50))
        scores = [score for score, _ in found.values()]
        assert scores == sorted(scores, reverse=True)
        cosines = vectors @ query
        assert all(abs(cosine - cosines[at]) < 0.03 for at, (cosine, _) in found.items())
        assert all(signs.pieces(likely)[row] == at for at, (_, row) in found.items())


def test_a_vector_keeps_its_length_and_any_number_of_dimensions() -> None:
    vectors = np.array([[0.5, -0.25, 0.0, 0.1, -0.5], [0.05, -0.02, 0.01, 0.03, 0.05]], dtype=np.float32)
    kept = decode(encode(vectors), 5)
    assert np.abs(kept[0] - vectors[0]).max() < 0.04
    assert np.abs(kept[1] - vectors[1]).max() < 0.004
    assert np.isfinite(decode(encode(np.zeros((1, 5), dtype=np.float32)), 5)).all()
    signs = PieceVectors(encode(vectors).shape[1])
    signs.add([900], encode(vectors[:1]))
    signs.add([3, 3], encode(np.stack([vectors[1], -vectors[1]])))
    every = wanted(3, 900)
    assert signs.pieces(signs.likely(vectors[0], every)).tolist() == [900, 3, 3]


def test_only_the_pieces_asked_for_are_found() -> None:
    vectors = units(50 + 3 * CANDIDATES, 3)
    _, signs = held(vectors)
    few, none = wanted(1, 2, 3, 70_000), wanted()
    assert signs.likely(vectors[7], few).tolist() == [1, 2, 3], "7 was not asked for, 70,000 has no vector"
    every_other = np.arange(len(vectors)) % 2 == 0
    likely = signs.likely(vectors[7], every_other)
    assert not np.count_nonzero(likely % 2), "also where there are more than can be compared"
    assert len(signs.likely(vectors[7], none)) == len(signs.crowd(none, DIMENSIONS)) == 0
    assert len(PieceVectors(signs.width).likely(vectors[7], few)) == 0


def test_the_comparison_sample_is_spread_over_a_branch_of_any_size() -> None:
    vectors = np.repeat(np.arange(1, 9 * CROWD + 1, dtype=np.float32)[:, None], 4, axis=1)
    rows = encode(vectors)
    at_once, one_by_one = PieceVectors(rows.shape[1]), PieceVectors(rows.shape[1])
    at_once.add(range(len(rows)), rows)
    for first in range(0, len(rows), 7):
        one_by_one.add(range(first, min(first + 7, len(rows))), rows[first : first + 7])
    last_half = np.arange(len(rows)) >= len(rows) // 2
    crowd = at_once.crowd(last_half, 4)
    assert len(crowd) == CROWD
    assert (crowd[:, 0] > 0.9 * len(rows) / 2).all(), "none of the other half"
    assert np.array_equal(crowd, one_by_one.crowd(last_half, 4))


def test_texts_near_to_everything_do_not_displace_the_answer() -> None:
    chance = np.random.default_rng(5)
    common = unit(chance.normal(size=(1, 64)).astype(np.float32))
    subjects = unit(chance.normal(size=(400, 64)).astype(np.float32))
    hubs = unit(common + 0.1 * unit(chance.normal(size=(40, 64)).astype(np.float32)))
    vectors = np.concatenate([hubs, subjects])
    pieces = np.arange(440, dtype=np.int32)
    asked = unit(subjects[7] + 1.05 * common[0])
    assert next(iter(nearest(asked, pieces, vectors, 100))) < 40, "by cosines alone it would"
    assert next(iter(outstanding(asked, pieces, vectors, vectors, 100))) == 47
    assert outstanding(asked, pieces[:5], vectors[:5], vectors[:5], 100).keys() == set(range(5))
    assert outstanding(asked, pieces[:0], vectors[:0], vectors[:0], 100) == {}
