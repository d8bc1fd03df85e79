"""Folders that are made once for all processes of a test run, by the first process that needs one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests.forks import FOLDER


def folder(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder of that name, which `make` has filled once. Read it or copy it; do not change it."""
    of_run = factory.getbasetemp()
    if of_run.name.startswith(FOLDER):
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
