"""What is read aloud, where its text stands: a clip below it, as a file; and the sentence that is heard, marked in its
message by the channel's writer and at its pace.

A message is read before it is edited, in the writer's turn, so that nothing is written over what it shows by then.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from bot.adapters.discord.received.placing import origin_of
from bot.adapters.discord.shown.links import THREAD
from bot.adapters.discord.shown.surface import Channel, direct
from bot.adapters.discord.text.page import Card, Page, Shown, marked, reworded, texts_of
from bot.adapters.surface import Gone, MessageRef, MessageStyle, Refused, SurfaceFault, Unavailable
from bot.adapters.writer import Rank, Writer, with_retries
from storage.faults import StorageFault

if TYPE_CHECKING:
    import discord

    from bot.adapters.discord.installed.client import Client
    from bot.events import Request
    from bot.speech.clips import Clip
    from bot.speech.queue import Reading
    from bot.speech.speech import SpokenSentence

SPOKEN: Final = "spoken#"
"""What the outbox's key of a clip's message begins with; the stage's key follows, and a number."""
CLEAR_S: Final = 20.0
"""How long the end of a stage waits for its last mark to be taken away."""

_log = logging.getLogger(__name__)


async def place_of(client: Client, request: Request) -> Channel:
    """Where the request's answer stands. Raises SurfaceFault, and ValueError for a request that was withdrawn."""
    origin, place, records = origin_of(request.origin), request.place, client.app.records
    if origin.private:
        return await direct(client, origin.user)
    opened = await records.outbox.get(place.space, request.id, THREAD)
    thread = opened.message_id if opened is not None else None
    thread = thread or await records.threads.real(place.space, place.channel, place.thread)
    return Channel(client, int(thread or origin.channel), origin.guild)


async def post_clip(client: Client, request: Request, clip: Clip, key: str) -> None:
    """Post a clip below what the run has said, with a line that says who speaks."""
    parts = (clip.label, Shown(clip.name, clip.data, picture=False)) if clip.data else ()
    pages = [Page((Card(parts),), clip.label)] if parts else []
    pages += [Page((Card((clip.note,)),), clip.note)] if clip.note else []
    space, outbox = request.place.space, client.app.records.outbox
    try:
        surface = await place_of(client, request)
        for n, page in enumerate(pages):
            ref = MessageRef(request.id, f"{SPOKEN}{key}:{n}")
            await outbox.claim(space, request.id, ref.key)
            message = await with_retries(partial(surface.post, page, ref, MessageStyle.LAYOUT))
            await outbox.sent(space, request.id, ref.key, message, "")
    except (SurfaceFault, ValueError, KeyError, TypeError) as fault:
        _log.warning("run %s: what was narrated was not sent: %r", request.id, fault)


async def unpost_clips(client: Client, request: Request, key: str) -> None:
    """Delete the clips of a stage, or with "" those of the whole run."""
    space, outbox = request.place.space, client.app.records.outbox
    own = f"{SPOKEN}{key}:" if key else SPOKEN
    clips = [row for row in await outbox.all(space, request.id) if row.stage.startswith(own)]
    try:
        surface = await place_of(client, request) if any(row.message_id for row in clips) else None
        for row in clips:
            if surface is None or not row.message_id:
                continue
            with suppress(Gone, Refused):  # somebody else has deleted it
                await with_retries(partial(surface.delete, row.message_id))
            await outbox.forget(space, request.id, row.stage)
    except (SurfaceFault, ValueError, KeyError, TypeError) as fault:
        _log.warning("run %s: what was narrated was not taken back: %r", request.id, fault)


class Captions:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._captions: dict[int, Caption] = {}

    def begins(self, reading: Reading, sentence: SpokenSentence) -> None:
        """See `bot.speech.queue.Captions`."""
        caption = self._captions.get(reading.row.seq)
        if caption is None:
            caption = self._captions[reading.row.seq] = Caption(self._client, reading)
        caption.show(sentence.written)

    async def ends(self, reading: Reading) -> None:
        """See `bot.speech.queue.Captions`."""
        caption = self._captions.pop(reading.row.seq, None)
        if caption is None and reading.row.marked:
            caption = Caption(self._client, reading)
        if caption is not None:
            await caption.clear()


class Caption:
    """Of one stage: what its channel's writer writes when its turn comes."""

    exists = True

    def __init__(self, client: Client, reading: Reading) -> None:
        self._client = client
        self._request = reading.request
        self._key = reading.key
        self._seq = reading.row.seq
        self._kept = bool(reading.row.marked)
        """Whether it is stored that something may be marked."""
        self._sentence = ""
        self._at = 0
        """The first of the stage's messages in which something may be marked."""
        self._over = False
        self._surface: Channel | None = None
        self._writer: Writer | None = None
        self._finding: asyncio.Task[None] | None = None

    def show(self, sentence: str) -> None:
        self._sentence = sentence
        if self._finding is None:
            self._finding = asyncio.create_task(self._find())
        elif self._writer is not None:
            self._writer.put(self, Rank.MARK)

    async def clear(self) -> None:
        """Leave nothing marked; waits until that is written, but not for long."""
        self.show("")
        with suppress(TimeoutError):
            async with asyncio.timeout(CLEAR_S):
                if self._finding is not None:
                    await asyncio.wait([self._finding])
                if self._writer is not None:
                    await self._writer.settled(self)

    async def _find(self) -> None:
        """Find where the text stands."""
        try:
            origin = origin_of(self._request.origin)
            if origin.private or not origin.member:
                return
            self._surface = await place_of(self._client, self._request)
        except (SurfaceFault, StorageFault, ValueError, KeyError, TypeError) as fault:
            _log.info("run %s: its text is not marked: %r", self._request.id, fault)
            return
        self._writer = self._client.writers.at(self._surface.key)
        self._writer.put(self, Rank.MARK)

    async def write(self) -> bool | None:
        place = self._request.place
        if (
            self._over
            or self._surface is None
            or await self._client.app.goes_on(place.space, self._request.id)
        ):
            return False  # while it is written, its message is the run's
        sentence, wrote = self._sentence, False
        if not (sentence or self._kept):
            return False
        app = self._client.app
        try:
            if not self._kept:
                await app.records.readings.mark(self._seq, str(self._surface.key))
                self._kept = True
            messages = await app.records.outbox.messages(place.space, self._request.id, self._key)
            for at in range(self._at, len(messages)):
                is_marked = False

                def amended(message: discord.Message) -> dict[str, Any] | None:
                    nonlocal is_marked
                    texts = texts_of(message)
                    with_mark = marked(texts, sentence)
                    is_marked = with_mark is not None and sentence != ""
                    changed = with_mark if with_mark is not None else marked(texts, "")
                    return reworded(message, changed) if changed is not None and changed != texts else None

                wrote = await self._surface.amend(messages[at], amended) or wrote
                if is_marked:
                    self._at = at
                    break
        except Unavailable:
            raise
        except (SurfaceFault, StorageFault) as fault:  # deleted, too old, or too long with the mark
            _log.info("run %s: its text is marked no more: %r", self._request.id, fault)
            self._over = True
        return wrote
