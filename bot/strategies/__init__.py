"""The search strategies, by their names in the config and after `--strategy`."""

from __future__ import annotations

from typing import Final

from bot.strategies.helped import MultiHop, MultiQuestion

SINGLE: Final = "single"
"""A single search, without a model; results in several languages are merged."""

HELPED: Final[dict[str, type[MultiQuestion | MultiHop]]] = {
    MultiQuestion.name: MultiQuestion,
    MultiHop.name: MultiHop,
}
NAMES: Final = (SINGLE, *HELPED)
PROMPTS: Final = {
    SINGLE: ("rewrite",),
    **{name: ("rewrite", *strategy.prompts) for name, strategy in HELPED.items()},
}
"""The names of the prompts for each strategy, with that of `Rewriting`."""
