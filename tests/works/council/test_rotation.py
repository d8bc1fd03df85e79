"""No response gains by its position, over all judges."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.config.model_spec import MOST
from bot.works.council.rotation import display_orders, label, labels

SEEDS = st.text(max_size=20)
SEATS = st.lists(st.integers(0, 40), min_size=1, max_size=MOST, unique=True)


@settings(deadline=None, max_examples=50)
@given(SEEDS, SEATS, st.integers(1, 3))
def test_with_as_many_judges_as_seats_each_seat_is_once_at_each_position(
    seed: str, seats: list[int], squares: int
) -> None:
    rows = display_orders(seed, len(seats) * squares, seats)
    for position in range(len(seats)):
        assert Counter(row[position] for row in rows) == dict.fromkeys(seats, squares)


@settings(deadline=None, max_examples=50)
@given(SEEDS, SEATS, st.integers(0, 30))
def test_each_judge_sees_each_response_once(seed: str, seats: list[int], judges: int) -> None:
    rows = display_orders(seed, judges, seats)
    assert [sorted(row) for row in rows] == [sorted(seats)] * judges


@settings(deadline=None, max_examples=50)
@given(SEEDS, SEATS, st.integers(0, MOST))
def test_with_fewer_judges_no_seat_is_twice_at_a_position(seed: str, seats: list[int], judges: int) -> None:
    for column in zip(*display_orders(seed, min(judges, len(seats)), seats), strict=True):
        assert len(set(column)) == len(column)


@pytest.mark.parametrize(("n", "judges"), [(2, 2), (4, 4), (8, 8), (12, 12), (3, 6), (5, 10), (7, 14)])
def test_each_seat_precedes_every_other_as_often_as_it_follows_and_neighbours_all_equally(
    n: int, judges: int
) -> None:
    rows = display_orders("a run", judges, range(n))
    before = Counter((one, two) for row in rows for at, one in enumerate(row) for two in row[at + 1 :])
    followed = Counter(pair for row in rows for pair in pairwise(row))
    pairs = [(one, two) for one in range(n) for two in range(n) if one != two]
    assert before == dict.fromkeys(pairs, judges // 2)
    assert followed == dict.fromkeys(pairs, judges // n)


def test_a_seed_gives_the_same_rows_for_ever() -> None:
    assert display_orders("0190f5c1", 3, [0, 2, 5]) == [[0, 5, 2], [5, 2, 0], [2, 0, 5]]


def test_another_run_has_another_order_and_gives_the_first_judge_another_row() -> None:
    runs = [display_orders(f"run {n}", 4, range(4)) for n in range(200)]
    assert len({tuple(rows[0]) for rows in runs}) == 24
    assert len({tuple(map(tuple, rows)) for rows in runs}) > 100


def test_without_answers_there_are_no_rows() -> None:
    assert display_orders("a run", 2, []) == [[], []]
    assert display_orders("a run", 0, [1, 2]) == []


def test_positions_have_letters() -> None:
    assert labels(3) == ["A", "B", "C"] == [label(at) for at in range(3)]
    assert len(set(labels(MOST))) == MOST
