"""Fusion: order is kept where rankings agree, and numbers stay in their range."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bot.retrieval.ranking import min_max, mmr

KEYS = st.lists(st.integers(0, 50), unique=True, max_size=20)


@given(scores=st.lists(st.floats(-1e6, 1e6, width=32), max_size=30))
def test_min_max_stays_in_range_and_keeps_the_order(scores: list[float]) -> None:
    made = min_max(np.array(scores, dtype=np.float32))
    assert ((made >= 0) & (made <= 1)).all()
    assert (np.diff(made[np.argsort(scores, kind="stable")]) >= -1e-6).all()


@given(keys=KEYS, trade=st.floats(0, 1), limit=st.integers(0, 25))
def test_variety_chooses_each_at_most_once(keys: list[int], trade: float, limit: int) -> None:
    chosen = mmr(
        keys, [1 / (1 + key) for key in keys], lambda a, b: float(a % 3 == b % 3), limit=limit, trade=trade
    )
    assert len(chosen) == len(set(chosen)) == min(limit, len(keys))


def test_variety_passes_over_a_double() -> None:
    alike = {("a", "b"), ("b", "a")}
    assert mmr("abc", [1.0, 0.9, 0.5], lambda x, y: float((x, y) in alike), limit=2, trade=0.5) == ["a", "c"]
