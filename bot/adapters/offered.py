"""A choice as it is kept behind its button, for presses that come after a restart. Knows no platform and no work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bot.events import Choice, Choices

KIND = "choice"
"""Of the storage's offers: a run's choices, numbered through all its stages."""


@dataclass(frozen=True, slots=True)
class Offered:
    """See `bot.events.Choice`. `over`: one of its group has been taken."""

    label: str
    command: str
    asks: str = ""
    over: bool = False

    def kept(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def offered(kept: str) -> Offered:
    """What `Offered.kept` wrote. Raises ValueError or TypeError for anything else."""
    return Offered(**json.loads(kept))


def offers(group: Choices) -> list[Offered]:
    """What the choices of the group are kept as."""
    over = group.taken is not None
    return [Offered(one.label, one.command, one.asks, over) for one in group.choices]


def index(choices: Sequence[Choice], kept: Sequence[str]) -> int:
    """Where these choices stand among what the run has offered: at its end, unless they are there already."""
    before = [(one.label, one.command, one.asks) for one in map(offered, kept)]
    new = [(one.label, one.command, one.asks) for one in choices]
    for at in range(len(before) - len(new) + 1):
        if before[at : at + len(new)] == new:
            return at
    return len(before)
