"""Ways to search for what answers a question, by their names in the config and after `--strategy`."""

from __future__ import annotations

from typing import Final

from bot.strategies.helped import MultiHop, MultiQuestion

SINGLE: Final = "single"
"""Nothing more is searched, and no model is asked; findings in several languages are put together."""

HELPED: Final[dict[str, type[MultiQuestion | MultiHop]]] = {
    MultiQuestion.name: MultiQuestion,
    MultiHop.name: MultiHop,
}
NAMES: Final = (SINGLE, *HELPED)
