"""A choice as it is kept behind its button, for presses that come after a restart. Knows no platform and no work."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

KIND = "choice"
"""Of the storage's offers: a run's choices, numbered through all its stages."""


@dataclass(frozen=True, slots=True)
class Offered:
    """See `bot.events.Choice`."""

    label: str
    command: str
    asks: str = ""

    def kept(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def offered(kept: str) -> Offered:
    """What `Offered.kept` wrote. Raises ValueError or TypeError for anything else."""
    return Offered(**json.loads(kept))
