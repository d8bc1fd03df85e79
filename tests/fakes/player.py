"""A player without a voice channel: consumes frames as fast as the loop runs, or only as many as a test allows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from bot.speech.frames import SILENCE


class FakePlayer:
    """`frames` are what was heard, silence left out. `lacking` is what `lacks` gives; `credit` None plays on and on."""

    def __init__(self, credit: int | None = None) -> None:
        self.frames: list[bytes] = []
        self.silent = 0
        self.plays = 0
        self.lacking = ""
        self.credit = credit
        self.paused = False
        self._going: asyncio.Task[None] | None = None

    def lacks(self) -> str:
        return self.lacking

    def play(self, read: Callable[[], bytes], ended: Callable[[], None]) -> None:
        assert self._going is None, "it plays already"
        self.plays += 1
        self._going = asyncio.create_task(self._play(read, ended))

    def stop(self) -> None:
        self.paused = False
        if self._going is not None:
            self._going.cancel()

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    def lose(self) -> None:
        """Give up, as when the connection is lost for good."""
        self.stop()

    async def _play(self, read: Callable[[], bytes], ended: Callable[[], None]) -> None:
        try:
            while True:
                if not self.paused and self.credit != 0:
                    frame = read()
                    if not frame:
                        return
                    if self.credit is not None:
                        self.credit -= 1
                    if frame == SILENCE:
                        self.silent += 1
                    else:
                        self.frames.append(frame)
                await asyncio.sleep(0)
        finally:
            self._going = None
            ended()
