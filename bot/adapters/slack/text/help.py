"""/help as it is read on Slack: commands as they are typed here, and how a conversation goes on in its thread. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bot import manual
from bot.adapters.slack.text import spoken
from bot.adapters.slack.text.neutral import mrkdwn, safe
from bot.adapters.slack.text.page import TEXT, Page
from bot.adapters.slack.text.spoken import COMMAND, SETUP
from bot.commands import TABLE
from bot.verb import Verb
from bot.words import Words


def help_page(say: Words, topic: str, name: str) -> Page:
    """Every command, those of one work, or one command; `name` is what people type after the @."""
    # As in a channel: most of it is read there, and what works in threads is said below.
    text = spoken.shown(manual.help_text(say, topic, table=tuple(_rows()), plain=""), thread=False)
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
