"""The second venv, which two benchmarks need; its lock is requirements-bench.lock, and `make bench` creates
it.
"""

from __future__ import annotations

import os
from pathlib import Path

PYTHON = os.environ.get("SUTRADHAR_BENCH_PYTHON") or str(
    Path(__file__).resolve().parents[1] / ".venv-bench" / "bin" / "python"
)


def lacking() -> str:
    """Why the venv cannot be used; "" if it can."""
    return "" if Path(PYTHON).exists() else "skipped: no .venv-bench; `make bench` makes it"
