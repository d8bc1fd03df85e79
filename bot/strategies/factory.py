"""The strategies by their names in the config and after `--strategy`."""

from __future__ import annotations

from typing import Final

from bot.strategies.base import Strategy
from bot.strategies.helping import Asks, Helper
from bot.strategies.multi_hop import MultiHop
from bot.strategies.multi_question import MultiQuestion
from bot.strategies.rewrite import Rewriting
from bot.strategies.searching import Searchable, Searches
from bot.strategies.single import Single

SINGLE: Final = Single.name
NAMES: Final = (Single.name, MultiQuestion.name, MultiHop.name)


def strategy(name: str, library: Searchable, models: Asks) -> Strategy:
    """The strategy of that name, with follow-ups and foreign questions made ready first.

    Raises KeyError for another name than NAMES.
    """
    searches, helper = Searches(library), Helper(models)
    inner: dict[str, Strategy] = {
        Single.name: Single(searches),
        MultiQuestion.name: MultiQuestion(searches, helper),
        MultiHop.name: MultiHop(searches, helper),
    }
    return Rewriting(inner[name], searches, helper)
