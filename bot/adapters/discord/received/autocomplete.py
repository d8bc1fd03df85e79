"""What Discord offers while somebody types an option: names of their space, quickly, and never an error.

Asks the application for names; what it said a moment ago is not asked again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol

import discord
from discord import app_commands

from bot.adapters.discord.received.placing import spot
from bot.adapters.discord.text.help import path_of
from bot.adapters.draft import clean
from bot.commands import TABLE
from bot.events import Sorry
from bot.words import Words, words
from storage.faults import StorageFault

CHOICES = 25
CHARS = 100
"""Of a choice's name and value, and how many choices there may be: Discord's limits."""
FRESH_S = 3.0
"""How long an answer is good for: a few keystrokes, and a new book shows up at once."""
KEPT = 2_048

_log = logging.getLogger(__name__)


class Names(Protocol):
    """App.complete."""

    async def __call__(
        self, space: str, kind: str, prefix: str, shelf: str | None = None, author: str = ""
    ) -> list[str]: ...


class Autocomplete:
    def __init__(self, names: Names, clock: Callable[[], float] = time.monotonic) -> None:
        self._names = names
        self._clock = clock
        self._kept: dict[tuple[str, str, str, str | None, str], tuple[float, list[str]]] = {}

    async def choices(
        self, interaction: discord.Interaction, kind: str, typed: str
    ) -> list[app_commands.Choice[str]]:
        """At most 25, of the space that the interaction comes from; none where anything goes wrong."""
        try:
            here = spot(interaction)
            if kind == "command":
                return _commands(words(f"{interaction.locale.value}"), str(typed))
            shelf = getattr(interaction.namespace, "shelf", None) if kind != "shelf" else None
            shelf = shelf if isinstance(shelf, str) and shelf else None
            found = await self.names(here.space, kind, str(typed)[:CHARS], shelf, str(here.user))
        except (Sorry, StorageFault) as fault:
            _log.warning("nothing offered for %s: %s", kind, fault)
            return []
        except Exception:  # a person who types gets no list rather than a fault
            _log.exception("nothing offered for %s", kind)
            return []
        values = dict.fromkeys(fitting(name) for name in found)
        return [
            app_commands.Choice(name=clean(value).strip() or value, value=value) for value in values if value
        ][:CHOICES]

    async def names(self, space: str, kind: str, typed: str, shelf: str | None, author: str) -> list[str]:
        """Names that begin like `typed`; a person's own where the kind is personal."""
        key = (space, kind, typed, shelf, author if kind == "session" else "")
        now = self._clock()
        if (kept := self._kept.get(key)) is not None and kept[0] > now:
            return kept[1]
        found = await self._names(space, kind, typed, shelf, author)
        if len(self._kept) >= KEPT:
            self._kept = {one: was for one, was in self._kept.items() if was[0] > now}
            if len(self._kept) >= KEPT:
                self._kept.clear()
        self._kept[key] = (now + FRESH_S, found)
        return found

    async def whole(self, space: str, kind: str, value: str, shelf: str | None) -> str:
        """The name that a value stands for where it had to be cut, else the value as it is."""
        if len(value) <= CHARS // 2:
            return value
        found = await self._names(space, kind, value, shelf)
        return next((name for name in found if fitting(name) == value), value)


def _commands(say: Words, typed: str) -> list[app_commands.Choice[str]]:
    """Commands by the names that the person sees."""
    wanted = typed.strip().lstrip("/").lower()
    named = [(path_of(say, row), row.path) for row in TABLE]
    found = [one for one in named if any(wanted in name for name in one)]
    return [app_commands.Choice(name=shown, value=path) for shown, path in found][:CHOICES]


def fitting(name: str) -> str:
    """The name as a choice's value, cut after a word in its second half where it is too long; see `whole`."""
    name = name.strip()
    if len(name) <= CHARS:
        return name
    cut = name.rfind(" ", CHARS // 2, CHARS)
    return name[: cut if cut > 0 else CHARS].rstrip()
