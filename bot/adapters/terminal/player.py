"""Plays narrations with a program of this machine. Independent of prompts."""

from __future__ import annotations

import asyncio
import shutil
from asyncio.subprocess import DEVNULL, Process
from contextlib import suppress
from pathlib import Path
from typing import Final

from bot.child_process import end

PLAYERS: Final = (("pw-play",), ("paplay",), ("aplay", "-q"), ("afplay",))
"""Programs that play a WAV file and end: from PipeWire, PulseAudio, ALSA, macOS."""


class Player:
    """Plays files one after another, in the order given, until it is closed."""

    def __init__(self) -> None:
        self._playing: Process | None = None
        self._turn = asyncio.Lock()

    async def play(self, file: Path) -> None:
        """Wait for the earlier files, and until this one has been played. Does nothing without a player."""
        command = next((player for player in PLAYERS if shutil.which(player[0])), None)
        if command is None:
            return
        async with self._turn:
            with suppress(OSError):
                self._playing = await asyncio.create_subprocess_exec(
                    *command, str(file), stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
                )
                try:
                    await self._playing.wait()
                finally:
                    process, self._playing = self._playing, None
                    await end(process)

    def close(self) -> None:
        if self._playing is not None:
            with suppress(ProcessLookupError):
                self._playing.kill()
