"""Events that are not as Discord documents them: dropped, with a line in the log, where the library would stop.

A payload that it can't read ends the library's connection for good, and with it the whole process.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import discord
from discord.ext import commands

NEEDED = ("READY", "RESUMED")
"""Without these there is no connection, so what is wrong with them is not passed over."""

_TYPES = (1, 2, 3)
"""Of application commands: slash, user, message."""
_GROUPS = (1, 2)
"""Of options: those that hold options."""

_log = logging.getLogger(__name__)

Parser = Callable[[Any], None]


def guard(client: commands.Bot | commands.AutoShardedBot) -> None:
    """Let the client survive what it can't read; once it is set up, and before it connects."""
    parsers: dict[str, Parser] = client._connection.parsers
    for event, parse in parsers.items():
        if event not in NEEDED:
            parsers[event] = _guarded(event, parse)
    # The tree's own hook for a check before everything else, which a subclass would override.
    client.tree.interaction_check = _readable  # type: ignore[method-assign]


async def _readable(interaction: discord.Interaction[Any], /) -> bool:
    """Whether a command's data has the shape that the tree takes for granted."""
    if well_formed(interaction.data):
        return True
    _log.warning("a malformed command was dropped")
    return False


def well_formed(data: object) -> bool:
    """A name, a known type, options with names and types, and nothing else in their place."""
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        return False
    if data.get("type", 1) not in _TYPES or not isinstance(data.get("resolved", {}), dict):
        return False
    return _options(data.get("options", []))


_VALUES = {4: int, 5: bool, 10: int | float}
"""Options that are no text: numbers and flags (Discord's documentation, "Application Command Option Type")."""


def _options(options: object) -> bool:
    return isinstance(options, list) and all(_option(one) for one in options)


def _option(option: object) -> bool:
    if not isinstance(option, dict) or not isinstance(option.get("name"), str):
        return False
    if option.get("type") in _GROUPS:
        return _options(option.get("options", []))
    kind, value = option.get("type"), option.get("value")
    # What is being typed is a text, whatever it will become.
    return isinstance(kind, int) and isinstance(
        value, str if option.get("focused") else _VALUES.get(kind, str)
    )


def _guarded(event: str, parse: Parser) -> Parser:
    def read(payload: Any) -> None:
        try:
            parse(payload)
        except Exception as error:
            # Not the payload, nor a trace of it: an interaction's holds its token.
            _log.warning("a malformed %s was dropped (%s)", event, type(error).__name__)

    return read
