"""The characters that a person plays: which ones, and as which of them the person speaks. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bot.works.story import limits
from bot.works.story.world import cast

if TYPE_CHECKING:
    from bot.events import Author
    from bot.works.story.log.story import Story

_AS = re.compile(rf"\s*([^:\n]{{1,{limits.NAME_CHARS}}}):\s*(\S.*)", re.DOTALL)


def selves(story: Story, author: Author) -> list[str]:
    """The characters of the cast that belong to this person, the one they speak as first."""
    member, name = story.party.get(author.id), author.name.casefold()
    bound = member.selves if member is not None else ()
    others = {character for id, other in story.party.items() if id != author.id for character in other.selves}
    mine = [
        character
        for character, sheet in story.cast.items()
        if character in bound
        or (name and str(sheet.get("player") or "").casefold() == name and character not in others)
    ]
    return sorted(mine, key=lambda character: member is None or character != member.plays)


def plays(story: Story, author: Author) -> str:
    """The character as which this person speaks, "" for none."""
    return next(iter(selves(story, author)), "")


def spoken_as(story: Story, author: Author, text: str, proxied: str = "") -> tuple[str, str]:
    """The character who speaks in a turn, and the words. `NAME:` before the words names another of the person's own
    characters, and so does the name under which a proxy has posted them.
    """
    if (named := cast.called(story, proxied)) and named in selves(story, author):
        return named, text
    if match := _AS.fullmatch(text):
        named = cast.called(story, " ".join(match[1].strip("*_ ").split()))
        if named and named in selves(story, author):
            return named, match[2].lstrip("*_ ")
    return plays(story, author), text
