"""Ways to search for what answers a question, by their names in the config and after `--strategy`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

from bot.events import Run
from bot.strategies.base import Asks, Helper, Inquiry, Searchable, Searches, Strategy, Told, fused
from bot.strategies.multi_hop import MultiHop
from bot.strategies.multi_question import MultiQuestion
from bot.strategies.rewrite import Rewriting


class Single:
    """The question is searched once, as it stands, without a model; findings in several languages are put together."""

    name = "single"
    prompts: tuple[str, ...] = ()

    def __init__(self, searches: Searches) -> None:
        self._searches = searches

    async def search(self, run: Run, inquiry: Inquiry) -> AsyncGenerator[Told, None]:
        yield fused(await self._searches.begun(run, inquiry), inquiry)


SINGLE: Final = Single.name
NAMES: Final = (Single.name, MultiQuestion.name, MultiHop.name)


def strategy(name: str, library: Searchable, models: Asks) -> Strategy:
    """The strategy of that name, with follow-ups and foreign questions made ready first.

    Raises KeyError for another name than NAMES.
    """
    searches, helper = Searches(library), Helper(models)
    helped: dict[str, type[MultiQuestion | MultiHop]] = {
        MultiQuestion.name: MultiQuestion,
        MultiHop.name: MultiHop,
    }
    inner = Single(searches) if name == Single.name else helped[name](searches, helper)
    return Rewriting(inner, searches, helper)
