"""The characters that a person plays, and as which of them the person speaks."""

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
    """The person's characters in the cast; the first is the one they speak as."""
    member, name = story.party.get(author.id), author.name.casefold()
    own = member.selves if member is not None else ()
    others = {character for id, other in story.party.items() if id != author.id for character in other.selves}
    mine = [
        character
        for character, sheet in story.cast.items()
        if character in own
        or (name and str(sheet.get("player") or "").casefold() == name and character not in others)
    ]
    return sorted(mine, key=lambda character: member is None or character != member.plays)


def own_character(story: Story, author: Author) -> str:
    """The character as which this person speaks; "" for none."""
    return next(iter(selves(story, author)), "")


def speaker_and_words(story: Story, author: Author, text: str, proxied: str = "") -> tuple[str, str]:
    """The character who speaks in a turn, and the words without its name.

    The person may choose another of their characters with `NAME:` before the words, or with the name `proxied` under
    which a proxy has posted them.
    """
    if (named := cast.find(story, proxied)) and named in selves(story, author):
        return named, text
    if match := _AS.fullmatch(text):
        named = cast.find(story, " ".join(match[1].strip("*_ ").split()))
        if named and named in selves(story, author):
            return named, match[2].lstrip("*_ ")
    return own_character(story, author), text
