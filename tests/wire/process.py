"""`python -m bot run` as a user starts it, in a process that a test may kill at any instant.

It knows no platform: the fakes handle the traffic.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.forked import BotFork
from tests.kill.process import PATIENCE_S, ROOT, environment


class BotProcess:
    """The bot's process: one data folder and one settings file, over any number of starts that share one log."""

    command: tuple[str, ...] = ("run",)

    def __init__(self, data: Path, config: Path, environ: Mapping[str, str]) -> None:
        self.data = data
        options = ("--config", str(config), "--data", str(data))
        self._arguments = (*options, *self.command)
        self._environ = {**environment(), **environ}
        self._log = data.with_name(data.name + ".log")
        self._from = 0
        self._process: BotFork | subprocess.Popen[bytes] | None = None

    async def __aenter__(self) -> BotProcess:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.kill()

    async def start(self) -> None:
        """Start it; it need not have connected yet when this returns."""
        nothing = os.open(os.devnull, os.O_RDONLY)
        await self._fork(nothing)
        os.close(nothing)

    async def _fork(self, stdin: int, stdout: int | None = None) -> None:
        with self._log.open("ab") as log:
            files = (stdin, stdout or log.fileno(), log.fileno())
            self._process = await asyncio.to_thread(self._begun, files)

    def _begun(self, files: tuple[int, int, int]) -> BotFork | subprocess.Popen[bytes]:
        """Start the process with these standard files."""
        return BotFork(self._arguments, self._environ, ROOT, files)

    @property
    def pid(self) -> int:
        assert self._process is not None
        pid = self._process.pid
        assert pid is not None
        return pid

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def kill(self) -> None:
        """Kill the process with -9 if it is alive."""
        if self.alive:
            await self._end(signal.SIGKILL)

    async def leave(self) -> int:
        """Ask it to end, as a container runtime does; returns its exit code."""
        return await self._end(signal.SIGTERM)

    def mark(self) -> None:
        """Let `log` return only later lines."""
        self._from = self._log.stat().st_size if self._log.exists() else 0

    def log(self, *, whole: bool = False) -> str:
        """The log of this process and its predecessors on the same data, since the mark if there is one."""
        if not self._log.exists():
            return ""
        return self._log.read_bytes()[0 if whole else self._from :].decode("utf-8", errors="replace")

    async def _end(self, number: int) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return await self.gone()

    async def gone(self) -> int:
        """Wait until it has ended; returns its exit code."""
        assert self._process is not None
        return await asyncio.to_thread(self._process.wait, PATIENCE_S)


class UnforkedProcess(BotProcess):
    """A process that imports everything itself, as a user's does: for measurements, or to run another module."""

    module: tuple[str, ...] = ("bot",)

    def _begun(self, files: tuple[int, int, int]) -> subprocess.Popen[bytes]:
        command = (sys.executable, "-m", *self.module, *self._arguments)
        stdin, stdout, stderr = files
        return subprocess.Popen(
            command, stdin=stdin, stdout=stdout, stderr=stderr, cwd=ROOT, env=self._environ
        )
