"""Whose turn it is at a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.works.story.log import Story

if TYPE_CHECKING:
    from bot.works.story.config import StoryConfig


def mode_of(story: Story, settings: StoryConfig) -> str:
    return str(story.settings.get("mode") or settings.mode)


def whose(story: Story) -> tuple[str, str] | None:
    """Whose turn it is where people take turns in a fixed order: an author's id and name; None while only one plays."""
    acts = [act for turn in story.told if (act := turn.act).mode != "open" and act.author and not act.speaker]
    names = {act.author: act.name for act in acts}
    if len(names) < 2:
        return None
    order = list(names)
    following = order[(order.index(acts[-1].author) + 1 + passed(story)) % len(order)]
    return following, names[following]


def passed(story: Story) -> int:
    """How many turns were passed on since the last one that was taken."""
    kept = story.settings.get("passed") or {}
    return int(kept["count"]) if (last := last_taken(story)) and kept.get("after") == last else 0


def last_taken(story: Story) -> str:
    """The last turn that a player took, "" for none: a character who replies takes none."""
    return next((turn.id for turn in reversed(story.told) if not turn.act.speaker), "")
