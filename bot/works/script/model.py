"""A script as its scenes: headings, speakers, lengths, and the hash that identifies each. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from bot.budget import text_tokens
from bot.readers.screenplay.elements import UNPRINTED, Element, Screenplay, numbered, omitted, plain
from bot.works.script.length import measured

_SAME_KIND: Final = {"general": "action", "shot": "action", "centered": "action"}
"""The common kind for kinds that only some formats have."""
_COMPARED_KIND: Final = {**_SAME_KIND, "parenthetical": "dialogue", "lyric": "dialogue"}
"""The same for comparing contents: formats mark these kinds differently."""

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
"""The maximum number of words in a heading's last part that can be a time of day."""
_EXTENSION: Final = re.compile(r"\s*[(（]([^()（）]*)[)）]\s*$")


@dataclass(frozen=True, slots=True)
class Heading:
    """`setting` is "INT", "EXT", "INT/EXT" or ""; `place` and `time` are in capitals, "" for none.

    `light`: "day", "night", "twilight", "same" as in the scene before, or "".
    """

    text: str
    setting: str
    place: str
    time: str
    light: str


def heading(text: str) -> Heading:
    """Parse a heading: "Ext. Harbour Road – Later" is EXT, HARBOUR ROAD, LATER.

    The time begins at the last part that contains a word for one.
    """
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


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene. `number` is its position, from 1; `label` the script's own number ("12A"), which two scenes may share.

    `eighths` of a page come from the file, or are `counted`. `characters` are the speakers, in the order of their first
    words. `dual` counts dual dialogues. `content` is a hash of everything printed, except for spacing, emphasis and the
    label.
    """

    number: int
    label: str
    heading: Heading
    light: str
    elements: tuple[Element, ...]
    eighths: int
    counted: bool
    characters: tuple[str, ...]
    dialogue_words: int
    action_words: int
    words: int
    tokens: int
    dual: int
    content: str

    @property
    def text(self) -> str:
        """The printed words, without emphasis; one line for each paragraph."""
        return "\n".join(plain(element.text) for element in _printed(self.elements))


@dataclass(frozen=True, slots=True)
class Script:
    """A script. `opening` comes before the first heading, and belongs to no scene."""

    title: str
    opening: tuple[Element, ...]
    scenes: tuple[Scene, ...]
    guessed: bool = False
    title_page: tuple[tuple[str, str], ...] = ()

    @property
    def characters(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for scene in self.scenes for name in scene.characters))

    @property
    def words(self) -> int:
        """The number of words in all scenes and the opening."""
        return _words(self.opening) + sum(scene.words for scene in self.scenes)


def script(screenplay: Screenplay, title: str = "") -> Script:
    """The script made from a screenplay's elements; `title` is used if the screenplay has none."""
    elements = screenplay.elements
    headings = [at for at, element in enumerate(elements) if element.kind == "heading"]
    labels = dict(zip(headings, numbered(elements), strict=True))
    starts = [at for at in headings if not omitted(elements[at])]
    scenes: list[Scene] = []
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(elements)], strict=False), 1):
        before = scenes[-1].light if scenes else ""
        scenes.append(_scene(number, labels[start], elements[start:end], before))
    opening = elements[: starts[0]] if starts else elements
    return Script(
        screenplay.title or title, opening, tuple(scenes), screenplay.guessed, screenplay.title_page
    )


def first_pages(scenes: Iterable[Scene]) -> list[int]:
    """The page, from 1, on which each scene begins."""
    return [before // 8 + 1 for before in accumulate((scene.eighths for scene in scenes), initial=0)][:-1]


def _scene(number: int, label: str, elements: tuple[Element, ...], light: str) -> Scene:
    first = elements[0]
    scene_heading = heading(first.text)
    names = dict.fromkeys(speaker(element.text)[0] for element in elements if element.kind == "cue")
    printed = _printed(elements)
    return Scene(
        number=number,
        label=label,
        heading=scene_heading,
        light=light if scene_heading.light == "same" else scene_heading.light,
        elements=elements,
        eighths=measured(printed) if first.eighths is None else first.eighths,
        counted=first.eighths is None,
        characters=tuple(name for name in names if name),
        dialogue_words=_words([element for element in elements if element.kind in ("dialogue", "lyric")]),
        action_words=_words(
            [element for element in elements if _SAME_KIND.get(element.kind, element.kind) == "action"]
        ),
        words=_words(printed),
        tokens=text_tokens("\n".join(element.text for element in printed)),
        dual=sum(element.kind == "cue" and element.dual == 1 for element in elements),
        content=_content_hash(printed),
    )


def _printed(elements: Iterable[Element]) -> list[Element]:
    """The elements that are printed as part of a scene, without the placeholders of omitted scenes."""
    return [element for element in elements if element.kind not in UNPRINTED and not omitted(element)]


def _words(elements: Iterable[Element]) -> int:
    return sum(len(plain(element.text).split()) for element in _printed(elements))


def _content_hash(printed: Sequence[Element]) -> str:
    """SHA-256 of the words, in hexadecimal; consecutive paragraphs of a kind count as one, as formats differ there."""
    digest = hashlib.sha256()
    last = ""
    for element in printed:
        words = " ".join(plain(element.text).split())
        if not words:
            continue
        if element.kind in ("heading", "cue", "transition", "shot"):  # some programs keep them as typed
            words = words.upper()
        kind = _COMPARED_KIND.get(element.kind, element.kind)
        prefix = f"{kind}\x1f" if kind != last else ""
        digest.update(f"{prefix}{words} ".encode("utf-8", "surrogatepass"))
        last = kind
    return digest.hexdigest()
