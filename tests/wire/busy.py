"""A core kept busy by a process of its own, as a neighbour on the same machine would."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def busy_core() -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as burning:
        try:
            yield
        finally:
            burning.kill()
