"""A choice as it is kept behind its button, for presses that come after a restart; and the votes that buttons show.

However many press at once, a message is edited by its channel's writer: one edit at a time, at its pace, and the last
one shows the last count, for each reads the votes only when it is made. Knows no platform and no work.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bot.adapters.buttons_row import counted, custom_id
from bot.adapters.markdown import Size
from bot.adapters.surface import SurfaceFault, Unavailable
from bot.adapters.writer import Writers
from bot.events import Choice, Choices

if TYPE_CHECKING:
    from storage.offers import Offers
    from storage.votes import Votes

KIND = "choice"
"""Of the storage's offers: a run's choices, numbered through all its stages."""
MOST = 1_000
"""Messages with votes that are known at a time; what an older one shows is put right by the next press."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KeptChoice:
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
    form: bool = False

    def kept(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def kept_choice(kept: str) -> KeptChoice:
    """What `KeptChoice.kept` wrote. Raises ValueError or TypeError for anything else."""
    return KeptChoice(**json.loads(kept))


def kept_choices(group: Choices, first: int, stage: str) -> list[KeptChoice]:
    """What the choices of the group are kept as, the first of which has this number."""
    over = group.taken is not None
    return [
        KeptChoice(one.label, one.command, one.asks, over, group.votes, first, stage, one.form)
        for one in group.choices
    ]


def index(choices: Sequence[Choice], kept: Sequence[str], stage: str) -> int:
    """Where a stage's choices stand among what the run has offered: at its end, unless they are there already."""
    before = [(one.stage or stage, one.label, one.command, one.asks) for one in map(kept_choice, kept)]
    new = [(stage, one.label, one.command, one.asks) for one in choices]
    for at in range(len(before) - len(new) + 1):
        if before[at : at + len(new)] == new:
            return at
    return len(before)


class Counts:
    """Shows on buttons how many people have pressed each. One per process and platform."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._messages: OrderedDict[Hashable, _Counted] = OrderedDict()

    def changed(self, channel: Hashable, message: str, edit: Callable[[], Awaitable[None]]) -> None:
        """Somebody has voted in the message: `edit` brings it up to date, soon. It may raise a surface's faults.

        `channel` is the key of the channel's writer.
        """
        counted = self._messages.setdefault((channel, message), _Counted())
        counted.edit = edit
        self._messages.move_to_end((channel, message))
        if len(self._messages) > MOST:
            self._messages.popitem(last=False)
        self._writers.at(channel).put(counted)


class _Counted:
    """A writer's message."""

    there = True

    def __init__(self) -> None:
        self.edit: Callable[[], Awaitable[None]] | None = None

    async def write(self) -> bool:
        if self.edit is None:
            return False
        try:
            await self.edit()
        except Unavailable:
            raise
        except SurfaceFault as fault:  # the vote is kept all the same
            _log.info("a count could not be shown: %s", fault)
        return True


async def labels(
    offers: Offers, votes: Votes, space: str, run: str, most: int, size: Size
) -> Mapping[str, str]:
    """The labels, with their votes, of the run's buttons that can still be voted for, by their custom_ids."""
    shown, counts = {}, dict[int, Mapping[int, int]]()
    for n, choice in enumerate(map(kept_choice, await offers.all(space, run, KIND))):
        if choice.votes and not choice.over:
            if choice.group not in counts:
                counts[choice.group] = await votes.counts(space, run, choice.group)
            given = counts[choice.group].get(n, 0)
            shown[custom_id("choice", run, n)] = counted(choice.label, given, most, size)
    return shown
