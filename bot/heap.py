"""Sets how the C library (glibc) allocates memory in threads."""

from __future__ import annotations

import os
import sys


def share_heap() -> None:
    """Have all threads that start from now on allocate from one heap, unless MALLOC_ARENA_MAX says otherwise.

    By default each thread has its own heap, which keeps as much memory as the thread ever used.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        import ctypes

        if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
            mallopt(-8, 1)  # M_ARENA_MAX
