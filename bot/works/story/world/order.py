"""Who is at a table, who leads it, and for whose turn it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bot.works.story.log.story import Story

if TYPE_CHECKING:
    from bot.events import Author
    from bot.works.story.config import StoryConfig


def mode_of(story: Story, settings: StoryConfig) -> str:
    """Who may take a turn: one of MODES (`log.nodes`)."""
    return str(story.settings.get("mode") or settings.mode)


def all_players(story: Story) -> dict[str, str]:
    """The names by id of all who have taken a turn or joined, in the order of when they first did."""
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
    """The names by id of `all_players`, the story's author, and the authors of turns that do not count here."""
    acts = [turn.act for turn in story.turns.values()]
    return {act.author: act.name for act in acts if act.author and act.name} | all_players(story)


def members(story: Story) -> dict[str, str]:
    """Those of `all_players` who have not left, or have taken a turn since."""
    last = {turn.act.author: turn.first for turn in story.current_turns}
    return {
        id: name
        for id, name in all_players(story).items()
        if (member := story.party.get(id)) is None or member.at_table or last.get(id, 0) > member.changed
    }


def next_in_order(story: Story) -> tuple[str, str] | None:
    """The id and name of the person whose turn it is in a fixed order; None while only one person plays."""
    present, order = members(story), list(all_players(story))
    if len(present) < 2:
        return None
    acts = (turn.act for turn in story.current_turns)
    authors = [act.author for act in acts if act.mode != "open" and not act.speaker and act.author in order]
    after = order.index(authors[-1]) + 1 if authors else 0
    queue = [id for id in (*order[after:], *order[:after]) if id in present]
    person = queue[skipped_turns(story) % len(queue)]
    return person, present[person]


def awaited_person(story: Story, settings: StoryConfig) -> tuple[str, str] | None:
    """The id and name of the person whose deadline runs, both "" for a vote of the table; None for nobody.

    There is none once everybody has been skipped, or in a fight, where turns have no deadline.
    """
    if story.initiative is not None:
        return None
    match mode_of(story, settings):
        case "round-robin":
            return next_in_order(story) if skipped_turns(story) < len(members(story)) else None
        case "gm":
            master = game_master(story)
            waits = story.intents and master and not skipped_turns(story)
            return (master, names_of(story).get(master, "")) if waits else None
        case "vote":
            scene = story.head.scene if story.head is not None else None
            return ("", "") if scene is not None and scene.choices and not skipped_turns(story) else None
    return None


def game_master(story: Story) -> str:
    """The game master's id; "" for none, as in an imported story."""
    return str(story.settings.get("gm") or "")


def leader(story: Story) -> str:
    """The id of the game master; "" if there is none, or if they are not at the table."""
    master = game_master(story)
    return master if is_at_table(story, master) else ""


def is_at_table(story: Story, person: str) -> bool:
    """Whether the person has joined the table or taken a turn, and has not left since."""
    last = max((turn.first for turn in story.turns.values() if turn.act.author == person), default=0)
    member = story.party.get(person)
    return last > 0 if member is None else member.at_table or last > member.changed


def may_lead(story: Story, author: Author) -> bool:
    """Whether the person is the game master or an admin, or the table has no game master."""
    return author.admin or leader(story) in ("", author.id)


def skipped_turns(story: Story) -> int:
    """How many players were skipped since the last turn."""
    stored = story.settings.get("passed") or {}
    # An earlier release stored who was skipped instead of a count: at most one.
    return (
        int(stored.get("count", 1))
        if (last := last_player_turn(story)) and stored.get("after") == last
        else 0
    )


def skip_body(story: Story) -> dict[str, Any]:
    """The body of the node that skips the player for whom the story waits."""
    return {"passed": {"after": last_player_turn(story), "count": skipped_turns(story) + 1}}


def last_player_turn(story: Story) -> str:
    """The last turn that counts and is not a character's reply; "" for none."""
    return next((turn.id for turn in reversed(story.current_turns) if not turn.act.speaker), "")
