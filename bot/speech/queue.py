"""Readings in one voice channel: stages wait for their turn, and it is stored how far each was heard.

The next sentences are made while one is played. Independent of platforms: the player takes frames, and says why it
cannot play.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from bot.events import Request, Speak, UserError
from bot.speech.clips import fault_sentence
from bot.speech.engines.base import Unspoken
from bot.speech.frames import Frames, Progress, Sentence
from bot.speech.voices import manner_of
from bot.waiting import Background, cancelled
from bot.words import words

if TYPE_CHECKING:
    from bot.config import Config
    from bot.settings import Settings
    from bot.speech.speech import Paid, Speech, SpokenSentence
    from storage.readings import ReadingRow, Readings

WAITING: Final = 200
"""The most stages that wait in one queue; further ones are not read aloud."""
RETRY_S: Final = 0.25
"""Seconds between two checks whether the player can be heard again."""
STUCK_S: Final = 15.0
"""Seconds of being unheard until that is reported."""

HEARD: Final = "*"
"""Stored instead of digests once the stage is finished."""

_log = logging.getLogger(__name__)


class Player(Protocol):
    """Takes a frame every 20 ms in its own thread."""

    def lacks(self) -> str:
        """Why nothing can be heard now, as a catalogue key; "" if the player can be heard."""

    def play(self, read: Callable[[], bytes], ended: Callable[[], None]) -> None:
        """Play until `read` returns b"", or until `stop`; then call `ended`, from any thread."""

    def stop(self) -> None: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Captions(Protocol):
    """Marks the sentence that is being heard in its text."""

    def begins(self, reading: Reading, sentence: SpokenSentence) -> None: ...

    async def ends(self, reading: Reading) -> None:
        """Remove the mark."""


@dataclass(eq=False, slots=True)
class Reading:
    """A stage that is being read. `heard`: the digests of the sentences heard so far."""

    request: Request
    row: ReadingRow
    growing: GrowingText | None
    heard: list[str] = field(default_factory=list)
    all_made: bool = False
    unheard: int = 0
    """The number of its sentences that are made but not heard yet."""

    @property
    def key(self) -> str:
        return self.row.key


class GrowingText:
    """A text that arrives in pieces and is kept until it is read."""

    def __init__(self) -> None:
        self.text = ""
        self._ended = False
        self._changed = asyncio.Event()

    async def take(self, pieces: AsyncIterable[str]) -> None:
        try:
            async for piece in pieces:
                self.text += piece
                self._changed.set()
        finally:
            self._ended = True
            self._changed.set()

    async def pieces(self) -> AsyncGenerator[str, None]:
        at = 0
        while True:
            self._changed.clear()
            if at < len(self.text):
                piece, at = self.text[at:], len(self.text)
                yield piece
            elif self._ended:
                return
            else:
                await self._changed.wait()


Tell = Callable[[Request, str, str], Awaitable[None]]
"""Shows a sentence with a request's answer; the last argument is the key of the stage that it is about."""


class Queue:
    """The queue of one voice channel."""

    def __init__(
        self,
        readings: Readings,
        speech: Speech,
        settings: Settings,
        config: Config,
        player: Player,
        *,
        paid: Callable[[Request], Paid],
        tell: Tell,
        captions: Captions | None = None,
        stuck_s: float = STUCK_S,
    ) -> None:
        self._readings = readings
        self._speech = speech
        self._settings = settings
        self._config = config
        self._player = player
        self._paid = paid
        self._tell = tell
        self._captions = captions
        self._stuck_s = stuck_s
        self._loop = asyncio.get_running_loop()
        self._open: list[Reading] = []
        """The unfinished stages, in order."""
        self._unmade: deque[Reading] = deque()
        """The stages whose sentences are not all made; the first is in progress."""
        self._frames: Frames[Reading] = Frames(
            lambda progress, sentence: self._call(self._on_progress, progress, sentence)
        )
        self._serving: asyncio.Task[None] | None = None
        self._making: asyncio.Task[None] | None = None
        self._tasks = Background("what is read aloud was not kept up with")
        self._keeping = asyncio.Lock()
        self._room = asyncio.Event()
        self._retry: asyncio.TimerHandle | None = None
        self._playing = False
        self._stuck_since: float | None = None
        self._reported_stuck = self._reported_full = False
        self._reported_fault = ""
        self._closed = False
        self.paused = False
        self.last_fault = ""
        """The player's last fault, a key of the catalogue, for the doctor."""

    @property
    def waiting(self) -> int:
        """How many stages are unfinished."""
        return len(self._open)

    @property
    def present(self) -> Reading | None:
        """The stage that is being read, or the next one."""
        return self._open[0] if self._open else None

    async def add(
        self, request: Request, key: str, speaker: str, language: str, text: str | AsyncIterable[str]
    ) -> None:
        """Add a stage at the end: complete, or while it is being written. What was heard of it before a restart is left
        out.

        Raises StorageFault. If too many wait, the stage is not read, and people are told.
        """
        if len(self._open) >= WAITING:
            if not self._reported_full:
                self._reported_full = True
                await self._tell(request, words(request.locale)("speech.queue_full", n=WAITING), key)
            return
        self._reported_full = False
        row = await self._readings.add(
            request.place.space,
            request.place.platform,
            request.id,
            key,
            text=text if isinstance(text, str) else None,
            speaker=speaker,
            language=language,
        )
        if row.heard == HEARD:
            return
        earlier = next((reading for reading in self._open if reading.row.seq == row.seq), None)
        if isinstance(text, str):
            if earlier is None:
                self.take(request, row)
            return
        if earlier is not None:  # an earlier process ended in the middle of the text and took it for complete
            self._forget(earlier)
        growing = GrowingText()
        self._tasks.start(self._collect(row.seq, growing, text))
        self.take(request, row, growing)

    def take(self, request: Request, row: ReadingRow, growing: GrowingText | None = None) -> None:
        """Add a stored stage at the end, unless it already waits."""
        if self._closed or any(reading.row.seq == row.seq for reading in self._open):
            return
        reading = Reading(request, row, growing, row.heard.split())
        self._open.append(reading)
        self._unmade.append(reading)
        self._frames.awaited = True
        if self._serving is None:
            self._serving = asyncio.create_task(self._serve())

    async def stop(self) -> int:
        """End all waiting stages. Returns how many."""
        stopped = list(self._open)
        self._unmade.clear()
        self._frames.drop()
        self._frames.awaited = False
        self.paused = False
        self._player.stop()
        if self._making is not None:
            self._making.cancel()
        self._open.clear()
        await self._close_rows(stopped)
        return len(stopped)

    async def skip(self) -> bool:
        """Continue with the next stage. Returns whether there was one to skip."""
        reading = self.present
        if reading is not None:
            await self._drop(reading)
        return reading is not None

    async def hush(self, run: str, key: str = "") -> None:
        """End the reading of a run's stage, or (without a key) of the whole run."""
        for reading in list(self._open):
            if reading.request.id == run and key in ("", reading.key):
                await self._drop(reading)

    def again(self) -> None:
        """Repeat the last half second, which may not have been heard; from any thread."""
        self._frames.again()

    def pause(self) -> bool:
        """Pause. Returns whether it was playing."""
        if self.paused or not self._open:
            return False
        self.paused = True
        if self._playing:
            self._player.pause()
        return True

    def resume(self) -> bool:
        """Resume. Returns whether it was paused."""
        if not self.paused:
            return False
        self.paused = False
        if self._playing:
            self._player.resume()
        else:
            self._play()
        return True

    async def settled(self) -> None:
        """Wait until all stages are finished."""
        while self._open or self._tasks.tasks:
            self._room.clear()
            waiting = [*self._tasks.tasks, asyncio.create_task(self._room.wait())]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            waiting[-1].cancel()

    async def close(self) -> None:
        """Stop. The next start reads what waits and what is added from now on."""
        self._closed = True
        if self._retry is not None:
            self._retry.cancel()
        self._frames.awaited = False
        self._frames.drop()
        self._player.stop()
        await cancelled(self._making, self._serving)

    async def _collect(self, seq: int, growing: GrowingText, pieces: AsyncIterable[str]) -> None:
        await growing.take(pieces)
        # If it is no longer open, it was heard or withdrawn.
        if self._closed or any(reading.row.seq == seq for reading in self._open):
            await self._readings.store_text(seq, growing.text)

    async def _serve(self) -> None:
        while self._unmade:
            reading = self._unmade[0]
            making = self._making = asyncio.create_task(self._make(reading))
            await asyncio.wait([making])
            self._making = None
            if not making.cancelled() and (fault := making.exception()) is not None:
                _log.error("a stage was not read aloud", exc_info=fault)
            if self._unmade and self._unmade[0] is reading:
                self._unmade.popleft()
            reading.all_made = True
            self._close_if_finished(reading)
        self._frames.awaited = False
        self._serving = None

    async def _make(self, reading: Reading) -> None:
        """Make the stage's sentences, as many in advance as `Frames` takes."""
        request, say = reading.request, words(reading.request.locale)
        row = await self._readings.get(reading.row.seq)
        if row is None:  # taken back
            return
        text = row.text if reading.growing is None else reading.growing.pieces()
        aloud = Speak("", row.key, row.speaker, row.language)
        manner = await manner_of(self._settings, self._config.speech, request, request.work, aloud)
        faults, any_heard = list[Unspoken](), bool(reading.heard)
        try:
            spoken = self._speech.say(text, manner, self._paid(request), tuple(reading.heard))
            async with aclosing(spoken) as sentences:
                async for sentence in sentences:
                    if sentence.fault is not None:
                        faults.append(sentence.fault)
                    any_heard = any_heard or sentence.fault is None
                    while self._frames.full:
                        self._room.clear()
                        await self._room.wait()
                    reading.unheard += 1
                    self._frames.put(Sentence(reading, sentence))
                    self._play()
        except UserError as error:  # a spending cap
            reason = say(error.key, **error.values)
        else:
            reason = fault_sentence(faults[0], say) if faults else ""
        if reason and reason != self._reported_fault:
            # A voice that keeps failing is reported once, not for each stage.
            key = "speech.partly" if any_heard and faults else "speech.unheard"
            await self._tell(request, say(key, n=len(faults), why=reason), reading.key)
        self._reported_fault = reason

    def _play(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if self._playing or self.paused or self._frames.empty:
            return
        if lacking := self._player.lacks():
            self._lacking(lacking)
            self._retry = self._loop.call_later(RETRY_S, self._play)
            return
        self._stuck_since, self._reported_stuck = None, False
        self._frames.rewind()
        self._frames.ended = False
        self._playing = True
        try:
            self._player.play(self._frames.read, lambda: self._call(self._ended))
        except Exception as fault:  # the library's fault, after the connection was just lost
            _log.warning("the playing did not begin: %r", fault)
            self._playing = False
            self._retry = self._loop.call_later(RETRY_S, self._play)

    def _ended(self) -> None:
        self._playing = False
        if self._retry is None:
            self._retry = self._loop.call_later(0.0 if self._frames.ended else RETRY_S, self._play)

    def _lacking(self, lacking: str) -> None:
        """Report once why nothing can be heard."""
        self.last_fault = lacking
        now = self._loop.time()
        if self._stuck_since is None:
            self._stuck_since = now
        reading = self.present
        if not self._reported_stuck and now - self._stuck_since >= self._stuck_s and reading is not None:
            self._reported_stuck = True
            sentence = words(reading.request.locale)(lacking)
            self._tasks.start(self._tell_of(reading, sentence))

    async def _tell_of(self, reading: Reading, sentence: str) -> None:
        await self._tell(reading.request, sentence, reading.key)

    def _on_progress(self, progress: Progress, sentence: Sentence[Reading]) -> None:
        reading = sentence.owner
        match progress:
            case "begins":
                if self._captions is not None and sentence.spoken.pcm:
                    self._captions.begins(reading, sentence.spoken)
            case "heard":
                reading.heard.append(sentence.spoken.digest)
                self._tasks.start(self._keep(reading))
            case "ends":
                reading.unheard -= 1
                self._room.set()
                self._close_if_finished(reading)

    async def _keep(self, reading: Reading) -> None:
        async with self._keeping:
            is_stored = reading not in self._open or await self._readings.store_heard(
                reading.row.seq, " ".join(reading.heard)
            )
        if not is_stored:
            await self._drop(reading)

    def _close_if_finished(self, reading: Reading) -> None:
        """Close the stage if it is finished."""
        if reading.all_made and reading.unheard <= 0 and reading in self._open:
            self._open.remove(reading)
            self._room.set()
            self._tasks.start(self._close_rows([reading]))

    async def _drop(self, reading: Reading) -> None:
        self._forget(reading)
        await self._close_rows([reading])

    def _forget(self, reading: Reading) -> None:
        self._frames.drop(reading)
        self._room.set()
        if self._unmade and self._unmade[0] is reading and self._making is not None:
            self._making.cancel()
        elif reading in self._unmade:
            self._unmade.remove(reading)
        if reading in self._open:
            self._open.remove(reading)

    async def _close_rows(self, readings: list[Reading]) -> None:
        """Store that the stages are finished; their rows are deleted in the background."""
        async with self._keeping:
            await self._readings.clear(HEARD, *(reading.row.seq for reading in readings))
        self._tasks.start(self._leave_nothing(readings))

    async def _leave_nothing(self, readings: list[Reading]) -> None:
        for reading in readings:
            if self._captions is not None:
                await self._captions.ends(reading)
            if reading.growing is None:
                await self._readings.remove(reading.row.seq)
            else:  # after a crash its run may add it again
                await self._readings.mark(reading.row.seq, "")

    def _call(self, callback: Callable[..., None], *arguments: object) -> None:
        """Called from the player's thread; the loop may be closed by then."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(callback, *arguments)
