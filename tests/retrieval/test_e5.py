"""The packed e5 model computes the right vectors on onnxruntime, whatever else is in its batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bot.events import UserError
from bot.retrieval.e5 import E5
from bot.retrieval.embedding import E5_ENPT, embedder
from tests.fakes.packed_e5 import PackedE5

LAMPS = [0, 5, 7, 6, 2]
FIRE = [0, 8, 9, 2]


def test_a_text_has_the_same_mean_of_tokens_alone_and_beside_a_longer_one(tmp_path: Path) -> None:
    packed = PackedE5()
    packed.write(tmp_path / "model.bin")
    model = E5("e5", tmp_path / "model.bin", tokens=32, threads=1)
    expected = np.stack([packed.mean(LAMPS), packed.mean(FIRE)])
    # "ﬁ" is one letter; two spaces count as one.
    together = model.means(["lamps  mill", "ﬁre"])
    # The products take their inputs in eight bits, so a part is lost.
    assert np.abs(together - expected).max() < 0.05 * np.abs(expected).max()
    assert np.abs(model.means(["ﬁre"])[0] - together[1]).max() < 0.05 * np.abs(expected).max()
    assert np.abs(expected[0] - expected[1]).max() > 0.5, "else the test could not fail"


def test_the_last_layers_states_average_to_the_texts_vector(tmp_path: Path) -> None:
    PackedE5().write(tmp_path / "model.bin")
    model = E5("e5", tmp_path / "model.bin", tokens=32, threads=1)
    states = model.states("lamps mill")
    assert len(states) == len(LAMPS)
    assert states[:, -model.dimensions :].mean(0) == pytest.approx(model.means(["lamps mill"])[0], abs=1e-5)


def test_a_long_text_is_cut(tmp_path: Path) -> None:
    PackedE5().write(tmp_path / "model.bin")
    model = E5("e5", tmp_path / "model.bin", tokens=5, threads=1)
    assert np.array_equal(model.means(["lamps mill fire fire"]), model.means(["lamps mill"]))


def test_questions_and_passages_have_different_prefixes_and_length_one(tmp_path: Path) -> None:
    (tmp_path / E5_ENPT).mkdir()
    PackedE5().write(tmp_path / E5_ENPT / "model.bin")
    model = embedder(E5_ENPT, tmp_path, threads=1)
    assert model is not None
    passages = model.passages(["mill", "fire nul\0 \ud800"])
    question = model.query("mill")
    assert np.linalg.norm([*passages, question], axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert (
        np.abs(passages[0] - model.passages(["mill"])[0]).max()
        < 1e-6
        < 1e-3
        < np.abs(passages[0] - question).max()
    )
    assert len(model.passages([])) == 0


def test_a_file_that_is_absent_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError) as absent:
        E5("e5", tmp_path / "model.bin", tokens=5, threads=1)
    (tmp_path / "model.bin").write_bytes(b"GGUF" + bytes(200))
    with pytest.raises(UserError) as strange:
        E5("e5", tmp_path / "model.bin", tokens=5, threads=1)
    assert (absent.value.key, strange.value.key) == ("models.absent", "embedding.unusable")
