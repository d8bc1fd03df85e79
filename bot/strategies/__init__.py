"""Ways to search for what answers a question, by their names in the config and after `--strategy`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from bot.events import Run
from bot.strategies.base import Asks, Inquiry, Searchable, SearchEvent, Strategy, fused
from bot.strategies.multi_hop import MultiHop
from bot.strategies.multi_question import MultiQuestion
from bot.strategies.rewrite import Rewriting


class Single:
    """Nothing more is searched, and no model is asked; findings in several languages are put together."""

    name = "single"
    prompts: tuple[str, ...] = ()

    async def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[SearchEvent, None]:
        yield fused(inquiry.begun, inquiry)


SINGLE: Final = Single.name
NAMES: Final = (Single.name, MultiQuestion.name, MultiHop.name)


def strategy(name: str, library: Searchable, models: Asks) -> Strategy:
    """The strategy of that name, with follow-ups and foreign questions made ready first.

    Raises KeyError for another name than NAMES.
    """
    helped: dict[str, type[MultiQuestion | MultiHop]] = {
        MultiQuestion.name: MultiQuestion,
        MultiHop.name: MultiHop,
    }
    inner = Single() if name == Single.name else helped[name](library, models)
    return Rewriting(inner, library, models)
