"""One indexed data folder, copied for each test; and a small disk that really fills up."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bot.models import present
from tests import once
from tests.fakes.wires import WIRES, Wire
from tests.promises.talk import BOOK, settings, status, talking

VECTORS = '[embedding]\nmodel = "bge-small"\n'


def _stock(folder: Path, toml: str = "") -> None:
    async def add() -> None:
        async with talking(settings(folder / "data", toml=toml)) as talk:
            assert status(await talk.say(f"/library add {book} --shelf rules")) == "done"

    book = folder / "handbook.md"
    book.write_text(BOOK, encoding="utf-8")
    asyncio.run(add())


@pytest.fixture(scope="session")
def _stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once.folder(tmp_path_factory, "stocked", _stock) / "data"


@pytest.fixture(scope="session")
def _stocked_with_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not present(settings(tmp_path_factory.mktemp("vectors") / "data").models_dir, "bge-small"):
        pytest.skip("the model files have not been fetched (make models)")
    return once.folder(tmp_path_factory, "stocked-with-vectors", partial(_stock, toml=VECTORS)) / "data"


@pytest.fixture
def stocked(_stocked: Path, tmp_path: Path) -> Path:
    """A data folder with the handbook on the shelf "rules", for lexical search."""
    return Path(shutil.copytree(_stocked, tmp_path / "data"))


@pytest.fixture
def stocked_with_vectors(_stocked_with_vectors: Path, tmp_path: Path) -> Path:
    """The same with vectors."""
    return Path(shutil.copytree(_stocked_with_vectors, tmp_path / "data"))


@pytest.fixture(
    params=["chat", *(pytest.param(name, marks=pytest.mark.slow) for name in WIRES if name != "chat")]
)
def wire(request: pytest.FixtureRequest) -> Wire:
    """Each of the APIs of models; tests/llm runs all of them in `make test`, too."""
    return WIRES[request.param]


class SmallDisk:
    """A separate file system of a few megabytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, left: int = 0) -> None:
        """Fill the disk except for exactly `left` bytes."""
        with self._filler.open("ab", buffering=0) as filler:
            for block in (65_536, 4_096, 1):
                try:
                    while filler.write(b"\1" * block) == block:
                        pass
                except OSError:
                    continue
        os.truncate(self._filler, self._filler.stat().st_size - left)

    def make_room(self) -> None:
        self._filler.unlink(missing_ok=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only the superuser may mount a small disk")
    yield SmallDisk(folder)
    subprocess.run(["umount", "-l", str(folder)], check=True)
