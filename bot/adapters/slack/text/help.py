"""Commands as people type them on Slack: in sentences that all platforms share, and in /help. Pure.

The verbs that steer the conversation are words of /sutradhar; in a thread Slack knows no commands at all, so there
the same words are written without the slash. Knows the table's names, no request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Final

from bot import manual
from bot.adapters.slack.text.mrkdwn import mrkdwn, safe
from bot.adapters.slack.text.page import TEXT, Page
from bot.commands import BARE, TABLE
from bot.verb import Verb
from bot.words import Words

COMMAND: Final = "/sutradhar"
SETUP: Final = "setup"
"""Like Discord's, it is no request to any work. Typed in a thread it is a word of its own."""


def as_typed(sentence: str, *, thread: bool) -> str:
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


def help_page(say: Words, topic: str, name: str) -> Page:
    """Every command, those of one work, or one command; `name` is what people type after the @."""
    # As in a channel: most of it is read there, and what works in threads is said below.
    text = as_typed(manual.help_text(say, topic, table=tuple(_rows()), plain=""), thread=False)
    for row in _bringing():
        text = text.replace(f"`/{row.path} ", f"`@{name} {row.path} ")
    if all(f"`{COMMAND} {one}" in text for one in ("help", "stop")):  # everything
        text = f"{text}\n- `{COMMAND} {SETUP}`  {say('welcome.setup')}"
    text = f"{text}\n\n{say('slack.help_talk', name=name)}"
    return Page(safe(text), plain=mrkdwn(text)[:TEXT])


def _rows() -> Iterator[Verb]:
    """The table, but that nobody types the paths of files: they come with the message."""
    for row in TABLE:
        if row in _bringing():
            needed = " ".join(f"--{one.name} rules" for one in row.options if one.required)
            yield replace(row, argument=None, example=f"/{row.path} {needed}".strip())
        else:
            yield row


def _bringing() -> list[Verb]:
    return [row for row in TABLE if row.argument is not None and row.argument.many]
