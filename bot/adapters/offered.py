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
    """See `bot.events.Choice`. `over`: one of its group has been taken. `group` is the number of its first choice.

    `stage` is where it stands, "" of earlier releases.
    """

    label: str
    command: str
    asks: str = ""
    over: bool = False
    votes: bool = False
    group: int = 0
    stage: str = ""

    def kept(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def offered(kept: str) -> Offered:
    """What `Offered.kept` wrote. Raises ValueError or TypeError for anything else."""
    return Offered(**json.loads(kept))


def offers(group: Choices, first: int, stage: str) -> list[Offered]:
    """What the choices of the group are kept as, the first of which has this number."""
    over = group.taken is not None
    return [
        Offered(one.label, one.command, one.asks, over, group.votes, first, stage) for one in group.choices
    ]


def index(choices: Sequence[Choice], kept: Sequence[str], stage: str) -> int:
    """Where a stage's choices stand among what the run has offered: at its end, unless they are there already."""
    before = [(one.stage or stage, one.label, one.command, one.asks) for one in map(offered, kept)]
    new = [(stage, one.label, one.command, one.asks) for one in choices]
    for at in range(len(before) - len(new) + 1):
        if before[at : at + len(new)] == new:
            return at
    return len(before)
