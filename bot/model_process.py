"""Controls a process that runs a model (the demo's or Whisper's): exchanges JSON lines with it, and ends it.

Knows the form of the lines (see `bot.llm.demo_process` and `bot.speech.listening.process`), not what they are about.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from bot.child_process import end, without_keys
from bot.llm.base import ModelFault

_ROOT = Path(__file__).resolve().parents[1]
_LONGEST_LINE = 1 << 20
_REPLY_TYPES: Final[Mapping[str, type]] = {
    "id": int, "ready": int, "input": int, "cached": int, "text": str, "output": int, "finish": str,
    "fault": str, "detail": str, "done": int,
}  # fmt: skip


class ProcessEnded(Exception):
    """The process has ended or did not start; the text says how."""

    def __init__(self, fault: ModelFault, reason: str) -> None:
        super().__init__(reason)
        self.fault: ModelFault = fault


class ModelProcess:
    """One process that handles one request at a time. `stop_s` is how many seconds it may take to obey a stop."""

    def __init__(self, process: Process, stop_s: float) -> None:
        self._process = process
        self._stop_s = stop_s
        self._replies: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._id = 0
        self._settled = asyncio.Event()
        self._settled.set()
        self._failure: ProcessEnded | None = None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str], environ: Mapping[str, str], stop_s: float) -> ModelProcess:
        """Run `command` with the harmless part of `environ`. Raises ProcessEnded."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                cwd=_ROOT,
                env=without_keys(environ),
                limit=_LONGEST_LINE,
            )
        except OSError as fault:
            reason = os.strerror(fault.errno) if fault.errno else type(fault).__name__
            raise ProcessEnded("server", f"its process could not be started: {reason}") from None
        return cls(process, stop_s)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._failure is None and self._process.returncode is None

    async def settled(self) -> None:
        """Wait until the last request has ended: answered, stopped, or the process dead."""
        await self._settled.wait()

    def ask(self, request: Mapping[str, object], data: bytes = b"") -> None:
        """Send a request, once `settled`, and the bytes that follow its line; `next_reply` returns the replies."""
        self._id += 1
        self._replies = asyncio.Queue()
        self._settled.clear()
        self._write({"id": self._id, **request}, data)
        if self._failure is not None:
            self._close(self._failure)

    async def next_reply(self, within: float) -> dict[str, Any]:
        """The next reply. Raises ProcessEnded, also if the process is silent for `within` seconds."""
        try:
            async with asyncio.timeout(within):
                reply = await self._replies.get()
        except TimeoutError:
            self.kill(ProcessEnded("timeout", f"it said nothing for {within:g} s"))
            reply = None
        if reply is not None:
            return reply
        assert self._failure is not None
        raise ProcessEnded(self._failure.fault, str(self._failure))

    def stop(self) -> None:
        """Stop the current request without waiting; after `stop_s` seconds the process is killed."""
        if not self._settled.is_set():
            self._write({"stop": self._id})
            asyncio.get_running_loop().call_later(self._stop_s, self._kill_if_running, self._id)

    def kill(self, failure: ProcessEnded | None = None) -> None:
        """Kill the process at once; from now on it is `settled` and no longer `alive`."""
        self._close(failure or ProcessEnded("server", "its process was ended"))
        with suppress(ProcessLookupError):
            self._process.kill()

    async def end(self) -> None:
        """Kill the process and wait until it is gone."""
        self.kill()
        await asyncio.wait((self._reading,))

    def _kill_if_running(self, id: int) -> None:
        if id == self._id and not self._settled.is_set():
            self.kill()

    def _write(self, line: Mapping[str, object], data: bytes = b"") -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps(line).encode() + b"\n" + data)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            # A last line without a line break was cut off when the process was killed.
            while (line := await self._process.stdout.readline()).endswith(b"\n"):
                reply = _parse_reply(line)
                if reply.get("id", self._id) == self._id:
                    self._replies.put_nowait(reply)
                    if "finish" in reply or "fault" in reply:
                        self._settled.set()
        except ValueError:
            self.kill(ProcessEnded("server", "its process said something that is no answer"))
        except asyncio.CancelledError:  # the loop is about to close
            self.kill()
            raise
        finally:
            code = await end(self._process, None)
            self._close(ProcessEnded("server", _exit_reason(code)))

    def _close(self, failure: ProcessEnded) -> None:
        """Accept no more replies; the first reason is kept."""
        self._failure = self._failure or failure
        self._settled.set()
        self._replies.put_nowait(None)


def _parse_reply(line: bytes) -> dict[str, Any]:
    """Parse a reply and check the types of its fields. Raises ValueError."""
    reply = json.loads(line)
    if not isinstance(reply, dict) or any(
        type(value) is not _REPLY_TYPES.get(name) for name, value in reply.items()
    ):
        raise ValueError("not a reply")
    return reply


def _exit_reason(code: int | None) -> str:
    if code is None:
        return "its process did not end"
    try:
        return f"its process was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"its process ended with code {code}"
