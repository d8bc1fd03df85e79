"""By which voices and how fast something is said: what people, threads, channels and spaces have set over the config.

What is set for a character of a thread's story comes first, then for a kind of work, then for all.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from bot.settings import AS, SPEED, VOICE
from bot.speech.voices import FASTEST, SLOWEST, Manner, Voice, parse_list

if TYPE_CHECKING:
    from bot.config import SpeechConfig
    from bot.events import Request, Speak
    from bot.settings import Settings

SPEAKER_CHARS: Final = 80

_log = logging.getLogger(__name__)


def as_name(speaker: str) -> str:
    """The setting's name of a speaker's voice."""
    return AS + " ".join(speaker.casefold().split())[:SPEAKER_CHARS]


async def manner_of(
    settings: Settings, config: SpeechConfig, request: Request, work: str, words_aloud: Speak | None = None
) -> Manner:
    """How `words_aloud` is said where the request comes from; without it, what is said by nobody in particular."""
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
    # Whoever has chosen a voice of one language is still read what is in another.
    all_voices = tuple(dict.fromkeys((*voices, *parse_list(config.voices))))
    speakers = {
        name: own
        for name, row in (await settings.nearest_under(request.place, request.author.id, AS)).items()
        if (own := _voices(row.value))
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
