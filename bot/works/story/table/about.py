"""What a story is about and how it is played, in words for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from bot.words import Words, name_in
from bot.works.story.sheet.sheet import template_of

if TYPE_CHECKING:
    from bot.works.story.log.story import Story
    from bot.works.story.world.presets import Preset

_CHOSEN: Final = ("view", "tense", "length", "rating", "mode")
"""The settings whose values are choices of the options of these names."""


def about_lines(
    story: Story, names: Iterable[str], say: Words, styles: Mapping[str, Preset] = {}
) -> list[str]:
    """A line for each of these settings that the story has; `styles` are those of prose."""
    return [
        f"**{say(f'story.about_{name}')}:** {in_words(name, str(value), story, say, styles)}"
        for name in names
        if (value := story.settings.get(name))
    ]


def in_words(name: str, value: str, story: Story, say: Words, styles: Mapping[str, Preset] = {}) -> str:
    """The value of a setting as people read it: a choice by its name in their language, other text as it is."""
    if name == "sheets":
        return template_of(story).title.get(say.locale) or value
    if name == "prose" and value in styles:
        return styles[value].typed_name(say.locale)
    return name_in(say, value, name) if name in _CHOSEN else value
