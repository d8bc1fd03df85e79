"""Damage is named in a sentence, everything else continues, and a reindex repairs what it can."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.promises.conftest import VECTORS
from tests.promises.talk import ASK, of, sentence, settings, status, talking, texts


@pytest.mark.parametrize("how", ["deleted", "spoilt"])
async def test_with_damaged_vectors_words_are_searched_and_a_reindex_repairs_them(
    how: str, stocked_with_vectors: Path
) -> None:
    chroma = stocked_with_vectors / "chroma"
    if how == "deleted":
        shutil.rmtree(chroma)
    else:
        (chroma / "chroma.sqlite3").write_bytes(b"not a database at all " * 1_000)
    async with talking(settings(stocked_with_vectors, toml=VECTORS)) as talk:
        asked = await talk.say(ASK)
        assert status(asked) == "done"
        assert "speed becomes zero" in texts(asked)
        assert len(of(asked, "notice")) == 2  # one of the notices says that the answer is quoted
        if how == "deleted":
            assert status(await talk.say("/library reindex")) == "done"
            assert len(of(await talk.say(ASK), "notice")) == 1


@pytest.mark.parametrize("file", ["sutradhar.db", "engine.db"])
async def test_a_damaged_database_gets_one_sentence(file: str, stocked: Path) -> None:
    for beside in stocked.glob(f"{file}-*"):  # noqa: ASYNC240
        beside.unlink()
    (stocked / file).write_bytes(b"not a database at all " * 1_000)
    async with talking(settings(stocked)) as talk:
        assert sentence(await talk.say(ASK)).startswith("The database is damaged")
    assert talk.code == 1


async def test_a_reindex_names_a_missing_original_and_continues_with_the_others(
    stocked: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.md"
    other.write_text("# Other\n\n## Ropes\n\nA rope of hemp is fifty feet long.\n")
    async with talking(settings(stocked)) as talk:
        originals = set((stocked / "originals").iterdir())
        assert status(await talk.say(f"/library add {other} --shelf rules")) == "done"
        for original in originals:
            original.unlink()
        mended = await talk.say("/library reindex")
        assert status(mended) == "failed"
        assert "handbook.md" in texts(mended, "notice")
        assert "hemp" in texts(await talk.say("/rules lookup Ropes"))
        assert "speed becomes zero" in texts(await talk.say(ASK)), (
            "a document that cannot be read again is unchanged"
        )


@pytest.mark.parametrize("how", ["missing", "damaged"])
async def test_with_incomplete_model_files_words_are_searched(
    how: str, stocked_with_vectors: Path, tmp_path: Path
) -> None:
    config = settings(stocked_with_vectors, toml=VECTORS)
    models = tmp_path / "models"
    if how == "damaged":
        shutil.copytree(config.models_dir, models)
        for file in models.rglob("*.onnx"):
            file.write_bytes(b"\0" * file.stat().st_size)
    async with talking(replace(config, models_dir=models)) as talk:
        asked = await talk.say(ASK)
    assert status(asked) == "done"
    assert "speed becomes zero" in texts(asked)
