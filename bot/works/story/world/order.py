"""Decides who is at a table, and whose turn it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.works.story.log.story import Story

if TYPE_CHECKING:
    from bot.events import Author
    from bot.works.story.config import StoryConfig


def mode_of(story: Story, settings: StoryConfig) -> str:
    return str(story.settings.get("mode") or settings.mode)


def everybody(story: Story) -> dict[str, str]:
    """All people who have taken a turn or joined, in that order: names by id."""
    acts = [
        (turn.first, act.author, act.name)
        for turn in story.current_turns
        if (act := turn.act).mode != "open" and act.author and not act.speaker
    ]
    arrivals = sorted([*acts, *((member.seq, id, member.name) for id, member in story.party.items())])
    names: dict[str, str] = {}
    for _, id, name in arrivals:
        names.setdefault(id, name)
    return names


def names_of(story: Story) -> dict[str, str]:
    """The names by id of all who are or were at the table, including the story's author, and people whose turns were
    undone or came after the scene from which this branch was forked.
    """
    acts = [turn.act for turn in story.turns.values()]
    return {act.author: act.name for act in acts if act.author and act.name} | everybody(story)


def members(story: Story) -> dict[str, str]:
    """The people of `everybody` who have not left, or have taken a turn since."""
    last = {turn.act.author: turn.first for turn in story.current_turns}
    return {
        id: name
        for id, name in everybody(story).items()
        if (member := story.party.get(id)) is None or member.at_table or last.get(id, 0) > member.changed
    }


def whose(story: Story) -> tuple[str, str] | None:
    """The author's id and name whose turn it is in a fixed order of turns; None while only one person plays."""
    present, order = members(story), list(everybody(story))
    if len(present) < 2:
        return None
    acts = (turn.act for turn in story.current_turns)
    acted = [act.author for act in acts if act.mode != "open" and not act.speaker and act.author in order]
    after = order.index(acted[-1]) + 1 if acted else 0
    waiting = [id for id in (*order[after:], *order[:after]) if id in present]
    following = waiting[passed(story) % len(waiting)]
    return following, present[following]


def waited_for(story: Story, settings: StoryConfig) -> tuple[str, str] | None:
    """The id and name of the person the story is waiting for, both "" for the table and its votes; None for nobody.

    Once everybody has been skipped, the story waits for nobody and rests until somebody plays. In a fight nobody is
    skipped after a time.
    """
    if story.initiative is not None:
        return None
    match mode_of(story, settings):
        case "round-robin":
            return whose(story) if passed(story) < len(members(story)) else None
        case "gm":
            master = game_master(story)
            waits = story.intents and master and not passed(story)
            return (master, names_of(story).get(master, "")) if waits else None
        case "vote":
            scene = story.head.scene if story.head is not None else None
            return ("", "") if scene is not None and scene.choices and not passed(story) else None
    return None


def game_master(story: Story) -> str:
    """The game master's id; "" for none, as in an imported story."""
    return str(story.settings.get("gm") or "")


def leader(story: Story) -> str:
    """The id of the game master; "" if there is none, or if they never joined the table or have left it."""
    master = game_master(story)
    return master if has_come(story, master) else ""


def has_come(story: Story, person: str) -> bool:
    """Whether the person has joined the table or taken a turn, and has not left since."""
    last = max((turn.first for turn in story.turns.values() if turn.act.author == person), default=0)
    member = story.party.get(person)
    return last > 0 if member is None else member.at_table or last > member.changed


def masters(story: Story, author: Author) -> bool:
    """Whether the person may act as game master: as the game master, as an admin, or because the table has none."""
    return author.admin or leader(story) in ("", author.id)


def passed(story: Story) -> int:
    """How many turns were skipped since the last one that was taken."""
    stored = story.settings.get("passed") or {}
    # An earlier release stored who was skipped: one turn at most.
    return int(stored.get("count", 1)) if (last := last_taken(story)) and stored.get("after") == last else 0


def last_taken(story: Story) -> str:
    """The last turn that a player took, "" for none; a character's reply is not a player's turn."""
    return next((turn.id for turn in reversed(story.current_turns) if not turn.act.speaker), "")
