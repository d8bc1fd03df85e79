"""A voice as people and config.toml write it, and how something is said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

SLOWEST, FASTEST = 0.5, 2.0

_VOICE: Final = re.compile(r"([a-z][a-z0-9_-]{0,39})(?::([\w.+/@-]{1,120}))?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Voice:
    """Written "ENGINE:NAME"; without a name it is the engine's first.

    An engine is "hibari", "espeak", "piper", or a provider of config.toml, whose voices are "PROVIDER:MODEL/VOICE".
    """

    engine: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.engine}:{self.name}" if self.name else self.engine


@dataclass(frozen=True, slots=True)
class Manner:
    """How something is said: by the first of the voices that reads its language; `language` is what it is likely in.

    `speakers` have voices of their own, for lines that begin with their names; these are in small letters.
    """

    voices: tuple[Voice, ...]
    speed: float = 1.0
    language: str = "en"
    speakers: Mapping[str, tuple[Voice, ...]] = field(default_factory=dict)


def parse(text: str) -> Voice:
    """Raises ValueError for what is no voice's name."""
    match = _VOICE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"not a voice: {text[:80]!r}")
    return Voice(match[1].lower(), match[2] or "")


def parse_list(text: str | Sequence[str]) -> tuple[Voice, ...]:
    """Several, parted by commas or blanks. Raises ValueError, also where there is none."""
    names = re.split(r"[,\s]+", text.strip()) if isinstance(text, str) else text
    voices = tuple(dict.fromkeys(map(parse, filter(None, names))))
    if not voices:
        raise ValueError("no voice")
    return voices
