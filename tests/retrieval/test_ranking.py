"""Fusion of rankings: it keeps an order on which they agree, and scores stay within their range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.retrieval.ranking import agreement, lead, min_max, mmr

KEYS = st.lists(st.integers(0, 50), unique=True, max_size=20)


@given(scores=st.lists(st.floats(-1e6, 1e6, width=32), max_size=30))
def test_min_max_stays_in_range_and_keeps_the_order(scores: list[float]) -> None:
    made = min_max(np.array(scores, dtype=np.float32))
    assert ((made >= 0) & (made <= 1)).all()
    assert (np.diff(made[np.argsort(scores, kind="stable")]) >= -1e-6).all()


@given(keys=KEYS, trade=st.floats(0, 1), limit=st.integers(0, 25))
def test_variety_chooses_each_passage_at_most_once(keys: list[int], trade: float, limit: int) -> None:
    chosen = mmr(
        keys, [1 / (1 + key) for key in keys], lambda a, b: float(a % 3 == b % 3), limit=limit, trade=trade
    )
    assert len(chosen) == len(set(chosen)) == min(limit, len(keys))


def test_variety_skips_a_duplicate() -> None:
    alike = {("a", "b"), ("b", "a")}
    assert mmr("abc", [1.0, 0.9, 0.5], lambda x, y: float((x, y) in alike), limit=2, trade=0.5) == ["a", "c"]


def test_the_lead_of_the_nearest_passage_is_measured() -> None:
    cosines = np.zeros(200, dtype=np.float32)
    cosines[:50] = np.linspace(0.9, 0.41, 50)
    assert lead(cosines, 100) == pytest.approx(0.09), "of the tenth among a hundred"
    assert lead(cosines, 10_000) == pytest.approx(0.49), "no further than there are votes"
    assert lead(cosines, 9) is None
    assert lead(np.zeros(200, dtype=np.float32), 200) is None


def test_words_and_vectors_agree_if_one_passage_is_best_in_both() -> None:
    cosines = np.linspace(0.5, 0.8, 20, dtype=np.float32)
    words = np.zeros(20, dtype=np.float32)
    words[19] = 4.0
    assert agreement(words, cosines, 0.8) == pytest.approx(1.0)
    assert agreement(words[::-1], cosines, 0.8) == pytest.approx(1 / 1.8)
    assert agreement(words, cosines * (cosines > 0.75), 0.8) == 1.0, "a few have to agree"
