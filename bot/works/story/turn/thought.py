"""Parses a model's brainstorm into ideas, and the characters, places and events in them. Pure."""

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
class Thought:
    """An idea. `elements` are (kind, name, text): a "character" or a "place" by name, or an "event", whose name is
    "".
    """

    ideas: list[str] = field(default_factory=list)
    elements: list[tuple[str, str, str]] = field(default_factory=list)


def read_thought(text: str, most: int) -> Thought:
    elements, rest = list[tuple[str, str, str]](), list[str]()
    for line in text.splitlines():
        match = _ELEMENT.fullmatch(line)
        kind = _KINDS.get(match[1].casefold(), "") if match else ""
        if match is None or not kind:
            rest.append(line)
            continue
        told = " ".join(match[2].replace("*", "").split())[: limits.VALUE_CHARS]
        name, _, about = (part.strip() for part in told.partition(":"))
        if kind == "event":
            elements.append((kind, "", told.replace(";", ",").replace("'", "’")))
        elif name and about and len(name) <= limits.NAME_CHARS:
            elements.append((kind, name.replace(",", ""), about))
    return Thought(read_choices("\n".join(rest), most), elements[:ELEMENTS])
