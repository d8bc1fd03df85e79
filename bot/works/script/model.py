"""A script as its scenes: who speaks in each, how long it is, and what tells it from another. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bot.budget import text_tokens
from bot.readers.screenplay.elements import UNPRINTED, Element, Screenplay, numbered, plain
from bot.works.script.heading import Heading, heading, speaker
from bot.works.script.length import measured

_SAME_KIND: Final = {"general": "action", "shot": "action", "centered": "action"}
"""The common kind of those that only some formats have."""
_COMPARED_KIND: Final = {**_SAME_KIND, "parenthetical": "dialogue", "lyric": "dialogue"}
"""The same for comparing contents: formats mark these kinds differently."""


@dataclass(frozen=True, slots=True)
class Scene:
    """`number` is its place, from 1; `label` what the script calls it ("12A"), which two scenes may bear.

    `eighths` of a page are the file's, or `counted`. `characters` speak, in the order of their first words. `dual`
    counts dual dialogues. `content` is a hash of all that is printed, but for spacing, emphasis and the label.
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
        """What is printed, without emphasis; a paragraph a line."""
        return "\n".join(plain(element.text) for element in self.elements if element.kind not in UNPRINTED)


@dataclass(frozen=True, slots=True)
class Script:
    """`opening` stands before the first heading, and is of no scene."""

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
        """Of all scenes and the opening."""
        return _words(self.opening) + sum(scene.words for scene in self.scenes)


def script(screenplay: Screenplay, title: str = "") -> Script:
    """The script that a screenplay's elements make; `title` where it bears none."""
    elements = screenplay.elements
    starts = [at for at, element in enumerate(elements) if element.kind == "heading"]
    labels = numbered(elements)
    scenes: list[Scene] = []
    for number, (start, end, label) in enumerate(
        zip(starts, [*starts[1:], len(elements)], labels, strict=False), 1
    ):
        before = scenes[-1].light if scenes else ""
        scenes.append(_scene(number, label, elements[start:end], before))
    opening = elements[: starts[0]] if starts else elements
    return Script(
        screenplay.title or title, opening, tuple(scenes), screenplay.guessed, screenplay.title_page
    )


def _scene(number: int, label: str, elements: tuple[Element, ...], light: str) -> Scene:
    first = elements[0]
    named = heading(first.text)
    names = dict.fromkeys(speaker(element.text)[0] for element in elements if element.kind == "cue")
    printed = [element for element in elements if element.kind not in UNPRINTED]
    return Scene(
        number=number,
        label=label,
        heading=named,
        light=light if named.light == "same" else named.light,
        elements=elements,
        eighths=measured(elements) if first.eighths is None else first.eighths,
        counted=first.eighths is None,
        characters=tuple(name for name in names if name),
        dialogue_words=_words([element for element in elements if element.kind in ("dialogue", "lyric")]),
        action_words=_words(
            [element for element in elements if _SAME_KIND.get(element.kind, element.kind) == "action"]
        ),
        words=_words(printed),
        tokens=text_tokens("\n".join(element.text for element in printed)),
        dual=sum(element.kind == "cue" and element.dual == 1 for element in elements),
        content=_content(printed),
    )


def _words(elements: Sequence[Element]) -> int:
    return sum(len(plain(element.text).split()) for element in elements if element.kind not in UNPRINTED)


def _content(printed: Sequence[Element]) -> str:
    """SHA-256, in hexadecimal. Paragraphs of a kind that follow each other are one: formats part them differently."""
    digest = hashlib.sha256()
    last = ""
    for element in printed:
        words = " ".join(plain(element.text).split())
        if not words:
            continue
        kind = _COMPARED_KIND.get(element.kind, element.kind)
        prefix = f"{kind}\x1f" if kind != last else ""
        digest.update(f"{prefix}{words} ".encode("utf-8", "surrogatepass"))
        last = kind
    return digest.hexdigest()
