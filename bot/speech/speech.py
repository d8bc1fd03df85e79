"""Says texts, each sentence by the first voice that reads its language, the next one made while one is heard.

What it gives are sentences with their sound at 48 kHz, and 20 ms frames of it. Knows no platform.
"""

from __future__ import annotations

import asyncio
import logging
import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from bot.speech import sound
from bot.speech.cache import Cache
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
"""Sentences that are made before they are needed."""
TELLING: Final = 40
"""Letters by which the language of a text is told, or its first sentence; of half as many, it is the one expected."""
_SENTENCE: Final = re.compile(r"[.!?…]\s|[。！？]")
_LATIN: Final = frozenset({"hibari"})
"""Engines that make noise of letters that are not Latin: they are not given any."""
_LASTING: Final = frozenset({"crashed", "hangs", "refused", "absent", "no_voice"})
_NOTHING_WRONG: Final = frozenset({"language", "absent"})
"""With the default voices: one reads English, the other is a program that may not be there."""

Paid = Callable[[str, int, Callable[[], Awaitable[float]]], Awaitable[None]]
"""Puts the ledger around a call that a service wants money for: its model ("provider:model"), the characters that are
said, and the call, which gives the seconds of what was said."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Heard:
    """One sentence: its words as they are said, and one channel of 16 bits at 48 kHz; b"" where no voice could say it,
    for the reason that `fault` is. `written` are its words in the text."""

    words: str
    pcm: bytes
    voice: Voice | None = None
    fault: Unspoken | None = None
    written: str = ""

    @property
    def seconds(self) -> float:
        return sound.seconds(self.pcm)

    def frames(self) -> Iterator[bytes]:
        """48 kHz, 16 bits, two channels, 20 ms each, with the pause behind the sentence."""
        yield from sound.frames(self.pcm + sound.silence(sound.PAUSE_MS) if self.pcm else b"")

    @property
    def digest(self) -> str:
        return digest(self.words)


def digest(words: str) -> str:
    """Eight hexadecimal digits by which a sentence is known again."""
    return blake2b(words.encode(), digest_size=4).hexdigest()


class Speech:
    """Of this process: the engines, made when they are first needed, and what they have said lately."""

    def __init__(self, config: Config, engines: Mapping[str, Engine] | None = None) -> None:
        """`engines` are in place of those that the config names."""
        self._config = config
        self._engines: dict[str, Engine] = dict(engines or {})
        self._given = engines is not None
        self._cache = Cache(config.speech.cache_mb * 2**20)
        self.last_fault = ""
        """For the doctor."""

    def engine(self, name: str) -> Engine | None:
        """None for one that there is not."""
        if name not in self._engines and not self._given and (made := self._made(name)) is not None:
            self._engines[name] = made
        return self._engines.get(name)

    def _made(self, name: str) -> Engine | None:
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
        variable = provider.api_key_env
        key = config.secret(variable) if variable else None
        return Service(name, provider.base_url, key, variable if variable and key is None else "")

    @property
    def names(self) -> list[str]:
        """Of all engines that there could be here."""
        services = [
            one.name for one in self._config.providers.values() if one.kind in ("openai", "openai-compatible")
        ]
        return list(self._engines) if self._given else ["hibari", "espeak", "piper", *services]

    async def say(
        self,
        text: str | AsyncIterable[str],
        manner: Manner,
        paid: Paid | None = None,
        heard_before: Sequence[str] = (),
    ) -> AsyncGenerator[Heard, None]:
        """The sentences of a text (Markdown), whole or as it is written; those that nobody can say with their fault.

        `heard_before` are digests: the text's first sentences are left out as long as they are those. Drive it with
        aclosing: what is made ahead ends with it.
        """
        made: asyncio.Queue[Heard | None] = asyncio.Queue(AHEAD)
        making = asyncio.create_task(self._make(text, _Saying(self, manner, paid, heard_before), made))
        try:
            while (heard := await made.get()) is not None:
                yield heard
            await making
        finally:
            making.cancel()
            with suppress(asyncio.CancelledError, Exception):  # one that was to be told of is raised above
                await making

    async def _make(
        self,
        text: str | AsyncIterable[str],
        saying: _Saying,
        made: asyncio.Queue[Heard | None],
    ) -> None:
        try:
            async with aclosing(_pieces(text)) as pieces:
                async for piece in pieces:
                    for sentence in await saying.feed(piece):
                        await made.put(await saying.heard(sentence))
            for sentence in saying.end():
                await made.put(await saying.heard(sentence))
        except Exception:
            await made.put(None)
            raise
        await made.put(None)

    async def sentence(
        self, words: str, voice: Voice, speed: float, language: str, paid: Paid | None = None
    ) -> bytes:
        """One sentence by one voice, as `Heard.pcm`. Raises Unspoken."""
        engine = self.engine(voice.engine)
        if engine is None:
            raise Unspoken("no_voice", voice.engine)
        if not engine.reads(language, voice.name):
            raise Unspoken("language", voice.engine)
        key = (str(voice), round(speed, 2), language, words)
        if (known := self._cache.get(key)) is not None:
            return known
        said: list[Sound] = []

        async def call() -> float:
            said.append(await engine.say(words, voice.name, speed, language))
            return len(said[0].samples) / said[0].rate

        if paid is not None and isinstance(engine, Service):
            await paid(f"{engine.name}:{engine.model(voice.name)}", len(words), call)
        else:
            await call()
        made = await asyncio.to_thread(sound.pcm, said[0], engine.name)
        self._cache.put(key, made)
        return made

    def note(self, fault: Unspoken) -> None:
        self.last_fault = str(fault)
        _log.warning("a sentence was not said: %s", fault)

    async def close(self) -> None:
        for engine in self._engines.values():
            await engine.close()


class _Saying:
    """One text on its way: its language, told by its beginning, and the voices that have not failed at it."""

    def __init__(
        self, speech: Speech, manner: Manner, paid: Paid | None, heard_before: Sequence[str]
    ) -> None:
        self._speech = speech
        self._manner = manner
        self._paid = paid
        self._heard_before = list(reversed(heard_before))
        self._begun = ""
        self._narration: Narration | None = None
        self._language = manner.language[:2].lower()
        self._failed: set[Voice] = set()

    async def feed(self, piece: str) -> list[Sentence]:
        if self._narration is not None:
            return self._unheard(self._narration.feed(piece))
        self._begun += piece
        if sum(map(str.isalpha, self._begun)) < TELLING and not _SENTENCE.search(self._begun):
            return []
        self._language = await asyncio.to_thread(_language_of, self._begun, self._language)
        self._narration = Narration(self._language, self._manner.speakers)
        return self._unheard(self._narration.feed(self._begun))

    def end(self) -> list[Sentence]:
        begun: list[Sentence] = []
        if self._narration is None:
            self._narration = Narration(self._language, self._manner.speakers)
            begun = self._narration.feed(self._begun)
        return self._unheard(begun + self._narration.end())

    def _unheard(self, sentences: list[Sentence]) -> list[Sentence]:
        before = self._heard_before
        for n, sentence in enumerate(sentences):
            if not before or before.pop() != digest(sentence.words):
                before.clear()
                return sentences[n:]
        return []

    async def heard(self, sentence: Sentence) -> Heard:
        words = sentence.words
        language = await asyncio.to_thread(_language_of, words, self._language, foreign_only=True)
        faults: list[Unspoken] = []
        own = self._manner.speakers.get(sentence.speaker, ())
        for voice in dict.fromkeys((*own, *self._manner.voices)):
            said = _latin(words) if voice.engine in _LATIN else words
            if voice in self._failed or not said:
                continue
            try:
                made = await self._speech.sentence(said, voice, self._manner.speed, language, self._paid)
            except Unspoken as fault:
                if fault.why in _LASTING:
                    # The rest of this text by somebody else, rather than half a minute of waiting for each sentence.
                    self._failed.add(voice)
                if fault.why not in _NOTHING_WRONG:
                    self._speech.note(fault)
                    faults.append(fault)
            else:
                return Heard(words, made, voice, written=sentence.written)
        why = faults[0] if faults else Unspoken("language", detail=language)
        return Heard(words, b"", None, why, sentence.written)


async def _pieces(text: str | AsyncIterable[str]) -> AsyncGenerator[str, None]:
    if isinstance(text, str):
        yield text
    else:
        async for piece in text:
            yield piece


def _language_of(text: str, likely: str, *, foreign_only: bool = False) -> str:
    """What a text is in; `likely` where it has too few letters to tell, with `foreign_only` wherever they are Latin."""
    from bot.retrieval.language import detect

    letters = [one for one in text if one.isalpha()]
    latin = sum(map(_is_latin, letters))
    if latin * 2 < len(letters):
        scripts = [_SCRIPTS.get(unicodedata.name(one, "?").split()[0], "und") for one in letters]
        return "ja" if "ja" in scripts else scripts[0]  # which writes with Chinese signs, too
    if foreign_only or latin < TELLING // 2:
        return likely
    return detect(_latin(text))


_SCRIPTS: Final = {
    "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "DEVANAGARI": "hi", "ARMENIAN": "hy", "TAMIL": "ta",
                   "HIRAGANA": "ja", "KATAKANA": "ja", "CJK": "zh", "HANGUL": "ko", "HEBREW": "he", "THAI": "th",
}  # fmt: skip
"""A language that is written so."""


def _is_latin(letter: str) -> bool:
    return letter < "\u0250" or unicodedata.name(letter, "").startswith("LATIN")


def _latin(words: str) -> str:
    """Without the letters that an engine for Latin ones makes noise of; "" where nothing is left to say."""
    kept = "".join(one for one in words if not one.isalpha() or _is_latin(one))
    return re.sub(r"\s+", " ", kept).strip() if any(map(str.isalnum, kept)) else ""
