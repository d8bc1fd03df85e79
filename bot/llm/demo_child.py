"""The process that runs the demo model, as seen from the bot: its lines, its end.

Knows the lines' form (see `bot.llm.demo_process`), not what they are about.
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

from bot.llm.base import ModelFault

_ROOT = Path(__file__).resolve().parents[2]
_LONGEST_LINE = 1 << 20
_FORM: Final[Mapping[str, type]] = {
    "id": int, "ready": int, "input": int, "cached": int, "text": str, "output": int, "finish": str,
    "fault": str, "detail": str,
}  # fmt: skip
_KEPT = frozenset({
    "PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "HOME", "LANG",
    "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "APPDATA",
})  # fmt: skip
"""What a Python with libraries needs to start, and nothing that might be a key."""


class Gone(Exception):
    """The process is no more, or never was; the text says how it ended."""

    def __init__(self, fault: ModelFault, how: str) -> None:
        super().__init__(how)
        self.fault: ModelFault = fault


class Child:
    """One process, asked one thing at a time. `stop_s`: how long it may take to heed a stop."""

    def __init__(self, process: Process, stop_s: float) -> None:
        self._process = process
        self._stop_s = stop_s
        self._replies: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self._id = 0
        self._settled = asyncio.Event()
        self._settled.set()
        self._gone: Gone | None = None
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str], environ: Mapping[str, str], stop_s: float) -> Child:
        """Run `command` with the harmless part of `environ`. Raises Gone."""
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                cwd=_ROOT,
                env={name: value for name, value in environ.items() if name.upper() in _KEPT},
                limit=_LONGEST_LINE,
            )
        except OSError as fault:
            reason = os.strerror(fault.errno) if fault.errno else type(fault).__name__
            raise Gone("server", f"its process could not be started: {reason}") from None
        return cls(process, stop_s)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._gone is None and self._process.returncode is None

    async def settled(self) -> None:
        """Wait until what was asked has ended: answered, stopped, or dead."""
        await self._settled.wait()

    def ask(self, request: Mapping[str, object]) -> None:
        """Send a request, when `settled`; `heard` gives the replies to it."""
        self._id += 1
        self._replies = asyncio.Queue()
        self._settled.clear()
        self._say({"id": self._id, **request})
        if self._gone is not None:
            self._close(self._gone)

    async def heard(self, within: float) -> dict[str, Any]:
        """The next reply. Raises Gone, also for a process that was silent for that many seconds."""
        try:
            async with asyncio.timeout(within):
                said = await self._replies.get()
        except TimeoutError:
            self.kill(Gone("timeout", f"it said nothing for {within:g} s"))
            said = None
        if said is not None:
            return said
        assert self._gone is not None
        raise Gone(self._gone.fault, str(self._gone))

    def stop(self) -> None:
        """End what was asked, if it has not ended: kindly, and after `stop_s` by killing. Does not wait."""
        if not self._settled.is_set():
            self._say({"stop": self._id})
            asyncio.get_running_loop().call_later(self._stop_s, self._insist, self._id)

    def kill(self, how: Gone | None = None) -> None:
        """End the process at once; `settled`, and not `alive`, from now on."""
        self._close(how or Gone("server", "its process was ended"))
        with suppress(ProcessLookupError):
            self._process.kill()

    async def end(self) -> None:
        """Kill the process and wait until nothing is left of it."""
        self.kill()
        await asyncio.wait((self._reading,))

    def _insist(self, id: int) -> None:
        if id == self._id and not self._settled.is_set():
            self.kill()

    def _say(self, said: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(json.dumps(said).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            # A last line without its end is what a killed process had begun to say.
            while (line := await self._process.stdout.readline()).endswith(b"\n"):
                said = _parsed(line)
                if said.get("id", self._id) == self._id:
                    self._replies.put_nowait(said)
                    if "finish" in said or "fault" in said:
                        self._settled.set()
        except ValueError:
            self.kill(Gone("server", "its process said something that is no answer"))
        code = await self._process.wait()
        self._close(Gone("server", _ended(code)))

    def _close(self, how: Gone) -> None:
        """Nothing more comes; the first reason given is the one that counts."""
        self._gone = self._gone or how
        self._settled.set()
        self._replies.put_nowait(None)


def _parsed(line: bytes) -> dict[str, Any]:
    """A reply, every field of its type. Raises ValueError."""
    said = json.loads(line)
    if not isinstance(said, dict) or any(type(value) is not _FORM.get(name) for name, value in said.items()):
        raise ValueError("not a reply")
    return said


def _ended(code: int) -> str:
    try:
        return f"its process was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"its process ended with code {code}"
