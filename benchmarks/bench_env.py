"""The venv that two parts of the bench need beside ours: its lock is requirements-bench.lock, `make bench` makes it."""

from __future__ import annotations

import os
from pathlib import Path

PYTHON = os.environ.get("SUTRADHAR_BENCH_PYTHON") or str(
    Path(__file__).resolve().parents[1] / ".venv-bench" / "bin" / "python"
)


def lacking() -> str:
    """Why it cannot be used, or nothing."""
    return "" if Path(PYTHON).exists() else "skipped: no .venv-bench; `make bench` makes it"
