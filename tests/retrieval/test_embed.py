"""Embedders are chosen by name; one sentence says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.events import UserError
from bot.retrieval.embedding import embedder


def test_the_model_none_means_no_embedder(tmp_path: Path) -> None:
    assert embedder("none", tmp_path) is None


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("bge-small", "models.absent"),
        ("openai:text-embedding-3-small", "embedding.key_missing"),
        ("word2vec", "embedding.unknown"),
        ("openai:", "embedding.unknown"),
    ],
)
def test_the_missing_package_is_named(tmp_path: Path, model: str, key: str) -> None:
    with pytest.raises(UserError) as refused:
        embedder(model, tmp_path)
    assert refused.value.key == key
