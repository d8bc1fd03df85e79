"""Parses a model's brainstorm: ideas, and the characters, places and events that they introduce."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from bot.works.story import limits
from bot.works.story.scene.choices import read_choices

ELEMENTS: Final = 5
_KINDS: Final = {
    **dict.fromkeys(("character", "personagem"), "character"),
    **dict.fromkeys(("place", "location", "lugar", "local"), "place"),
    **dict.fromkeys(("event", "evento", "acontecimento"), "event"),
}
_ELEMENT: Final = re.compile(r"[\s*_•–\-]*([^\W\d_]+)[*_]{0,2}\s*:[*_]{0,2}\s*(\S.*)")


@dataclass(frozen=True, slots=True)
class Brainstorm:
    """Ideas, and what they introduce: `elements` are (kind, name, text), where the kind is "character", "place" or
    "event", and an event's name is "".
    """

    ideas: list[str] = field(default_factory=list)
    elements: list[tuple[str, str, str]] = field(default_factory=list)


def read_brainstorm(text: str, most: int) -> Brainstorm:
    """The brainstorm in a model's answer, with at most `most` ideas."""
    elements, idea_lines = list[tuple[str, str, str]](), list[str]()
    for line in text.splitlines():
        match = _ELEMENT.fullmatch(line)
        kind = _KINDS.get(match[1].casefold(), "") if match else ""
        if match is None or not kind:
            idea_lines.append(line)
            continue
        text_of_element = " ".join(match[2].replace("*", "").split())[: limits.VALUE_CHARS]
        name, _, about = (part.strip() for part in text_of_element.partition(":"))
        if kind == "event":
            elements.append((kind, "", text_of_element.replace(";", ",").replace("'", "’")))
        elif name and about and len(name) <= limits.NAME_CHARS:
            elements.append((kind, name.replace(",", ""), about))
    return Brainstorm(read_choices("\n".join(idea_lines), most), elements[:ELEMENTS])
