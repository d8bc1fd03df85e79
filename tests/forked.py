"""The bot's process, forked from one that has already imported everything that each start imports.

Importing is four fifths of a start, and tests start the bot hundreds of times. The tests of
the command line, of a cold start and of serving prove that `python -m bot` does the same from its first instruction.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import forkserver, reduction
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock, Thread
from typing import Any

multiprocessing.get_context("forkserver").set_forkserver_preload(["tests.preloaded"])


def share() -> None:
    """Start one process from which the bots of all forks of this process are forked."""
    server: Any = forkserver._forkserver
    if server._forkserver_pid is not None:
        return
    server.ensure_running()
    # It waits for the server's process, which is a child of this process alone.
    os.register_at_fork(after_in_child=lambda: setattr(server, "ensure_running", lambda: None))


_LIMIT_S = 900.0
"""More than any test may take."""


class BotFork(ForkServerProcess):
    """`python -m bot ARGUMENTS` in a folder, with these open files as its standard ones; or another `module`."""

    def __init__(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        folder: Path,
        files: tuple[int, int, int],
        module: str = "bot",
    ) -> None:
        """Returns when the process is there; `files` stay open here."""
        super().__init__(daemon=True)
        self._arguments = list(arguments)
        self._environ = dict(environ)
        self._folder = folder
        self._module = module
        self._files: list[Any] = [_Sent(number) for number in files]
        self.start()
        self._files.clear()
        self._reading = Lock()

    def poll(self) -> int | None:
        """Like Popen's: its exit code, negative after a signal; None while it runs."""
        with self._reading:  # of two threads that read it at once, one would not get it
            return self.exitcode

    def wait(self, timeout: float) -> int:
        """Like Popen's. Raises TimeoutError."""
        wait([self.sentinel], timeout)
        if (code := self.poll()) is None:
            raise TimeoutError(f"still there after {timeout} s")
        return code

    def send_signal(self, number: int) -> None:
        """Like Popen's."""
        if self.poll() is None:
            assert self.pid is not None
            os.kill(self.pid, number)

    def run(self) -> None:
        for number, file in enumerate(self._files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(self._folder)
        os.environ.clear()
        os.environ.update(self._environ)
        sys.stdin = _opened(0, "r", sys.__stdin__)
        sys.stdout = _opened(1, "w", sys.__stdout__)
        sys.stderr = _opened(2, "w", sys.__stderr__)
        sys.argv = [self._module, *self._arguments]
        runpy.run_module(self._module, run_name="__main__")


class Piped:
    """`python -m MODULE ARGUMENTS` as asyncio's own subprocesses are, with pipes for its standard files.

    `log`: where its standard error goes instead.
    """

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader

    def __init__(self, fork: BotFork) -> None:
        self._fork = fork
        assert fork.pid is not None
        self.pid: int = fork.pid

    @classmethod
    async def start(
        cls,
        module: str,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        folder: Path,
        log: Path | None = None,
    ) -> Piped:
        (stdin, typed), (read, stdout) = os.pipe(), os.pipe()
        if log is not None:
            complaints, stderr = -1, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        else:
            complaints, stderr = os.pipe()
        theirs = (stdin, stdout, stderr)
        made = cls(await asyncio.to_thread(BotFork, arguments, environ, folder, theirs, module))
        for file in theirs:
            os.close(file)
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(typed, "wb", buffering=0)
        )
        made.stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        made.stdout = await _reading(read)
        if complaints != -1:
            made.stderr = await _reading(complaints)
        return made

    @property
    def returncode(self) -> int | None:
        return self._fork.poll()

    def send_signal(self, number: int) -> None:
        self._fork.send_signal(number)

    def kill(self) -> None:
        self._fork.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        return await asyncio.to_thread(self._fork.wait, _LIMIT_S)

    async def communicate(self) -> tuple[bytes, bytes]:
        """The rest of its output and of its errors, once it has ended."""
        self.stdin.close()
        out, complaints = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, complaints


async def _reading(pipe: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
    )
    return reader


def completed(
    arguments: Sequence[str], environ: Mapping[str, str], folder: Path, stdin: bytes, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """Run `python -m bot ARGUMENTS` in a folder to its end, like subprocess.run. Raises TimeoutError."""

    def feed(pipe: int) -> None:
        with suppress(BrokenPipeError), open(pipe, "wb") as typed:
            typed.write(stdin)

    read, written = os.pipe()
    with TemporaryFile() as stdout, TemporaryFile() as stderr:
        process = BotFork(arguments, environ, folder, (read, stdout.fileno(), stderr.fileno()))
        os.close(read)
        feeding = Thread(target=feed, args=(written,), daemon=True)
        feeding.start()
        try:
            code = process.wait(timeout)
        finally:
            process.send_signal(signal.SIGKILL)
        feeding.join(timeout)
        stdout.seek(0)
        stderr.seek(0)
        return subprocess.CompletedProcess(arguments, code, stdout.read(), stderr.read())


class _Sent:
    """An open file's number on its way to another process, where it arrives as the number that it has there."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (reduction.DupFd(self._number),)


def _received(sent: Any) -> int:
    return int(sent.detach())


def _opened(number: int, mode: str, like: Any) -> Any:
    encoding = os.environ.get("PYTHONIOENCODING") or "utf-8"
    return open(number, mode, encoding=encoding, errors=like.errors, closefd=False)
