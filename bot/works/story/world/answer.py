"""The answer of a verb that shows or corrects the world."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.events import Choice
from bot.works.story.world.to_come import ToCome


@dataclass(frozen=True, slots=True)
class Answer:
    """A title, a text, and links, each as [the run whose message it leads to, its title]."""

    title: str = ""
    text: str = ""
    links: list[list[str]] = field(default_factory=list)
    turn: str = ""
    """The turn whose scene is no longer flagged."""
    coming: ToCome = field(default_factory=ToCome)
    choices: list[Choice] = field(default_factory=list)
    """Buttons for continuing, offered to those who may read what is to come."""
