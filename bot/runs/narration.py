"""Has the platform read aloud the texts of runs, whole or while they are still being written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.commands import ROWS
from bot.events import Request, Speak, Speaking
from bot.view import VIEW_S
from bot.waiting import wait_at_most

if TYPE_CHECKING:
    from bot.platforms import Platform
    from storage.outbox import Outbox

SPEAKING = "speak:"
"""The prefix of the outbox key of a stage that was claimed to be spoken; it has no message."""


@dataclass(frozen=True, slots=True)
class StreamedSpeech:
    """Text that is read aloud while it is written: its pieces so far, and None after the last."""

    key: str
    pieces: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)

    def end(self) -> None:
        self.pieces.put_nowait(None)

    async def text(self) -> AsyncGenerator[str, None]:
        while (piece := await self.pieces.get()) is not None:
            yield piece


class Narration:
    """Has platforms read the texts of runs aloud."""

    def __init__(self, platforms: Mapping[str, Platform], outbox: Outbox) -> None:
        self._platforms = platforms
        self._outbox = outbox

    async def along(self, request: Request, speaking: Speaking) -> StreamedSpeech | None:
        """Begin to read aloud while the text is written; None if nobody hears it, or only once it is complete."""
        speak_along = self._platforms[request.place.platform].speak_along
        if speak_along is None or not await self._narrated(request):
            return None
        await self._claim(request, speaking.key)  # so that the whole text is not read as well
        speech = StreamedSpeech(speaking.key)
        label = f"run {request.id} could not be heard"
        if not await wait_at_most(speak_along(request, speaking, speech.text()), VIEW_S, label):
            return None
        return speech

    async def speak(self, request: Request, words_aloud: Speak) -> None:
        """Speak a text once; after a crash not at all, unless the platform knows what it has said."""
        platform = self._platforms[request.place.platform]
        speak = platform.speak
        if speak is None or not await self._narrated(request):
            return
        if platform.speaks_again or await self._claim(request, words_aloud.key):
            await wait_at_most(speak(request, words_aloud), VIEW_S, f"run {request.id} could not be heard")

    async def _narrated(self, request: Request) -> bool:
        narrates = self._platforms[request.place.platform].narrates
        return narrates is None or ROWS[request.work, request.verb].speaks or await narrates(request)

    async def _claim(self, request: Request, key: str) -> bool:
        """Reserve a text for speaking; False if it was reserved before."""
        claimed = await self._outbox.claim(request.place.space, request.id, f"{SPEAKING}{key}")
        return claimed.fresh

    async def hush(self, request: Request, stage: str = "") -> None:
        """Stop reading aloud a run or its stage, and take back what was read."""
        platform = self._platforms.get(request.place.platform)
        if platform is not None and platform.hush is not None:
            label = f"what was said of {request.id} was not taken back"
            await wait_at_most(platform.hush(request, stage), VIEW_S, label)
