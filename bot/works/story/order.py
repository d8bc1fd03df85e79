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
    acts = [turn.act for turn in story.told if turn.act.mode != "open" and turn.act.author]
    names = {act.author: act.name for act in acts}
    if len(names) < 2:
        return None
    order = list(names)
    following = order[(order.index(acts[-1].author) + 1 + passed(story)) % len(order)]
    return following, names[following]


def passed(story: Story) -> int:
    """How many turns were passed on since the last one that was taken."""
    kept = story.settings.get("passed") or {}
    return int(kept["count"]) if story.head is not None and kept.get("after") == story.head.id else 0
