"""bge-small with its real files; without them these tests are skipped."""

from __future__ import annotations

import os

import numpy as np
import pytest

from bot.config import load
from bot.retrieval.embedding import BgeSmall

FOLDER = load(environ=os.environ).models_dir / "bge-small"
pytestmark = pytest.mark.skipif(
    not (FOLDER / "model.onnx").is_file(),
    reason="the files of bge-small are not there: python -m bot models pull",
)

LIGHT = "A lit lantern shows everything within ten paces and hints at what stands within thirty."
WOLVES = "Wolves follow the smell of tallow. They never come within the light."
BREAD = "Knead the dough for ten minutes and let it rise under a cloth until it has doubled."


@pytest.fixture(scope="module")
def model() -> BgeSmall:
    return BgeSmall(FOLDER, threads=1)


def test_vectors_have_length_one(model: BgeSmall) -> None:
    made = model.passages([LIGHT, WOLVES, BREAD])
    assert made.shape == (3, model.dimensions)
    assert made.dtype == np.float32
    assert np.linalg.norm(made, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert np.linalg.norm(model.query("How far does light reach?")) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("question", "nearest"),
    [
        ("How far does a lantern shine?", 0),
        ("What attracts wolves?", 1),
        ("How long do I have to work a bread dough?", 2),
    ],
)
def test_a_question_is_nearest_to_its_answer(model: BgeSmall, question: str, nearest: int) -> None:
    likeness = model.passages([LIGHT, WOLVES, BREAD]) @ model.query(question)
    assert int(likeness.argmax()) == nearest
    assert float(np.sort(likeness)[-1] - np.sort(likeness)[-2]) > 0.05


def test_other_texts_in_the_batch_change_a_vector_little(model: BgeSmall) -> None:
    together = model.passages([LIGHT, WOLVES, BREAD, LIGHT + " " + BREAD])
    for at, text in enumerate([LIGHT, WOLVES, BREAD]):
        # An int8 model scales by its whole batch: near, not the same.
        assert float(together[at] @ model.passages([text])[0]) > 0.98


def test_a_text_that_is_too_long_is_cut_off(model: BgeSmall) -> None:
    long = " ".join([LIGHT] * 40)
    one, other = model.passages([long])[0], model.passages([long + " " + BREAD])[0]
    assert float(one @ other) == pytest.approx(1, abs=1e-5)
    assert model.passages([]).shape == (0, model.dimensions)
