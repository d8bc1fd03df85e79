"""Shows on buttons how many people have pressed each. Knows no platform.

However many press at once, a message is edited by its channel's writer: one edit at a time, at its pace, and the last
one shows the last count, for each reads the votes only when it is made.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import TYPE_CHECKING

from bot.adapters import custom_ids
from bot.adapters.offered import KIND, offered
from bot.adapters.surface import Later, SurfaceFault
from bot.adapters.writer import Writers

if TYPE_CHECKING:
    from storage.offers import Offers
    from storage.votes import Votes

MOST = 1_000
"""Messages that are known at a time; what an older one shows is put right by the next press."""

_log = logging.getLogger(__name__)


class Counts:
    """One per process and platform."""

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
        except Later:
            raise
        except SurfaceFault as fault:  # the vote is kept all the same
            _log.info("a count could not be shown: %s", fault)
        return True


async def labels(offers: Offers, votes: Votes, space: str, run: str) -> Mapping[str, tuple[str, int]]:
    """What the run's buttons are called that can still be voted for, and how many have, by their custom_ids."""
    found, counts = {}, dict[int, Mapping[int, int]]()
    for n, one in enumerate(map(offered, await offers.all(space, run, KIND))):
        if one.votes and not one.over:
            if one.group not in counts:
                counts[one.group] = await votes.counts(space, run, one.group)
            found[custom_ids.choice(run, n)] = one.label, counts[one.group].get(n, 0)
    return found
