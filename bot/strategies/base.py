"""The protocol of a search strategy: an inquiry in; what happens meanwhile, and at last what was found, out.

Knows no model and no shelf.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from bot.events import Notice, Run, Status
from bot.prompts import PromptText
from bot.retrieval.found import Found

ROLE: Final = "extractor"
"""Who judges, expands and rewrites; a small model will do. The answerer where nobody else is named."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question put to one shelf of one space.

    `locale` is what people read meanwhile. `k` passages at most, None for the configured number.
    `prompts` are the wordings that the run has decided on, by name. `helper`: a model that can judge
    passages plays ROLE. `history` holds the (question, answer) pairs that a follow-up leans on, oldest first;
    `earlier` what people said in the thread before the first question, in place of them.
    `languages` are the shelf's, as ISO 639-1. `begun` is what the question (and its translations) found
    already, the weightiest first; empty when it has not been searched yet.
    """

    space: str
    shelf: str
    question: str
    locale: str
    language: str
    k: int | None = None
    max_hops: int = 3
    helper: bool = False
    languages: tuple[str, ...] = ()
    prompts: Mapping[str, PromptText] = field(default_factory=dict)
    history: tuple[tuple[str, str], ...] = ()
    earlier: str = ""
    begun: tuple[Found, ...] = ()


Told: TypeAlias = Status | Notice | Found


class Strategy(Protocol):
    """One way to search. `prompts` names what it tells a model; without any it needs none."""

    name: str
    prompts: tuple[str, ...]

    def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[Told, None]:
        """Yield what happens; last of all the Found. Every search and every model call is a step of the run.

        A model that fails costs what it would have found, and a notice; never the question.
        """
        ...
