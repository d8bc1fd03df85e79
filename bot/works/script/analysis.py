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
"""Characters of one text of the analysis, at most."""


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
class CharacterSheet:
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
    characters: list[CharacterSheet] = field(default_factory=list)
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
        card = self.cards.get(scene.content)
        return card.summary if card else ""

    def sheet(self, name: str) -> CharacterSheet | None:
        characters = self.whole.characters if self.whole else []
        return next((sheet for sheet in characters if sheet.name.upper() == name), None)

    @property
    def done(self) -> bool:
        return not self.missing and self.current


def key(scene: Scene) -> str:
    """By which a scene's card is kept."""
    return f"scene:{scene.content}"


def from_findings(script: Script, findings: Mapping[str, str]) -> Analysis:
    """The analysis that is kept of a script: bodies by their keys."""
    contents = dict.fromkeys(scene.content for scene in script.scenes)
    cards = {
        content: Card(**json.loads(findings[f"scene:{content}"]))
        for content in contents
        if f"scene:{content}" in findings
    }
    missing = tuple(content for content in contents if content not in cards)
    if WHOLE not in findings:
        return Analysis(cards, missing)
    stored = json.loads(findings[WHOLE])
    whole = Whole(
        [Act(**act) for act in stored["acts"]],
        [CharacterSheet(**sheet) for sheet in stored["characters"]],
        [Thread(**thread) for thread in stored["threads"]],
    )
    return Analysis(cards, missing, whole, stored["basis"] == basis(script))


def body(card: Card) -> str:
    """A card as it is kept."""
    return json.dumps({name: _short(text) for name, text in asdict(card).items()}, ensure_ascii=False)


def body_of_whole(whole: Whole, script: Script) -> str:
    """The whole as it is kept, without scenes that there are not."""
    last = len(script.scenes)
    values = {
        "basis": basis(script),
        "acts": [
            {**asdict(act), "title": _short(act.title), "summary": _short(act.summary)}
            for act in whole.acts
            if 1 <= act.first <= act.last <= last
        ],
        "characters": [
            {name: _short(text) for name, text in asdict(sheet).items()}
            for sheet in whole.characters
            if sheet.name.strip()
        ],
        "threads": [
            {
                "title": _short(thread.title),
                "summary": _short(thread.summary),
                "scenes": [number for number in dict.fromkeys(thread.scenes) if 1 <= number <= last],
            }
            for thread in whole.threads
        ],
    }
    return json.dumps(values, ensure_ascii=False)


def basis(script: Script) -> str:
    """What the whole was made of: a hash over all scenes in their order."""
    return hashlib.sha256("".join(scene.content for scene in script.scenes).encode()).hexdigest()


def _short(text: str) -> str:
    return " ".join(text.split())[:_CHARS]
