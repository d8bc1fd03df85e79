"""Faults on demand: a route that fails, is slow, or loses its answer."""

from __future__ import annotations

import asyncio
import fnmatch
from dataclasses import dataclass


@dataclass
class Fault:
    """The next `times` requests that match fail with `status`.

    `pattern` is matched with * against the route ("/channels/{channel}/messages") and the path
    ("/channels/42/messages"). Status 0 cuts the connection; 200 does the work, after `delay`; with `lost` it does the
    work and cuts the connection before the answer. A request is held until its `gate` is set, if it has one.
    """

    method: str
    pattern: str
    status: int = 500
    code: int = 0
    times: int = 1
    retry_after: float | None = None
    delay: float = 0.0
    lost: bool = False
    gate: asyncio.Event | None = None

    @property
    def passes(self) -> bool:
        """Whether the request is still executed."""
        return self.lost or 0 < self.status < 400

    def matches(self, method: str, route: str, path: str) -> bool:
        return self.method in ("*", method) and (
            fnmatch.fnmatchcase(route, self.pattern) or fnmatch.fnmatchcase(path, self.pattern)
        )


class Faults:
    def __init__(self) -> None:
        self.waiting: list[Fault] = []

    def next(self, method: str, route: str, path: str) -> Fault | None:
        for fault in self.waiting:
            if fault.matches(method, route, path):
                fault.times -= 1
                if fault.times <= 0:
                    self.waiting.remove(fault)
                return fault
        return None
