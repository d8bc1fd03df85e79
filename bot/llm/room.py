"""How many tokens a short task may take: the words that are wanted of it, and room to think before them.

Thinking counts into the limit, and most models think by themselves: a limit of the words alone starves them.
"""

from __future__ import annotations

from typing import Final

from bot.config.members import Effort

TOKENS_PER_WORD: Final = 2
"""English takes 1.3, Portuguese and German up to 1.8; the JSON around words some more."""

THOUGHTS: Final[dict[Effort | None, int]] = {"low": 2_000, "medium": 6_000, None: 6_000, "high": 16_000}
"""Tokens of thinking about a short task, by how hard a model is to think; None is a model's own way, which is medium
with those that think by default. Who does not think leaves them: they are reserved, and not paid."""


def tokens(words: int, effort: Effort | None) -> int:
    """The limit of a task of so many words. A model whose own limit is lower says so once, and is asked for no more:
    see `Manners`.
    """
    return words * TOKENS_PER_WORD + THOUGHTS[effort]


def more(asked: Effort | None, effort: Effort | None) -> int:
    """How many tokens a task for `asked` needs besides where the model is to think as `effort` says."""
    return max(0, THOUGHTS[effort or asked] - THOUGHTS[asked])
