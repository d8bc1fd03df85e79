"""Applies a channel's settings to requests: which works may run, the default shelf or course, where answers go, and
which messages are for the bot.

Knows no platform. The settings themselves are declared in `bot.works.settings`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from bot import commands
from bot.events import Place, Request, UserError
from bot.kind import values_in
from bot.settings import (
    ANSWERS,
    DEFAULT_WORK,
    EVERYTHING,
    IN_PRIVATE,
    IN_THREAD,
    LISTENS,
    SILENT,
    THREADS,
    UNANSWERED,
    WORKS,
)
from bot.verb import PRIVATE, SHELF

if TYPE_CHECKING:
    from bot.config import Config
    from bot.settings import Settings
    from bot.verb import Verb
    from storage.sessions import Sessions

GOVERNED: Final = tuple(
    name
    for name, kind in commands.KINDS.items()
    if any(row.asks or row.turn or row.speaks or row.hears for row in kind.verbs)
)
"""The works that a channel can allow or forbid: those that ask models or read aloud."""
PLAIN: Final = tuple(name for name in GOVERNED if any(row.plain for row in commands.KINDS[name].verbs))
"""The works that can answer plain text."""
DEFAULTED_OPTIONS: Final = frozenset(
    option.name
    for row in commands.TABLE
    for option in row.options
    if option.name == option.completes and option.name in commands.SETTINGS
)
"""The options of verbs, such as a shelf, for which a channel can have a default."""

ALL: Final = "all"
EXCEPT: Final = "-"
"""The mark before the name of a forbidden work; without it, only the named works are allowed."""


class ChannelRules:
    """Reads the settings of channels for `App.perform`, the adapters and the models."""

    def __init__(self, settings: Settings, sessions: Sessions) -> None:
        settings.also_cache(DEFAULTED_OPTIONS)
        self._settings = settings
        self._sessions = sessions

    async def check(self, verb: Verb, request: Request) -> None:
        """Raise UserError if the request's work may not run in its place. Raises StorageFault."""
        rows = await self._settings.nearest(request.asked_in or request.place, "", WORKS)
        if rows and governed(verb) and not allows(rows[0].value, verb.work):
            allowed = [work for work in GOVERNED if allows(rows[0].value, work)]
            raise UserError(
                f"channels.work_{rows[0].scope}",
                work=partial(values_in, [verb.work]),
                works=partial(values_in, allowed) if allowed else "–",
            )

    async def with_defaults(self, verb: Verb, request: Request) -> Request:
        """The request with the place's defaults, such as its shelf, for options that it leaves out."""
        brings_files = verb.background or request.files or "file" in request.options
        if brings_files or verb.work not in GOVERNED:  # the library shows every shelf
            return request
        options = dict(request.options)
        for option in verb.options:
            if (name := option.name) not in DEFAULTED_OPTIONS or name in options:
                continue
            rows = await self._settings.nearest(request.asked_in or request.place, "", name)
            # A conversation in progress has chosen its course or screenplay.
            if rows and (name == SHELF.name or not await self._has_conversation(request.place)):
                options[name] = rows[0].value
        return replace(request, options=options)

    async def _has_conversation(self, place: Place) -> bool:
        """Whether a conversation has begun in the place."""
        return await self._sessions.active(*place.key) is not None

    async def default_work(self, place: Place) -> str:
        """The work for plain text outside a conversation; "" if none is set."""
        chosen = await self._settings.nearest(place, "", DEFAULT_WORK)
        if chosen and chosen[0].value in PLAIN:
            return chosen[0].value
        works = await self._settings.nearest(place, "", WORKS)
        allowed = [work for work in PLAIN if not works or allows(works[0].value, work)]
        return "" if commands.DEFAULT_WORK in allowed else next(iter(allowed), "")

    async def listens(self, place: Place) -> str:
        """Which messages are for the bot there: one of `settings.LISTENING`."""
        rows = await self._settings.nearest(place, "", LISTENS)
        return rows[0].value if rows else THREADS

    async def silent(self, place: Place) -> bool:
        """Whether the bot stays silent if it finds no answer to a message that does not address it."""
        rows = await self._settings.nearest(place, "", UNANSWERED)
        return bool(rows) and rows[0].value == SILENT

    async def answers(self, place: Place) -> str:
        """Where the answer goes: one of `settings.ANSWERING`."""
        rows = await self._settings.nearest(place, "", ANSWERS)
        return rows[0].value if rows else IN_THREAD

    async def answers_privately(self, verb: Verb, place: Place) -> bool:
        """Whether only the asker sees the answer to this verb there, and can share it."""
        return PRIVATE in verb.options and await self.answers(place) == IN_PRIVATE


def check_listening(config: Config, platform: str, name: str, value: str) -> None:
    """Raise UserError if a setting needs messages that the platform does not send to the bot."""
    unseen = platform == "discord" and not config.discord.free_chat
    if name == LISTENS and value == EVERYTHING and unseen:
        raise UserError("settings.listens_intent")


def governed(verb: Verb) -> bool:
    """Whether a channel can forbid the verb. Verbs that stop something are always allowed."""
    return verb.work in GOVERNED and not (verb.urgent or verb.stops or verb.bare)


def allows(value: str, work: str) -> bool:
    """Whether the value of the setting lets a work run."""
    names = value.split()
    if not names or names == [ALL]:
        return True
    if all(name.startswith(EXCEPT) for name in names):
        return EXCEPT + work not in names
    return work in names
