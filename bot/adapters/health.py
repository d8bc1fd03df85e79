"""Whether this process can do its work: checks the database, the engine, the platforms' connections, the disk, the file
store and the models.

Made for monitoring programs, so it names no space and no person and quotes no fault. Independent of HTTP.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

from storage.worker_threads import in_own_thread

if TYPE_CHECKING:
    from pathlib import Path

    from bot.app import App

WITHIN_S: Final = 1.5
"""Seconds that each check may take. All run at the same time, and an answer has two seconds."""
FRESH_S: Final = 1.0
"""Seconds for which an answer is reused, so that frequent requests cost no more."""
FULL_MB: Final = 100
"""Free megabytes below which storing anything may fail."""
LOW_MB: Final = 1_000
"""Free megabytes below which an operator should make room; `doctor` warns too."""

State = Literal["ok", "warning", "failed"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Connections:
    """An adapter's connections by name, and whether the existing ones are enough to serve everybody."""

    enough: bool
    states: Mapping[str, bool]


class Connected(Protocol):
    def connections(self) -> Connections: ...


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the checks. `checks` can be written as JSON. `ready`: no check has failed."""

    ready: bool
    checks: Mapping[str, Any]


class Health:
    """The health of one process. `app` and `platforms` are set when it starts; `leaving` is set when it ends."""

    def __init__(self, folder: Path) -> None:
        self.app: App | None = None
        self.platforms: dict[str, Connected] = {}
        self.leaving = False
        self._folder = folder
        self._looking: asyncio.Future[Report] | None = None
        self._looked_at = -FRESH_S
        self._asking: dict[str, asyncio.Future[State]] = {}
        """Running checks by name: a check that hangs is not started a second time."""
        self._was: Mapping[str, State] = {}

    async def report(self) -> Report:
        """Run the checks within two seconds. Simultaneous calls share one run."""
        fresh = time.monotonic() - self._looked_at < FRESH_S
        if self._looking is None or (self._looking.done() and not fresh):
            self._looking = asyncio.ensure_future(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> Report:
        app = self.app
        checks: dict[str, Any] = {}
        if app is None:
            checks["engine"] = _state("failed", reason="leaving" if self.leaving else "starting")
        else:
            launched = app.started and not self.leaving
            checks["engine"] = _state("ok" if launched else "failed", **self._why_not(app))
            looks: dict[str, Callable[[], Awaitable[State]]] = {
                "database": lambda: _answers(app),
                "disk": lambda: in_own_thread(self._disk),
            }
            if app.files.shared:
                looks["files"] = lambda: _reaches_files(app)
            states = await asyncio.gather(*(self._within(name, look) for name, look in looks.items()))
            checks |= {name: _state(state) for name, state in zip(looks, states, strict=True)}
            if "files" in checks and checks["files"]["status"] == "failed":
                checks["files"] = _state("warning")  # questions are answered without files
            checks["models"] = _models(app)
        for name, platform in self.platforms.items():
            connections = platform.connections()
            down = [name for name, up in connections.states.items() if not up]
            state: State = "warning" if down else "ok"
            checks[name.lower()] = _state(
                state if connections.enough else "failed",
                connections={name: "up" if up else "down" for name, up in connections.states.items()},
            )
        self._tell({name: check["status"] for name, check in checks.items()})
        self._looked_at = time.monotonic()
        return Report(all(check["status"] != "failed" for check in checks.values()), checks)

    def _why_not(self, app: App) -> dict[str, str]:
        if self.leaving:
            return {"reason": "leaving"}
        return {} if app.started else {"reason": "starting"}

    async def _within(self, name: str, check: Callable[[], Awaitable[State]]) -> State:
        asking = self._asking.get(name)
        if asking is None:
            asking = self._asking[name] = asyncio.ensure_future(check())
        await asyncio.wait({asking}, timeout=WITHIN_S)
        if not asking.done():
            return "failed"
        del self._asking[name]
        return "failed" if asking.cancelled() or asking.exception() is not None else asking.result()

    def _disk(self) -> State:
        """Write a file into the data folder and delete it. Runs in a thread."""
        probe = self._folder / ".health"
        try:
            with probe.open("wb") as file:
                file.write(b"\0" * 4096)
                file.flush()
                os.fsync(file.fileno())
            free = shutil.disk_usage(self._folder).free / 1e6
        finally:
            probe.unlink(missing_ok=True)
        return "failed" if free < FULL_MB else "warning" if free < LOW_MB else "ok"

    def _tell(self, states: Mapping[str, State]) -> None:
        """Log what has changed since the last check."""
        for name, state in states.items():
            before = self._was.get(name, "ok")
            if state != before and not (self.leaving or self.app is None):
                _log.log(logging.INFO if state == "ok" else logging.WARNING, "health: %s is %s", name, state)
        self._was = states


async def _answers(app: App) -> State:
    await app.records.database.answers()
    return "ok"


async def _reaches_files(app: App) -> State:
    await app.files.list("health")
    return "ok"


def _models(app: App) -> dict[str, Any]:
    """The states of the models. A failing service is a warning: a restart does not mend it, and what needs no model
    still works.
    """
    failing = dict(app.failing_models)
    return _state("warning" if failing else "ok", **({"failing": failing} if failing else {}))


def _state(state: State, **more: Any) -> dict[str, Any]:
    return {"status": state, **more}
