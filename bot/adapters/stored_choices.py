"""Choices as they are stored for their buttons, so that a press works after a restart; and the votes on buttons.

Votes are shown by the channel's writer, one edit at a time, at its pace. Each edit reads the votes when it is made, so
the last one shows the last count. Independent of platforms and works.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from bot.adapters.footer import button_labels
from bot.adapters.markdown import Size
from bot.adapters.surface import SurfaceFault, Unavailable
from bot.adapters.writer import Writers
from bot.events import Choice, Choices

if TYPE_CHECKING:
    from storage.buttons import Offers, Votes

KIND = "choice"
"""The kind of stored offers that holds a run's choices, numbered through all its stages."""
MEANWHILE = "meanwhile"
"""The kind of stored offers that holds the choices shown under stages while these grow; they have their own numbers."""
MOST = 1_000
"""The most messages whose votes are kept in memory; an older one is updated by its next press."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StoredChoice:
    """A stored choice; see `bot.events.Choice`. `only` is its group's. `over`: one of its group has been taken. `group`
    is the number of the group's first choice. `stage` is the key of its stage, "" for choices of earlier releases;
    `under` is None for those.
    """

    label: str
    command: str
    asks: str = ""
    over: bool = False
    votes: bool = False
    group: int = 0
    stage: str = ""
    form: bool = False
    filled: str = ""
    only: str = ""
    under: str | None = None
    title: str = ""
    answers: str | None = None

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)


def from_json(text: str) -> StoredChoice:
    """Read `StoredChoice.to_json`. Raises ValueError or TypeError for anything else."""
    return StoredChoice(**json.loads(text))


def of_group(group: Choices, first: int, stage: str) -> list[StoredChoice]:
    """The choices of a group to store; `first` is the number of the first one."""
    over = group.taken is not None
    return [
        StoredChoice(
            choice.label,
            choice.command,
            choice.asks,
            over,
            group.votes,
            first,
            stage,
            choice.form,
            choice.filled,
            group.only,
            choice.under,
            choice.title,
            choice.answers,
        )
        for choice in group.choices
    ]


def index(choices: Sequence[Choice], stored: Sequence[str], stage: str) -> int:
    """The number of the first of a stage's choices among the run's: the end of the list, unless they are already
    stored.
    """
    before = [
        (old.stage or stage, old.label, old.command, old.asks, old.under or "")
        for old in map(from_json, stored)
    ]
    new = [(stage, choice.label, choice.command, choice.asks, choice.under) for choice in choices]
    for at in range(len(before) - len(new) + 1):
        if before[at : at + len(new)] == new:
            return at
    return len(before)


class VoteCounts:
    """Shows the numbers of votes on buttons. One per process and platform."""

    def __init__(self, writers: Writers) -> None:
        self._writers = writers
        self._messages: OrderedDict[Hashable, _Counted] = OrderedDict()

    def changed(self, channel: Hashable, message: str, edit: Callable[[], Awaitable[None]]) -> None:
        """After a vote in the message: have `edit`, which updates it, called soon. It may raise a surface's faults.

        `channel` is the key of the channel's writer.
        """
        counted = self._messages.setdefault((channel, message), _Counted())
        counted.edit = edit
        self._messages.move_to_end((channel, message))
        if len(self._messages) > MOST:
            self._messages.popitem(last=False)
        self._writers.at(channel).put(counted)


class _Counted:
    """A Writable that updates the votes of a message."""

    exists = True

    def __init__(self) -> None:
        self.edit: Callable[[], Awaitable[None]] | None = None

    async def write(self) -> bool:
        if self.edit is None:
            return False
        try:
            await self.edit()
        except Unavailable:
            raise
        except SurfaceFault as fault:  # the vote is stored in any case
            _log.info("a count could not be shown: %s", fault)
        return True


async def labels(
    offers: Offers, votes: Votes, space: str, run: str, most: int, size: Size
) -> Mapping[str, str]:
    """The labels with votes, keyed by custom_id, of the run's buttons that still accept votes."""
    groups: dict[int, dict[int, str]] = {}
    for n, choice in enumerate(map(from_json, await offers.all(space, run, KIND))):
        if choice.votes and not choice.over:
            groups.setdefault(choice.group, {})[n] = choice.label
    by_button: dict[str, str] = {}
    for group, texts in groups.items():
        counts = await votes.counts(space, run, group)
        voted = [counts.get(n, 0) for n in texts]
        labels = button_labels(list(texts.values()), voted, most, size)
        by_button |= {f"choice:{run}:{n}": text for n, text in zip(texts, labels, strict=True)}
    return by_button
