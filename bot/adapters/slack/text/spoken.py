"""Commands as people type them on Slack, in sentences that all platforms share.

The verbs that steer the conversation are words of /sutradhar; in a thread Slack knows no commands at all, so there
the same words are written without the slash. Knows the table's names, no request.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from bot.commands import BARE, TABLE

COMMAND: Final = "/sutradhar"
SETUP: Final = "setup"
"""Like Discord's, it is no request to any work. Typed in a thread it is a word of its own."""


def shown(sentence: str, *, thread: bool) -> str:
    """The sentence with each command as it can be typed where it is read."""

    def typed(found: re.Match[str]) -> str:
        tick, path = found[1], found[2]
        if not thread:
            return f"{tick}{COMMAND} {path}" if path in _house() else found[0]
        return f"{tick}{path}" if tick else f"`{path}`"

    return _command().sub(typed, sentence)


@cache
def _house() -> frozenset[str]:
    return frozenset({SETUP, *(row.path for row in BARE)})


@cache
def _command() -> re.Pattern[str]:
    paths = sorted((SETUP, *(row.path for row in TABLE)), key=len, reverse=True)
    return re.compile(rf"(`?)(?<![\w/])/({'|'.join(map(re.escape, paths))})(?![\w-])")
