"""Offers people for the cast who recur in scenes without being in it, and writes their first sheets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from bot.works.story.log.story import Story
from bot.works.story.log.turn import Turn
from bot.works.story.world import state
from bot.works.story.world.state import FIELDS, Character

SCENES: Final = 3
"""The number of scenes after which somebody is offered for the cast."""
AT_ONCE: Final = 2
"""The maximum number offered after one scene; the others wait for the next one."""
MEMORIES: Final = 3
"""How many of a character's last memories its first sheet includes."""
_NOBODY: Final = frozenset(
    ("player", "the player", "narrator", "you", "jogador", "o jogador", "narrador", "você")
)


def offered_people(
    story: Story,
    before: Sequence[Turn],
    characters: Mapping[str, Character],
    seen: Iterable[Mapping[str, Any]],
) -> list[str]:
    """The names of those whom a scene offers for the cast: people who were present in SCENES scenes by now.

    `before` are the turns before the scene, `characters` those after these turns, and `seen` the rows of the
    extraction's "state". Each person is offered once; players, the dead, and who is or was in the cast never are.
    """
    present = {row["name"].casefold(): row["name"] for row in seen if row["present"] and not row["dead"]}
    recurring = {
        key: name
        for key, name in present.items()
        if key in characters and characters[key].scenes >= SCENES - 1
    }
    if not recurring:
        return []
    known = _NOBODY | {sheet.name.casefold() for sheet in story.sheets}
    known |= {name.casefold() for member in story.party.values() for name in (member.name, member.plays)}
    for turn in before:
        known |= {turn.act.name.casefold(), turn.act.character.casefold()}
        if (extracted := turn.extracted) is not None:
            known |= {name.casefold() for name in extracted.noticed}
    return [name for key, name in recurring.items() if key not in known][:AT_ONCE]


def first_sheet(story: Story, name: str) -> dict[str, str]:
    """A sheet with what the extractor found about a character."""
    character = state.characters(story).get(name.casefold(), Character(name))
    facts = [f"{part}: {character.fields[part]}" for part in FIELDS[1:] if character.fields.get(part)]
    facts += [f"{other}: {value}" for other, value in character.relations.items() if value]
    memories = [memory.text for _, memory in state.memories(story, name)[-MEMORIES:]]
    about = " ".join([*memories, "; ".join(facts)]).strip()
    return {"about": about} if about else {}
