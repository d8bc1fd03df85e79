"""The settings of [council] in config.toml: how a council works by default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bot.config.settings import Offered, choice, in_range


@dataclass(frozen=True, slots=True)
class CouncilConfig:
    """How a council works by default; its members are `RolesConfig.council`.

    `mini` is how many of them answer at the level of that name. `timeout` (seconds) and `tokens` limit one call of a
    member without limits of its own. With `blind_chair` the chair does not learn who wrote what. `criteria` are the
    judges' criteria, "" for the usual ones. `history` is how many earlier councils of the thread a follow-up sees.
    `research_words` and `attack_words` are the maximum lengths of a research finding and of the devil's advocate's
    attack; room to think is added to them. `models` are those that spaces may choose in chat, () for any of a known
    provider.
    """

    level: Literal["single", "mini", "full"] = choice("full", "mini", "single")
    mini: int = in_range(3, 2, 8)
    self_votes: Literal["auto", "count", "exclude"] = choice("count", "auto", "exclude")
    timeout: float = in_range(180.0, 1.0, 3_600.0)
    tokens: int = in_range(4_000, 100, 100_000)
    blind_chair: bool = True
    criteria: str = ""
    history: int = in_range(2, 0, 10)
    research_words: int = in_range(250, 50, 5_000)
    attack_words: int = in_range(150, 20, 2_000)
    models: Offered = ()
