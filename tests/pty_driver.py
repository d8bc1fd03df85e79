"""Drives the bot's prompt on a pseudo-terminal as a person does: type, look, leave; each within a time limit."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.forked import BotFork

LIMIT_S = 60.0
"""How long anything may take on a machine that does much else."""


class AtThePrompt:
    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str], *, columns: int = 80) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self._bot = BotFork(arguments, environ, Path.cwd(), (theirs, theirs, theirs))
        os.close(theirs)
        self.screen = ""
        """All that came since something was typed."""
        self._reads = False

    def __enter__(self) -> AtThePrompt:
        return self

    def __exit__(self, *raised: object) -> None:
        self._bot.send_signal(signal.SIGKILL)
        os.close(self._ours)

    def type(self, keys: str) -> None:
        self.screen = ""
        os.write(self._ours, keys.encode())

    def until(self, text: str) -> None:
        """Wait until the text is shown and the prompt reads keys. Raises TimeoutError."""
        end = time.monotonic() + LIMIT_S
        while text not in self.screen or not self._reads:
            self._look(end, text)

    def leave(self) -> int:
        """Press Ctrl-D until the bot has ended, because keys are lost while a line is printed. Returns its
        exit code.
        """
        end = time.monotonic() + LIMIT_S
        while (code := self._bot.poll()) is None:
            with suppress(OSError):
                os.write(self._ours, b"\x04")
            self._look(end, "the end")
        return code

    def _look(self, end: float, waited: str) -> None:
        if time.monotonic() > end:
            raise TimeoutError(f"no {waited!r} in {self.screen!r}")
        if select.select([self._ours], [], [], 0.1)[0]:
            with suppress(OSError):  # its end is closed
                piece = os.read(self._ours, 65_536)
                self.screen += piece.decode("utf-8", errors="replace")
                # A prompt that reads asks for pasted text to be marked.
                if (at := piece.rfind(b"\x1b[?2004")) >= 0:
                    self._reads = piece[at + 7 : at + 8] == b"h"
                if b"\x1b[6n" in piece:  # asked where the cursor is, as every terminal is able to say
                    os.write(self._ours, b"\x1b[1;1R")
