"""Captions for what is read aloud: a clip posted below its text as a file, and a mark before the sentence that is
heard. The channel's writer sets the mark at its own pace.

The writer reads the message in its turn, just before the edit, so that nothing newer is overwritten.
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
    from storage.outbox import OutboxRow

SPOKEN: Final = "spoken#"
"""The prefix of the outbox key of a clip's message; the stage's key and a number follow."""
CLEAR_S: Final = 20.0
"""Seconds that the end of a stage waits for its last mark to be removed."""

_log = logging.getLogger(__name__)


async def place_of(client: Client, request: Request) -> Channel:
    """The channel of the request's answer. Raises SurfaceFault, and ValueError for a request that was withdrawn."""
    origin, place, records = origin_of(request.origin), request.place, client.app.records
    if origin.private:
        return await direct(client, origin.user)
    opened = await records.outbox.get(place.space, request.id, THREAD)
    thread = opened.message_id if opened is not None else None
    thread = thread or await records.threads.real_thread(place.space, place.channel, place.thread)
    return Channel(client, int(thread or origin.channel), origin.guild)


async def post_clip(client: Client, request: Request, clip: Clip, key: str) -> None:
    """Post a clip once below what the run has said, with a line that names the speaker."""
    parts = (clip.label, Shown(clip.name, clip.data, picture=False)) if clip.data else ()
    pages = [Page((Card(parts),), clip.label)] if parts else []
    pages += [Page((Card((clip.note,)),), clip.note)] if clip.note else []
    space, outbox = request.place.space, client.app.records.outbox
    try:
        surface = await place_of(client, request)
        for n, page in enumerate(pages):
            ref = MessageRef(request.id, f"{SPOKEN}{key}:{n}")
            row = await outbox.claim(space, request.id, ref.key)
            if row.state == "sent":
                continue
            message = None if row.fresh else await _left_by_crash(client, surface, row)
            if message is None:
                message = await with_retries(partial(surface.post, page, ref, MessageStyle.LAYOUT))
            await outbox.mark_sent(space, request.id, ref.key, message, "")
    except (SurfaceFault, ValueError, KeyError, TypeError) as fault:
        _log.warning("run %s: what was narrated was not sent: %r", request.id, fault)


async def unpost_clips(client: Client, request: Request, key: str) -> None:
    """Delete the clips of a stage; with "", those of the whole run."""
    space, outbox = request.place.space, client.app.records.outbox
    prefix = f"{SPOKEN}{key}:" if key else SPOKEN
    clips = [row for row in await outbox.all(space, request.id) if row.stage.startswith(prefix)]
    try:
        surface = await place_of(client, request) if clips else None
        for row in clips:
            assert surface is not None
            if message := row.message_id or await _left_by_crash(client, surface, row):
                with suppress(Gone, Refused):  # somebody else has deleted it
                    await with_retries(partial(surface.delete, message))
            await outbox.forget(space, request.id, row.stage)
    except (SurfaceFault, ValueError, KeyError, TypeError) as fault:
        _log.warning("run %s: what was narrated was not taken back: %r", request.id, fault)


async def _left_by_crash(client: Client, surface: Channel, row: OutboxRow) -> str | None:
    """The message of a clip that was posted but not noted. Raises SurfaceFault."""
    rows = await client.app.records.outbox.all(row.space, row.run_id)
    message_ids = {other.message_id for other in rows if other.message_id}
    ref = MessageRef(row.run_id, row.stage)
    return await with_retries(partial(surface.find, ref, row.created_at, message_ids))


class Captions:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._captions: dict[int, Caption] = {}

    def begins(self, reading: Reading, sentence: SpokenSentence) -> None:
        """See `bot.speech.queue.Captions`."""
        caption = self._captions.get(reading.row.seq)
        if caption is None:
            caption = self._captions[reading.row.seq] = Caption(self._client, reading)
        caption.show(sentence.text)

    async def ends(self, reading: Reading) -> None:
        """See `bot.speech.queue.Captions`."""
        caption = self._captions.pop(reading.row.seq, None)
        if caption is None and reading.row.marked:
            caption = Caption(self._client, reading)
        if caption is not None:
            await caption.clear()


class Caption:
    """The caption of one stage; its channel's writer writes it when its turn comes."""

    exists = True

    def __init__(self, client: Client, reading: Reading) -> None:
        self._client = client
        self._request = reading.request
        self._key = reading.key
        self._seq = reading.row.seq
        self._kept = bool(reading.row.marked)
        """Whether the storage notes that a sentence may be marked."""
        self._sentence = ""
        self._at = 0
        """The index of the stage's first message in which a sentence may be marked."""
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
        """Remove the mark. Waits until that is written, at most `CLEAR_S`."""
        self.show("")
        with suppress(TimeoutError):
            async with asyncio.timeout(CLEAR_S):
                if self._finding is not None:
                    await asyncio.wait([self._finding])
                if self._writer is not None:
                    await self._writer.settled(self)

    async def _find(self) -> None:
        """Find the channel and the writer of the text."""
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
            return False  # while the run writes it, the message belongs to the run
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
