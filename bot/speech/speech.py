"""Speaks texts, each sentence with the first voice that reads its language; the next one is made while one is heard.

Returns sentences with their sound at 48 kHz, and 20 ms frames of it. Independent of platforms.
"""

from __future__ import annotations

import asyncio
import logging
import re
import unicodedata
from collections import OrderedDict
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from bot.speech import sound
from bot.speech.engines.base import Engine, Unspoken
from bot.speech.engines.embedded import Hibari, Piper
from bot.speech.engines.espeak import Espeak
from bot.speech.engines.service import Service
from bot.speech.narration import Narration, Sentence
from bot.speech.voices import Manner, Voice

if TYPE_CHECKING:
    from bot.config import Config
    from bot.speech.engines.base import Sound

AHEAD: Final = 2
"""How many sentences are made in advance."""
TELLING: Final = 40
"""The letters needed to detect a text's language; with fewer than half of them the expected language is used."""
_SENTENCE: Final = re.compile(r"[.!?…]\s|[。！？]")
_LATIN: Final = frozenset({"hibari"})
"""Engines that read only the Latin script; they get Latin letters only."""
_LASTING: Final = frozenset({"crashed", "hangs", "refused", "absent", "no_voice"})
_NOTHING_WRONG: Final = frozenset({"language", "absent"})
"""Normal with the default voices: one reads only English, the other is a program that may not be installed."""

Paid = Callable[[str, int, Callable[[], Awaitable[float]]], Awaitable[None]]
"""Wraps a call to a paid service in the ledger: its arguments are the model ("provider:model"), the spoken characters,
and the call, which returns the seconds of sound.
"""

_log = logging.getLogger(__name__)


class Cache:
    """A cache of at most `most_bytes`; the least recently used sentence is dropped first."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._sounds: OrderedDict[tuple[object, ...], bytes] = OrderedDict()
        self.bytes = 0

    def get(self, key: tuple[object, ...]) -> bytes | None:
        if (pcm := self._sounds.get(key)) is not None:
            self._sounds.move_to_end(key)
        return pcm

    def put(self, key: tuple[object, ...], pcm: bytes) -> None:
        self.bytes += len(pcm) - len(self._sounds.pop(key, b""))
        self._sounds[key] = pcm
        while self.bytes > self._most_bytes and self._sounds:
            _, oldest = self._sounds.popitem(last=False)
            self.bytes -= len(oldest)


@dataclass(frozen=True, slots=True)
class SpokenSentence:
    """A sentence's spoken `words` with their sound: 48 kHz, 16 bits, one channel; b"" if no voice could speak it
    (`fault` says why). `text` is the sentence as it is written.
    """

    words: str
    pcm: bytes
    voice: Voice | None = None
    fault: Unspoken | None = None
    text: str = ""

    @property
    def seconds(self) -> float:
        return sound.seconds(self.pcm)

    def frames(self) -> Iterator[bytes]:
        """Frames of 48 kHz, 16 bits, two channels, 20 ms each, with the pause after the sentence."""
        yield from sound.frames(self.pcm + sound.silence(sound.PAUSE_MS) if self.pcm else b"")

    @property
    def digest(self) -> str:
        return digest(self.words)


def digest(words: str) -> str:
    """Eight hexadecimal digits that identify a sentence."""
    return blake2b(words.encode(), digest_size=4).hexdigest()


class Speech:
    """The speech of this process: engines, made on first use, and a cache of recent sentences."""

    def __init__(self, config: Config, engines: Mapping[str, Engine] | None = None) -> None:
        """`engines` replace those of the config."""
        self._config = config
        self._engines: dict[str, Engine] = dict(engines or {})
        self._engines_given = engines is not None
        self._cache = Cache(config.speech.cache_mb * 2**20)
        self.last_fault = ""
        """The last fault, for the doctor."""

    def engine(self, name: str) -> Engine | None:
        """The engine of this name; None if there is none."""
        if (
            name not in self._engines
            and not self._engines_given
            and (engine := self._new_engine(name)) is not None
        ):
            self._engines[name] = engine
        return self._engines.get(name)

    def _new_engine(self, name: str) -> Engine | None:
        config = self._config
        match name:
            case "hibari":
                return Hibari()
            case "espeak":
                return Espeak()
            case "piper":
                return Piper(config.speech.piper)
        provider = config.providers.get(name)
        if provider is None or provider.kind not in ("openai", "openai-compatible"):
            return None
        return Service(provider, config)

    @property
    def names(self) -> list[str]:
        """The names of all engines that may be used here."""
        services = [
            provider.name
            for provider in self._config.providers.values()
            if provider.kind in ("openai", "openai-compatible")
        ]
        return list(self._engines) if self._engines_given else ["hibari", "espeak", "piper", *services]

    async def say(
        self,
        text: str | AsyncIterable[str],
        manner: Manner,
        paid: Paid | None = None,
        heard_before: Sequence[str] = (),
    ) -> AsyncGenerator[SpokenSentence, None]:
        """The sentences of a text (Markdown), complete or while it is being written; those that no voice can speak have
        a fault.

        `heard_before` are digests: the text's first sentences are skipped while they match them. Use it with aclosing,
        so that sentences made in advance are dropped with it.
        """
        queue: asyncio.Queue[SpokenSentence | None] = asyncio.Queue(AHEAD)
        making = asyncio.create_task(self._make(text, _TextSpeaker(self, manner, paid, heard_before), queue))
        try:
            while (sentence := await queue.get()) is not None:
                yield sentence
            await making
        finally:
            making.cancel()
            with suppress(asyncio.CancelledError, Exception):  # a fault to report was raised above
                await making

    async def _make(
        self,
        text: str | AsyncIterable[str],
        text_speaker: _TextSpeaker,
        queue: asyncio.Queue[SpokenSentence | None],
    ) -> None:
        try:
            async with aclosing(_pieces(text)) as pieces:
                async for piece in pieces:
                    for sentence in await text_speaker.feed(piece):
                        await queue.put(await text_speaker.speak(sentence))
            for sentence in text_speaker.end():
                await queue.put(await text_speaker.speak(sentence))
        except Exception:
            await queue.put(None)
            raise
        await queue.put(None)

    async def sentence(
        self, words: str, voice: Voice, speed: float, language: str, paid: Paid | None = None
    ) -> bytes:
        """One sentence by one voice, in the format of `SpokenSentence.pcm`. Raises Unspoken."""
        engine = self.engine(voice.engine)
        if engine is None:
            raise Unspoken("no_voice", voice.engine)
        if not engine.reads(language, voice.name):
            raise Unspoken("language", voice.engine)
        key = (str(voice), round(speed, 2), language, words)
        if (cached := self._cache.get(key)) is not None:
            return cached
        sounds: list[Sound] = []

        async def call() -> float:
            sounds.append(await engine.say(words, voice.name, speed, language))
            return len(sounds[0].samples) / sounds[0].rate

        if paid is not None and isinstance(engine, Service):
            await paid(f"{engine.name}:{engine.model(voice.name)}", len(words), call)
        else:
            await call()
        pcm = await asyncio.to_thread(sound.pcm, sounds[0], engine.name)
        self._cache.put(key, pcm)
        return pcm

    def note(self, fault: Unspoken) -> None:
        self.last_fault = str(fault)
        _log.warning("a sentence was not said: %s", fault)

    async def close(self) -> None:
        for engine in self._engines.values():
            await engine.close()


class _TextSpeaker:
    """Speaks one text: remembers its language, detected from its beginning, and which voices have failed for it."""

    def __init__(
        self, speech: Speech, manner: Manner, paid: Paid | None, heard_before: Sequence[str]
    ) -> None:
        self._speech = speech
        self._manner = manner
        self._paid = paid
        self._heard_before = list(reversed(heard_before))
        self._beginning = ""
        self._narration: Narration | None = None
        self._language = manner.language[:2].lower()
        self._failed: set[Voice] = set()

    async def feed(self, piece: str) -> list[Sentence]:
        if self._narration is not None:
            return self._unheard(self._narration.feed(piece))
        self._beginning += piece
        if sum(map(str.isalpha, self._beginning)) < TELLING and not _SENTENCE.search(self._beginning):
            return []
        self._language = await asyncio.to_thread(_language_of, self._beginning, self._language)
        self._narration = Narration(self._language, self._manner.speakers)
        return self._unheard(self._narration.feed(self._beginning))

    def end(self) -> list[Sentence]:
        first_sentences: list[Sentence] = []
        if self._narration is None:
            self._narration = Narration(self._language, self._manner.speakers)
            first_sentences = self._narration.feed(self._beginning)
        return self._unheard(first_sentences + self._narration.end())

    def _unheard(self, sentences: list[Sentence]) -> list[Sentence]:
        before = self._heard_before
        for n, sentence in enumerate(sentences):
            if not before or before.pop() != digest(sentence.words):
                before.clear()
                return sentences[n:]
        return []

    async def speak(self, sentence: Sentence) -> SpokenSentence:
        words = sentence.words
        language = await asyncio.to_thread(_language_of, words, self._language, foreign_only=True)
        faults: list[Unspoken] = []
        speaker_voices = self._manner.speakers.get(sentence.speaker, ())
        for voice in dict.fromkeys((*speaker_voices, *self._manner.voices)):
            words_said = _latin(words) if voice.engine in _LATIN else words
            if voice in self._failed or not words_said:
                continue
            try:
                pcm = await self._speech.sentence(words_said, voice, self._manner.speed, language, self._paid)
            except Unspoken as fault:
                if fault.why in _LASTING:
                    # Another voice speaks the rest, rather than waiting half a minute for each sentence.
                    self._failed.add(voice)
                if fault.why not in _NOTHING_WRONG:
                    self._speech.note(fault)
                    faults.append(fault)
            else:
                return SpokenSentence(words, pcm, voice, text=sentence.text)
        fault_shown = faults[0] if faults else Unspoken("language", detail=language)
        return SpokenSentence(words, b"", None, fault_shown, sentence.text)


async def _pieces(text: str | AsyncIterable[str]) -> AsyncGenerator[str, None]:
    if isinstance(text, str):
        yield text
    else:
        async for piece in text:
            yield piece


def _language_of(text: str, likely: str, *, foreign_only: bool = False) -> str:
    """A text's language; `likely` if it has too few letters, or with `foreign_only` if they are Latin."""
    from bot.retrieval.language import detect

    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(map(_is_latin, letters))
    if latin * 2 < len(letters):
        scripts = [_SCRIPTS.get(unicodedata.name(letter, "?").split()[0], "und") for letter in letters]
        return "ja" if "ja" in scripts else scripts[0]  # Japanese also uses Chinese characters
    if foreign_only or latin < TELLING // 2:
        return likely
    return detect(_latin(text))


_SCRIPTS: Final = {
    "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "DEVANAGARI": "hi", "ARMENIAN": "hy", "TAMIL": "ta",
                   "HIRAGANA": "ja", "KATAKANA": "ja", "CJK": "zh", "HANGUL": "ko", "HEBREW": "he", "THAI": "th",
}  # fmt: skip
"""The language assumed for each script."""


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or unicodedata.name(letter, "").startswith("LATIN")


def _latin(words: str) -> str:
    """The words without letters of other scripts than Latin; "" if nothing is left."""
    letters_kept = "".join(letter for letter in words if not letter.isalpha() or _is_latin(letter))
    return re.sub(r"\s+", " ", letters_kept).strip() if any(map(str.isalnum, letters_kept)) else ""
