"""What a small model has made of a script: a card for each scene, and acts, characters and plot threads of the whole.

Pure. Cards are kept by their scenes' contents, so that a new draft needs new ones only for what it changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Final

from bot.works.script.model import Scene, Script

WHOLE: Final = "whole"
_CHARS: Final = 600
"""Of one text that is kept."""


@dataclass(frozen=True, slots=True)
class Card:
    """A scene: what happens in a sentence, and what it does for the script."""

    summary: str = ""
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class Act:
    """Scenes `first` to `last`, by their numbers."""

    title: str = ""
    first: int = 1
    last: int = 1
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """A character: who they are, and how they change."""

    name: str = ""
    who: str = ""
    arc: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """A line of the plot, and the numbers of the scenes that carry it."""

    title: str = ""
    summary: str = ""
    scenes: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Whole:
    acts: list[Act] = field(default_factory=list)
    characters: list[Sheet] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What there is by now of one script. `whole` may be of an earlier draft, which `current` tells."""

    cards: dict[str, Card]
    missing: tuple[str, ...]
    whole: Whole | None = None
    current: bool = False

    def card(self, scene: Scene) -> str:
        """What happens in the scene, "" where nobody has looked into it."""
        found = self.cards.get(scene.content)
        return found.summary if found else ""

    def sheet(self, name: str) -> Sheet | None:
        characters = self.whole.characters if self.whole else []
        return next((one for one in characters if one.name.upper() == name), None)

    @property
    def done(self) -> bool:
        return not self.missing and self.current


def key(scene: Scene) -> str:
    """By which a scene's card is kept."""
    return f"scene:{scene.content}"


def kept(script: Script, found: Mapping[str, str]) -> Analysis:
    """The analysis that is kept of a script: bodies by their keys."""
    wanted = dict.fromkeys(scene.content for scene in script.scenes)
    cards = {one: Card(**json.loads(found[f"scene:{one}"])) for one in wanted if f"scene:{one}" in found}
    missing = tuple(one for one in wanted if one not in cards)
    if WHOLE not in found:
        return Analysis(cards, missing)
    said = json.loads(found[WHOLE])
    whole = Whole(
        [Act(**one) for one in said["acts"]],
        [Sheet(**one) for one in said["characters"]],
        [Thread(**one) for one in said["threads"]],
    )
    return Analysis(cards, missing, whole, said["basis"] == basis(script))


def body(card: Card) -> str:
    """A card as it is kept."""
    return json.dumps({name: _short(text) for name, text in asdict(card).items()}, ensure_ascii=False)


def body_of_whole(whole: Whole, script: Script) -> str:
    """The whole as it is kept, without scenes that there are not."""
    last = len(script.scenes)
    told = {
        "basis": basis(script),
        "acts": [
            {**asdict(one), "title": _short(one.title), "summary": _short(one.summary)}
            for one in whole.acts
            if 1 <= one.first <= one.last <= last
        ],
        "characters": [
            {name: _short(text) for name, text in asdict(one).items()}
            for one in whole.characters
            if one.name.strip()
        ],
        "threads": [
            {
                "title": _short(one.title),
                "summary": _short(one.summary),
                "scenes": [number for number in dict.fromkeys(one.scenes) if 1 <= number <= last],
            }
            for one in whole.threads
        ],
    }
    return json.dumps(told, ensure_ascii=False)


def basis(script: Script) -> str:
    """What the whole was made of: a hash over all scenes in their order."""
    return hashlib.sha256("".join(scene.content for scene in script.scenes).encode()).hexdigest()


def _short(text: str) -> str:
    return " ".join(text.split())[:_CHARS]
