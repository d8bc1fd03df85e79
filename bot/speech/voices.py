"""Voices as people and config.toml write them, and the choice of voices and speed.

Settings of people, threads, channels and spaces override the config. Among them, a setting for a character of a
thread's story comes first, then one for a kind of work, then one for everything.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bot.settings import AS, SPEED, VOICE

if TYPE_CHECKING:
    from bot.config import SpeechConfig
    from bot.events import Request, Speak
    from bot.settings import Settings

SLOWEST, FASTEST = 0.5, 2.0

_VOICE: Final = re.compile(r"([a-z][a-z0-9_-]{0,39})(?::([\w.+/@-]{1,120}))?", re.ASCII | re.IGNORECASE)

SPEAKER_CHARS: Final = 80

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Voice:
    """A voice, written "ENGINE:NAME"; without a name it is the engine's first.

    An engine is "hibari", "espeak", "piper", or a provider of config.toml, whose voices are "PROVIDER:MODEL/VOICE".
    """

    engine: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.engine}:{self.name}" if self.name else self.engine


@dataclass(frozen=True, slots=True)
class Manner:
    """The way of speaking: the first of the voices that reads the text's language is used; `language` is the likely
    one.

    `speakers` have their own voices for lines that begin with their names, which are in lower case.
    """

    voices: tuple[Voice, ...]
    speed: float = 1.0
    language: str = "en"
    speakers: Mapping[str, tuple[Voice, ...]] = field(default_factory=dict)


def parse(text: str) -> Voice:
    """The voice with this name. Raises ValueError for an invalid name."""
    match = _VOICE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a voice: {text[:80]!r}")
    return Voice(match[1].lower(), match[2] or "")


def parse_list(text: str | Sequence[str]) -> tuple[Voice, ...]:
    """The voices in a list separated by commas or blanks. Raises ValueError, also for an empty list."""
    names = re.split(r"[,\s]+", text.strip()) if isinstance(text, str) else text
    voices = tuple(dict.fromkeys(map(parse, filter(None, names))))
    if not voices:
        raise ValueError("no voice")
    return voices


def as_name(speaker: str) -> str:
    """The name of the setting for a speaker's voice."""
    return AS + " ".join(speaker.casefold().split())[:SPEAKER_CHARS]


async def manner_of(
    settings: Settings, config: SpeechConfig, request: Request, work: str, words_aloud: Speak | None = None
) -> Manner:
    """How `words_aloud` is spoken in the request's place; without it, how text without a particular
    speaker is spoken.
    """
    speaker = words_aloud.speaker if words_aloud is not None else ""
    voices: tuple[Voice, ...] = ()
    for name in (*((as_name(speaker),) if speaker else ()), f"{VOICE}.{work}", VOICE):
        for row in await settings.nearest(request.place, request.author.id, name):
            voices += _voices(row.value)
    speed = None
    for name in (f"{SPEED}.{work}", SPEED):
        for row in await settings.nearest(request.place, request.author.id, name):
            speed = speed or _speed(row.value)
    language = (words_aloud.language if words_aloud is not None else "") or request.locale
    # A person who has chosen a voice of one language still hears texts in another.
    all_voices = tuple(dict.fromkeys((*voices, *parse_list(config.voices))))
    speakers = {
        name: voices_of_speaker
        for name, row in (await settings.nearest_under(request.place, request.author.id, AS)).items()
        if (voices_of_speaker := _voices(row.value))
    }
    return Manner(all_voices, speed or config.speed, language[:2].lower(), speakers)


def _voices(value: str) -> tuple[Voice, ...]:
    try:
        return parse_list(value)
    except ValueError:
        _log.info("a voice that was set is none any more: %.80r", value)
        return ()


def _speed(value: str) -> float | None:
    try:
        speed = float(value)
    except ValueError:
        return None
    return speed if SLOWEST <= speed <= FASTEST else None
