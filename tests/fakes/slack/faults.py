"""Faults on demand: a method that fails, is slow, or loses its answer."""

from __future__ import annotations

import asyncio
import fnmatch
from dataclasses import dataclass


@dataclass
class Fault:
    """The next `times` calls of a method that matches, * being anything.

    `error` is a name as in `ok: false`; `status` an HTTP status, 0 cuts the connection. Without either the work
    is done, after `delay`; with `lost` it is done and the connection cut before the answer. A request is held until
    its `gate` is set, if it has one.
    """

    method: str
    error: str | None = None
    status: int | None = None
    retry_after: int | None = None
    times: int = 1
    delay: float = 0.0
    lost: bool = False
    gate: asyncio.Event | None = None

    @property
    def passes(self) -> bool:
        """Whether the method is still executed."""
        return self.error is None and self.status is None


class Faults:
    def __init__(self) -> None:
        self.waiting: list[Fault] = []

    def next(self, method: str) -> Fault | None:
        for fault in self.waiting:
            if fnmatch.fnmatchcase(method, fault.method):
                fault.times -= 1
                if fault.times <= 0:
                    self.waiting.remove(fault)
                return fault
        return None
