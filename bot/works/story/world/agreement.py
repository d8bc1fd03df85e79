"""The table's agreement on safety: the settings that hold it, and its words in a prompt."""

from __future__ import annotations

from typing import Final

from bot import untrusted
from bot.works.story.log.story import Story

AGREED: Final = ("rating", "lines", "veils")
"""The settings that hold the agreement."""


def agreed(story: Story) -> str:
    """The table's safety agreement for a prompt; "" for none."""
    settings = story.settings
    return "\n".join(
        f"{name}: {untrusted.data(str(settings[name]))}" for name in AGREED if settings.get(name)
    )
