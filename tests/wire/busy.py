"""Keeps a core busy with a separate process, like a neighbour on the same machine."""

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
