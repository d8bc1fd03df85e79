"""Narration as files: made while the run continues, posted once the text is shown, one after another in each place.

For platforms without a voice channel, each of which supplies how a clip is packed and posted. The database stores which
clips are still wanted, so that any process can drop what another one makes.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from bot.budget import text_tokens
from bot.events import Ended, Place, Request, Speak, UserError
from bot.llm import prices
from bot.llm.completion import Usage
from bot.speech import sound
from bot.speech.engines.base import Unspoken
from bot.speech.voices import manner_of
from bot.waiting import Background
from bot.words import Words, words
from storage.faults import StorageFault
from storage.processes import tell

if TYPE_CHECKING:
    from bot.budget import Budget
    from bot.config import Config
    from bot.settings import Settings
    from bot.speech.speech import Paid, Speech
    from storage.db import Database
    from storage.readings import ReadingRow, Readings

DIGITS: Final = 8
"""The number of characters of the run's id in a clip's name."""
LONGEST_S: Final = 600.0
"""The longest clip in seconds; the rest of a longer text is not narrated."""
WAITING: Final = 200
"""The most clips that wait in a process; further ones are not begun."""
POST_S: Final = 120.0
AUDIO_TOKENS_A_SECOND: Final = 1_250 / 60
"""Tokens that OpenAI counts per second of speech (its pricing page: $12 per million are about $0.015 a minute)."""
CHARACTERS_A_SECOND: Final = 10
"""Characters per second of slow speech, so that the reserved amount is rather too large."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Clip:
    """The narration of one stage. `data` is b"" if there is no sound; `note` says why, or what is missing."""

    name: str
    label: str
    data: bytes
    seconds: float
    note: str = ""


DROP: Final = "clips dropped on"
"""The topic of messages between processes; the key under which the clips are kept follows."""

HEARD: Final = "*"
"""Stored once a clip was posted or left out."""
Unpost = Callable[["Request", str], Awaitable[None]]
"""Deletes the clips of a request's stage by its key; "" means all stages. Without any it does nothing."""
Post = Callable[[Request, Clip, str], Awaitable[None]]
"""Posts a clip with its run's text; the last argument is its `Speak.key`."""


@dataclass(slots=True)
class _Making:
    """A clip that is being made; `row` is None if it is not stored. `posting`: it is finished and being posted."""

    request: Request
    words_aloud: Speak
    row: ReadingRow | None
    posting: bool = False


class Clips:
    def __init__(
        self,
        speech: Speech,
        settings: Settings,
        budget: Budget,
        config: Config,
        ended: Callable[[str], Awaitable[Ended]],
        post: Post,
        *,
        exists: Callable[[Request], Awaitable[bool]],
        suffix: str = "mp3",
        readings: Readings | None = None,
        key: str = "",
        again: bool = True,
        database: Database | None = None,
        unpost: Unpost | None = None,
    ) -> None:
        """`exists` says whether a request still exists, that is, was not withdrawn. `suffix` is "mp3" or "wav".

        With `readings`, requested clips are stored under `key`; if several processes share the `database`,
        each can then drop what others make. With `again`, a clip is made again after a crash, and `speak` may be called
        again; `post` must then find what it has posted. `unpost` takes back what was posted.
        """
        self._speech = speech
        self._settings = settings
        self._budget = budget
        self._config = config
        self._ended = ended
        self._post = post
        self._exists = exists
        self._suffix = suffix
        self._readings = readings
        self._key = key
        self._again = again
        self._database = database
        self._unpost = unpost
        self._looking = Background()
        if readings is not None and database is not None and database.lease is not None:
            database.lease.hear(f"{DROP} {key}", self._on_drop, self._on_drop)
        self._tasks: dict[asyncio.Task[None], _Making] = {}
        self._turns: WeakValueDictionary[Place, asyncio.Lock] = WeakValueDictionary()

    async def narrates(self, request: Request) -> bool:
        """See `Platform.narrates`."""
        return await self._settings.narrated(request)

    async def speak(self, request: Request, words_aloud: Speak) -> None:
        """Begin to make a clip, without waiting for it."""
        row = None
        if self._readings is not None:
            place = request.place
            row = await self._readings.add(
                place.space,
                self._key,
                request.id,
                words_aloud.key,
                text=words_aloud.text,
                speaker=words_aloud.speaker,
                language=words_aloud.language,
            )
            if (
                row.heard == HEARD
                or self._makes(request.id, words_aloud.key)
                or not await self._readings.take(row)
            ):
                return
        if len(self._tasks) >= WAITING:
            _log.warning(
                "run %s: %d clips are waiting, so that one was left out", request.id, len(self._tasks)
            )
            await self._mark_narrated(row)
            return
        self._begin(_Making(request, words_aloud, row))

    def _begin(self, making: _Making) -> None:
        task = asyncio.create_task(self._run(making))
        self._tasks[task] = making
        task.add_done_callback(self._on_done)

    async def take_up(
        self, request_of: Callable[[str, str], Awaitable[Request | None]], gone: str = ""
    ) -> None:
        """Make the clips that an ended process, or the process `gone`, has not posted. `request_of` takes a space and a
        run.
        """
        if self._readings is None:
            return
        for row in await self._readings.abandoned(self._key, HEARD, gone):
            # Claimed last: a clip that this process has, but does not make, would be lost if the database goes away.
            request = await request_of(row.space, row.run_id) if self._again else None
            if self._makes(row.run_id, row.key) or not await self._readings.take(row, gone):
                continue
            if request is None or not row.whole:
                await self._mark_narrated(row)
            elif not self._makes(row.run_id, row.key):  # the run may have asked for it meanwhile
                self._begin(_Making(request, Speak(row.text, row.key, row.speaker, row.language), row))

    async def hush(self, request: Request, key: str) -> None:
        """See `Platform.hush`."""
        if self._readings is not None:
            await self._readings.take_back(request.place.space, request.id, key, HEARD)
            await self._tell()
        await self._cancel(
            task
            for task, making in self._tasks.items()
            if making.request.id == request.id and key in ("", making.words_aloud.key)
        )
        if self._unpost is not None:
            await self._unpost(request, key)

    async def _mark_narrated(self, row: ReadingRow | None) -> None:
        """Store that the stage was narrated, and nothing else of it."""
        if row is not None and self._readings is not None:
            await self._readings.clear(HEARD, row.seq)
            await self._readings.tidy(row.space, HEARD)

    @property
    def waiting(self) -> int:
        return len(self._tasks)

    async def settled(self) -> None:
        """Wait until all clips are posted."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self, request: Request) -> int:
        """Drop the clips that wait in the request's place, in every process. Returns how many."""
        return await self._drop(request.place)

    async def skip(self, request: Request) -> bool:
        """Drop the next clip in the request's place. Returns whether there was one."""
        return await self._drop(request.place, most=1) > 0

    async def _drop(self, place: Place, most: int | None = None) -> int:
        if self._readings is None:
            in_place = [task for task, making in self._tasks.items() if making.request.place == place]
            return await self._cancel(in_place[:most])
        dropped = await self._readings.drop(place.key, self._key, HEARD, most=most)
        await self._tell()
        await self._look()
        return dropped

    async def _tell(self) -> None:
        """Have other processes check which of their clips are still wanted."""
        if self._database is not None:
            await tell(self._database, f"{DROP} {self._key}")

    def _on_drop(self) -> None:
        self._looking.start(self._look_after_drop())

    async def _look_after_drop(self) -> None:
        with suppress(StorageFault):  # checked again before each is posted
            await self._look()

    async def _look(self) -> None:
        """Cancel the clips that were dropped."""
        assert self._readings is not None
        rows = {making.row.seq: task for task, making in self._tasks.items() if making.row is not None}
        if rows:
            unheard = await self._readings.unheard(HEARD, *rows)
            await self._cancel(task for seq, task in rows.items() if seq not in unheard)

    async def _is_wanted(self, row: ReadingRow | None) -> bool:
        """Whether no process has dropped the clip."""
        return row is None or self._readings is None or bool(await self._readings.unheard(HEARD, row.seq))

    def _makes(self, run: str, key: str) -> bool:
        return any(
            (making.request.id, making.words_aloud.key) == (run, key) for making in self._tasks.values()
        )

    async def _cancel(self, tasks: Iterable[asyncio.Task[None]]) -> int:
        """Stop making these clips. Returns how many there were."""
        ended = {task: self._tasks[task] for task in tasks if task in self._tasks}
        for task, making in ended.items():
            if not making.posting:  # a clip that is being posted cannot be cancelled
                task.cancel()
        for task, making in ended.items():
            await asyncio.wait([task])
            await self._mark_narrated(making.row)
        return len(ended)

    async def close(self) -> None:
        for task in [*self._tasks, *self._looking.tasks]:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (fault := task.exception()) is not None:
            _log.error("a clip was not posted", exc_info=fault)

    async def _run(self, making: _Making) -> None:
        try:
            await self._narrate(making)
        except Exception:
            await self._mark_narrated(making.row)  # only what a crash interrupted is made again
            raise
        await self._mark_narrated(making.row)

    async def _narrate(self, making: _Making) -> None:
        request, words_aloud = making.request, making.words_aloud
        async with self._turns.setdefault(request.place, asyncio.Lock()):
            try:
                clip = await self._clip(request, words_aloud)
            except UserError as error:  # a spending cap
                say = words(request.locale)
                clip = Clip("", "", b"", 0.0, say("speech.unheard", why=say(error.key, **error.values)))
            if clip is None:
                return
            # The text is shown first, and never waits for the clip.
            if (
                await self._ended(request.id) != "stopped"
                and await self._exists(request)
                and await self._is_wanted(making.row)
            ):
                making.posting = True
                async with asyncio.timeout(POST_S):
                    await self._post(request, clip, words_aloud.key)
                if self._unpost is not None and not await self._is_wanted(making.row):
                    await self._unpost(request, words_aloud.key)

    async def _clip(self, request: Request, words_aloud: Speak) -> Clip | None:
        """The finished clip; None if there is nothing to say."""
        manner = await manner_of(self._settings, self._config.speech, request, request.work, words_aloud)
        sounds, faults, seconds, cut = list[bytes](), list[Unspoken](), 0.0, False
        async with aclosing(self._speech.say(words_aloud.text, manner, self.paid(request))) as sentences:
            async for sentence in sentences:
                if sentence.fault is not None:
                    faults.append(sentence.fault)
                    continue
                sounds.append(sentence.pcm)
                seconds += sentence.seconds
                if cut := seconds >= LONGEST_S:
                    break
        say = words(request.locale)
        if not sounds:
            return (
                Clip("", "", b"", 0.0, say("speech.unheard", why=fault_sentence(faults[0], say)))
                if faults
                else None
            )
        pcm = sound.joined(sounds)
        pack = sound.mp3 if self._suffix == "mp3" else sound.wav
        data = await asyncio.to_thread(pack, pcm)
        notes = [say("speech.cut", minutes=int(LONGEST_S / 60))] if cut else []
        if faults:
            notes.append(say("speech.partly", n=len(faults), why=fault_sentence(faults[0], say)))
        minutes, seconds_left = divmod(max(1, int(seconds)), 60)  # at least one second
        length = f"{minutes}:{seconds_left:02}"
        speaker = (
            words_aloud.speaker
            if words_aloud.speaker not in ROLES
            else say(f"speech.role_{words_aloud.speaker}")
        )
        label = (
            say("speech.clip", speaker=speaker, length=length)
            if speaker
            else say("speech.clip_bare", length=length)
        )
        name = clip_name(words_aloud.key, request.id, self._suffix)
        return Clip(name, label, data, seconds, " ".join(notes))

    def paid(self, request: Request) -> Paid:
        """Reserves what a service's sentence may cost, then settles the actual cost."""

        async def paid(model: str, characters: int, call: Callable[[], Awaitable[float]]) -> None:
            provider, _, name = model.partition(":")
            service = self._config.providers[provider]

            def used(seconds: float) -> Usage:
                tokens = math.ceil(seconds * AUDIO_TOKENS_A_SECOND)
                return Usage(text_tokens("a" * characters), tokens, estimated=True)

            most = used(characters / CHARACTERS_A_SECOND)
            async with self._budget.spending(
                request, "speech", model, most, lambda usage: prices.cost(service, name, usage)
            ) as meter:
                meter.usage = used(await call())

        return paid


ROLES: Final = ("narrator", "chair")
"""Speakers without a name, whose titles are in the catalogue."""


def fault_sentence(fault: Unspoken, say: Words) -> str:
    """The sentence about a fault; it quotes nothing from the engine."""
    return say(f"speech.fault_{fault.why}", engine=fault.engine or "?", language=fault.detail)


def clip_name(key: str, run: str, suffix: str) -> str:
    """A clip's name, made from the stage and the run alone, so that a clip made again after a crash has
    the same name.
    """
    stage = "".join(character if character.isalnum() or character in "-_" else "-" for character in key)
    return f"{stage[:60] or 'narration'}-{run[-DIGITS:]}.{suffix}"
