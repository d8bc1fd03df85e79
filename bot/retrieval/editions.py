"""Shelves in memory: made when they are first asked for, made anew when they have changed, and pinned.

Knows no search. Of each shelf there is one edition at a time; who has pinned an older one keeps it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

from bot.retrieval.open_shelf import OpenShelf

if TYPE_CHECKING:
    from storage.shelves import Shelves

KEPT = 8
"""How many shelves' statistics stay in memory; the least recently searched goes first."""


class Editions(Protocol):
    async def of(self, space: str, shelf: str, *, newest: bool = False) -> OpenShelf:
        """A shelf as it is; `newest` even where an older edition is pinned, and pins that one."""
        ...


class Current:
    """Every shelf as it is by now."""

    def __init__(self, shelves: Shelves) -> None:
        self._shelves = shelves
        self._open: OrderedDict[tuple[str, str], OpenShelf] = OrderedDict()
        self._loading = asyncio.Lock()

    async def of(self, space: str, shelf: str, *, newest: bool = False) -> OpenShelf:
        key = (space, shelf)
        async with self._loading:
            version = await self._shelves.version(space, shelf)
            opened = self._open.get(key)
            if opened is None or opened.version != version:
                version, rows = await self._shelves.contents(space, shelf)
                opened = await asyncio.to_thread(OpenShelf, version, rows)
                self._open[key] = opened
                while len(self._open) > KEPT:
                    self._open.popitem(last=False)
            self._open.move_to_end(key)
        return opened


class Pinned:
    """Every shelf as it was when it was first asked for here."""

    def __init__(self, editions: Editions) -> None:
        self._editions = editions
        self._pinned: dict[tuple[str, str], OpenShelf] = {}

    async def of(self, space: str, shelf: str, *, newest: bool = False) -> OpenShelf:
        key = (space, shelf)
        if newest or key not in self._pinned:
            opened = await self._editions.of(space, shelf)
            # Of several searches that began together the first to be here decides.
            if newest or key not in self._pinned:
                self._pinned[key] = opened
        return self._pinned[key]
