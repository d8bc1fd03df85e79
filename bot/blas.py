"""Sets how many threads numpy's linear algebra (OpenBLAS) has."""

from __future__ import annotations

import os


def calculate_in_one_thread() -> None:
    """Have OpenBLAS start no threads when numpy is first imported, unless OPENBLAS_NUM_THREADS says otherwise.

    Its threads spin while they wait for each other: on a busy processor, a product of 0.1 ms takes 35 ms.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
