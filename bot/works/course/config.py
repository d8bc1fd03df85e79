"""What config.toml's [course] says: where courses are taken from, how they are cut, and how questions are asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from bot.config.settings import choice, within

OVERLAP: Final = 100
"""Characters that two windows of one lesson have in common, as seed 003 has it; their size is [retrieval]'s."""
MOST_MEMORY: Final = 20


@dataclass(frozen=True, slots=True)
class CourseConfig:
    """`folder` is kept in step with the courses of the space `space`.

    Passages are cut at headings and paragraphs, as books are, or as `windows` of sentences that overlap, as seed 003
    has them. `rounds` of tools are asked for before the answer, and `memory` exchanges of a thread are remembered.
    """

    folder: Path | None = None
    space: str = "local"
    chunks: Literal["headings", "windows"] = choice("headings", "windows")
    rounds: int = within(2, 1, 10)
    memory: int = within(2, 0, MOST_MEMORY)
