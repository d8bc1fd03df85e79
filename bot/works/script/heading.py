"""A scene heading taken apart, and a cue's name told from what stands behind it. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from bot.readers.screenplay.elements import plain

_SETTING: Final = re.compile(
    r"(?P<both>INT\.?\s*/\s*EXT|EXT\.?\s*/\s*INT|I\.?/E|E\.?/I|ИНТ\.?\s*/\s*НАТ)(?:[.:。\s]+|$)"
    r"|(?P<inside>INT|ИНТ)(?:[.:。\s]+|$)|(?P<outside>EXT|EST|НАТ|ЭКСТ)(?:[.:。\s]+|$)",
    re.IGNORECASE,
)
_PARTS: Final = re.compile(r"\s+[-‐‑]\s+|\s*(?:--+|[–—−])\s*")
_LIGHT: Final = {
    "day": "DAY MORNING AFTERNOON NOON MIDDAY DIA MANHÃ TARDE MEIO-DIA JOUR MATIN DÍA MAÑANA TAG MORGEN GIORNO "
    "MATTINA ДЕНЬ УТРО",
    "night": "NIGHT EVENING MIDNIGHT NOITE MADRUGADA MEIA-NOITE NUIT SOIR NOCHE NACHT ABEND NOTTE SERA НОЧЬ ВЕЧЕР",
    "twilight": "DAWN DUSK SUNSET SUNRISE TWILIGHT AMANHECER ENTARDECER ANOITECER CREPÚSCULO AUBE "
    "AURORE ALVORADA ALBA TRAMONTO",
    "same": "CONTINUOUS LATER SAME MOMENTS CONTÍNUO CONTÍNUA CONTINUA CONTINUO DEPOIS MESMO MOMENTOS LOGO",
}
_LIGHTS: Final = {word: light for light, words in _LIGHT.items() for word in words.split()}
_WORD: Final = re.compile(r"[\w-]+")
_TIME_WORDS: Final = 4
"""Words of a heading's last part, at most, for it to be a time of day."""
_EXTENSION: Final = re.compile(r"\s*[(（]([^()（）]*)[)）]\s*$")


@dataclass(frozen=True, slots=True)
class Heading:
    """`setting` is "INT", "EXT", "INT/EXT" or ""; `place` and `time` are in capitals, "" where there is none.

    `light`: "day", "night", "twilight", "same" as in the scene before, or "".
    """

    text: str
    setting: str
    place: str
    time: str
    light: str


def heading(text: str) -> Heading:
    """ "Ext. Harbour Road – Later" is EXT, HARBOUR ROAD, LATER. The time is the last part that names one, with all
    behind it."""
    text = " ".join(plain(text).split())
    match = _SETTING.match(text)
    setting = ""
    if match:
        setting = "INT/EXT" if match["both"] else "INT" if match["inside"] else "EXT"
    parts = [part for part in _PARTS.split(text[match.end() if match else 0 :].strip(" -–—.")) if part]
    for at in range(len(parts) - 1, -1, -1):
        words = _WORD.findall(parts[at].upper())
        light = next((_LIGHTS[word] for word in words if word in _LIGHTS), "")
        if light and (at or len(parts) == 1) and len(words) <= _TIME_WORDS:
            return Heading(
                text, setting, " - ".join(parts[:at]).upper(), " - ".join(parts[at:]).upper(), light
            )
    return Heading(text, setting, " - ".join(parts).upper(), "", "")


def speaker(cue: str) -> tuple[str, tuple[str, ...]]:
    """A cue's name in capitals, and its extensions: "Anna (V.O.) (CONT'D)" is ANNA, with V.O. and CONT'D."""
    name = " ".join(plain(cue).replace("’", "'").split())
    extensions: list[str] = []
    while (match := _EXTENSION.search(name[-200:])) and len(name) > len(match[0]):
        extensions.insert(0, match[1].strip().upper())
        name = name[: len(name) - len(match[0])]
    return name.strip(" ^").upper(), tuple(extensions)
