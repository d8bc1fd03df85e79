"""Makes a model folder for the fake CTranslate2 in `tests/fakes/whisper`, and replaces CTranslate2 with the fake."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

PLACE = Path(__file__).with_name("whisper")


def with_package(patch: pytest.MonkeyPatch) -> None:
    """Let the fake package be found, here and in child processes."""
    patch.syspath_prepend(str(PLACE))
    patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(PLACE), os.environ.get("PYTHONPATH", "")))))


def model(folder: Path, steps: Sequence[str], *, multilingual: bool = True) -> Path:
    """`steps`: see the fake."""
    folder.mkdir(exist_ok=True)
    words = dict.fromkeys(["?", "round", *(word for step in steps for word in step.split())])
    ids = {word: id for id, word in enumerate(words)}
    Tokenizer(WordLevel(ids, unk_token="?")).save(str(folder / "tokenizer.json"))
    (folder / "model.bin").write_text(json.dumps(list(steps)), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"multilingual": multilingual}), encoding="utf-8")
    (folder / "vocabulary.txt").write_text("", encoding="utf-8")
    return folder


def asked(folder: Path) -> list[dict[str, object]]:
    lines = (folder / "asked.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
