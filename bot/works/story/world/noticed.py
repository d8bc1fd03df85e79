"""People who keep coming up in scenes without being in the cast: whom to offer for it, and a first sheet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bot.works.story.log.story import Story
from bot.works.story.log.turn import Turn
from bot.works.story.world import state
from bot.works.story.world.state import FIELDS, Character

SCENES: Final = 3
"""In how many scenes somebody was before they are offered for the cast."""
AT_ONCE: Final = 2
"""The most of one scene; the others wait for the next one."""
MEMORIES: Final = 3
"""The last memories of a character that its first sheet tells."""
_NOBODY: Final = frozenset(
    ("player", "the player", "narrator", "you", "jogador", "o jogador", "narrador", "você")
)


def noticed(
    story: Story,
    before: Sequence[Turn],
    characters: Mapping[str, Character],
    seen: Iterable[Mapping[str, Any]],
) -> list[str]:
    """Who of those `seen` in a scene is to be offered for the cast; `before` are the turns before it, `characters` how
    they stood then.

    Each is offered once. Nobody who is or was in the cast, no player, no dead.
    """
    here = {row["name"].casefold(): row["name"] for row in seen if row["present"] and not row["dead"]}
    often = {
        key: name for key, name in here.items() if key in characters and characters[key].scenes >= SCENES - 1
    }
    if not often:
        return []
    known = _NOBODY | {sheet.name.casefold() for sheet in story.sheets}
    known |= {name.casefold() for member in story.party.values() for name in (member.name, member.plays)}
    for turn in before:
        known = known | {turn.act.name.casefold(), turn.act.character.casefold()}
        if (extracted := turn.extracted) is not None:
            known = known | {name.casefold() for name in extracted.noticed}
    return [name for key, name in often.items() if key not in known][:AT_ONCE]


def first_sheet(story: Story, name: str) -> dict[str, str]:
    """What the scenes have told of a character, as a sheet."""
    character = state.characters(story).get(name.casefold(), Character(name))
    facts = [f"{part}: {character.fields[part]}" for part in FIELDS[1:] if character.fields.get(part)]
    facts += [f"{other}: {value}" for other, value in character.relations.items() if value]
    memories = [memory.text for _, memory in state.memories(story, name)[-MEMORIES:]]
    about = " ".join([*memories, "; ".join(facts)]).strip()
    return {"about": about} if about else {}
