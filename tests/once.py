"""Folders that are made once for all workers of a run of the tests, by whichever needs one first."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def folder(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of that name, which `make` was given to fill. To be read, or copied."""
    of_run = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # each worker has a folder of its own in the run's
        of_run = of_run.parent
    whole = of_run / name
    with FileLock(of_run / f"{name}.lock"):
        if not whole.exists():
            part = of_run / f"{name}.part"
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            part.rename(whole)
    return whole
