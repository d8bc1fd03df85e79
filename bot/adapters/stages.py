"""Which stage of a run is being shown, and whether it was shown before a crash.

Knows no screen: a view asks here when a stage opens and says here what the stage shows when it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Protocol

from bot.events import Changed, Shown, Stage


class Claimed(Protocol):
    @property
    def fresh(self) -> bool: ...

    @property
    def shown(self) -> str | None: ...


class Claims(Protocol):
    """The part of storage.outbox.Outbox that a view without messages to edit needs."""

    async def claim(self, space: str, run: str, stage: str) -> Claimed: ...

    async def get(self, space: str, run: str, stage: str) -> Claimed | None: ...

    async def sent(
        self, space: str, run: str, stage: str, message_id: str, shown: str | None = None
    ) -> None: ...


@dataclass(slots=True)
class Stages:
    """Follows one run's events. `key` is the open stage, None before the first."""

    outbox: Claims
    space: str
    run: str
    key: str | None = None
    replaces: bool = False
    _shown: list[str] = field(default_factory=list)

    def retitles(self, event: Shown) -> bool:
        """Whether the event only gives the open stage another title."""
        return isinstance(event, Stage) and event.key == self.key

    async def enter(self, event: Shown) -> None:
        """Take note of an event before it is shown; `replaces` is then right for it."""
        if isinstance(event, Stage) and not self.retitles(event):
            await self.leave()
            self.key = event.key
            self.replaces = not (await self.outbox.claim(self.space, self.run, event.key)).fresh
        if self.key is not None:
            self._shown.append(repr(event))

    async def leave(self) -> None:
        """The open stage has been shown whole."""
        if self.key is not None:
            await self.outbox.sent(self.space, self.run, self.key, self.key, _hash(self._shown))
        self.key, self.replaces = None, False
        self._shown.clear()

    async def changes(self, changed: Changed) -> bool:
        """Whether the stage was shown, and in another way than this, which is then noted as shown."""
        row, shown = await self.outbox.get(self.space, self.run, changed.stage), _hash([repr(changed)])
        if row is None or row.shown in (None, shown):
            return False
        await self.outbox.sent(self.space, self.run, changed.stage, changed.stage, shown)
        return True


def _hash(shown: Sequence[str]) -> str:
    return sha256("\n".join(shown).encode(errors="replace")).hexdigest()[:16]
