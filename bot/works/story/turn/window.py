"""Shows how full the window of the writer's model is, and with what: a bar for each part of the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bot.works.story.turn.context import Parts

if TYPE_CHECKING:
    from bot.words import Words

BAR: Final = 20
"""The width of a full bar, in characters."""


def shown(parts: Parts, window: int, say: Words) -> str:
    """The parts that take tokens, each with its share of the window; then the free rest."""
    tokens = {name: count for name, count in parts.tokens().items() if count}
    tokens["free"] = max(0, window - sum(tokens.values()))
    return "\n".join(
        f"`{_bar(count, window)}` {say(f'story.window_{name}', n=count, percent=round(100 * count / window))}"
        for name, count in tokens.items()
    )


def _bar(count: int, window: int) -> str:
    full = min(BAR, -(-BAR * count // window))
    return "█" * full + "░" * (BAR - full)
