"""Commands in Slack's form: in sentences that all platforms share, and in /help. Pure.

The `bare` verbs are words of /sutradhar; in a thread Slack has no commands at all, so there all are written without the
slash. Knows the table's names, no request.
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
"""The word for the checklist, as Discord's /setup; it is no verb of the table."""


def as_typed(sentence: str, *, thread: bool) -> str:
    """The sentence with each command in the form for this place."""

    def typed(match: re.Match[str]) -> str:
        tick, path = match[1], match[2]
        if not thread:
            return f"{tick}{COMMAND} {path}" if path in _bare_verbs() else match[0]
        return f"{tick}{path}" if tick else f"`{path}`"

    return _command().sub(typed, sentence)


@cache
def _bare_verbs() -> frozenset[str]:
    return frozenset({SETUP, *(row.path for row in BARE)})


@cache
def _command() -> re.Pattern[str]:
    paths = sorted((SETUP, *(row.path for row in TABLE)), key=len, reverse=True)
    return re.compile(rf"(`?)(?<![\w/])/({'|'.join(map(re.escape, paths))})(?![\w-])")


def help_page(say: Words, topic: str, name: str) -> Page:
    """All commands, those of one work, or one command; `name` is the bot's name behind the @."""
    # In the form for a channel; the last sentence is about threads.
    text = as_typed(manual.help_text(say, topic, table=tuple(_rows()), plain=""), thread=False)
    for row in _bringing():
        text = text.replace(f"`/{row.path} ", f"`@{name} {row.path} ")
    if all(f"`{COMMAND} {name_of_verb}" in text for name_of_verb in ("help", "stop")):  # everything
        text = f"{text}\n- `{COMMAND} {SETUP}`  {say('welcome.setup')}"
    text = f"{text}\n\n{say('slack.help_talk', name=name)}"
    return Page(safe(text), plain=mrkdwn(text)[:TEXT])


def _rows() -> Iterator[Verb]:
    """The table without arguments for files: these are attached to the message."""
    for row in TABLE:
        if row in _bringing():
            needed = " ".join(f"--{option.name} rules" for option in row.options if option.required)
            yield replace(row, argument=None, example=f"/{row.path} {needed}".strip())
        else:
            yield row


def _bringing() -> list[Verb]:
    return [row for row in TABLE if row.argument is not None and row.argument.many]
