"""Completions of options on Discord while a person types: names from their space and their current place."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import discord
from discord import app_commands

from bot.adapters.discord.received.commands import path_of
from bot.adapters.discord.received.placing import Location, location_of
from bot.adapters.markdown import clean
from bot.commands import TABLE
from bot.events import Place, UserError
from bot.kind import Typed
from bot.words import Words, words
from storage.faults import StorageFault

CHOICES = 25
CHARS = 100
"""Discord's limit for the characters of a choice's name and value; the next one limits the number of choices."""
OF_SHELVES = ("section", "book", "shelf")
"""The kinds of names that are the same everywhere in a space."""
FRESH_S = 3.0
"""Seconds for which completions are cached: a few keystrokes, so that a new book soon appears."""
MOST_CACHED = 2_048

Names = Callable[[str, Typed], Coroutine[Any, Any, list[str]]]
"""The type of `App.complete`."""
PlaceOf = Callable[[Location], Coroutine[Any, Any, Place]]
"""The conversation of a location."""

_log = logging.getLogger(__name__)


class Autocomplete:
    """Completes options while a person types: with names from their space, quickly, and never with an error."""

    def __init__(self, names: Names, place_of: PlaceOf, clock: Callable[[], float] = time.monotonic) -> None:
        self._names = names
        self._place_of = place_of
        self._clock = clock
        self._cache: dict[tuple[str, Typed], tuple[float, list[str]]] = {}

    async def choices(
        self, interaction: discord.Interaction, kind: str, typed: str
    ) -> list[app_commands.Choice[str]]:
        """At most 25 names from the interaction's space; none after any fault."""
        try:
            location = location_of(interaction)
            if kind == "command":
                return _commands(words(f"{interaction.locale.value}"), str(typed))
            shelf = getattr(interaction.namespace, "shelf", None) if kind != "shelf" else None
            shelf = shelf if isinstance(shelf, str) and shelf else None
            place = None if kind in OF_SHELVES else await self._place_of(location)
            prefix = str(typed)[:CHARS]
            names = await self.names(kind, Typed(location.space, prefix, shelf, str(location.user), place))
        except (UserError, StorageFault) as fault:
            _log.warning("nothing offered for %s: %s", kind, fault)
            return []
        except Exception:  # no list is better than a fault while a person types
            _log.exception("nothing offered for %s", kind)
            return []
        values = dict.fromkeys(choice_value(name) for name in names)
        return [
            app_commands.Choice(name=clean(value).strip() or value, value=value) for value in values if value
        ][:CHOICES]

    async def names(self, kind: str, typed: Typed) -> list[str]:
        """Names that begin with what was typed, cached per person and place; names of shelves and books per space."""
        key = (kind, replace(typed, author="") if kind in OF_SHELVES else typed)
        now = self._clock()
        if (cached := self._cache.get(key)) is not None and cached[0] > now:
            return cached[1]
        fresh = await self._names(kind, typed)
        if len(self._cache) >= MOST_CACHED:
            self._cache = {cached_key: entry for cached_key, entry in self._cache.items() if entry[0] > now}
            if len(self._cache) >= MOST_CACHED:
                self._cache.clear()
        self._cache[key] = (now + FRESH_S, fresh)
        return fresh

    async def whole(self, space: str, kind: str, value: str, shelf: str | None) -> str:
        """The whole name for a value that may have been cut."""
        if len(value) <= CHARS // 2:
            return value
        names = await self._names(kind, Typed(space, value, shelf))
        return next((name for name in names if choice_value(name) == value), value)


def _commands(say: Words, typed: str) -> list[app_commands.Choice[str]]:
    """Completions of commands, by the names that the person sees."""
    prefix = typed.strip().lstrip("/").lower()
    paths = [(path_of(say, row), row.path) for row in TABLE]
    matching = [pair for pair in paths if any(prefix in name for name in pair)]
    return [app_commands.Choice(name=shown, value=path) for shown, path in matching][:CHOICES]


def choice_value(name: str) -> str:
    """The name as a choice's value. If it is too long, it is cut after a word in its second half; see `whole`."""
    name = name.strip()
    if len(name) <= CHARS:
        return name
    cut = name.rfind(" ", CHARS // 2, CHARS)
    return name[: cut if cut > 0 else CHARS].rstrip()
