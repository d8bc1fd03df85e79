"""/help as it is read on Slack: commands as they are typed here, and how a conversation goes on in its thread. Pure."""

from __future__ import annotations

from bot import manual
from bot.adapters.slack import spoken
from bot.adapters.slack.neutral import mrkdwn, safe
from bot.adapters.slack.page import TEXT, Page
from bot.words import Words


def help_page(say: Words, topic: str, name: str) -> Page:
    """Every command, those of one work, or one command; `name` is what people type after the @."""
    text = manual.help_text(say, topic)
    # As in a channel: most of it is read there, and what works in threads is said below.
    text = f"{spoken.shown(text, thread=False)}\n\n{say('slack.help_talk', name=name)}"
    return Page(safe(text), plain=mrkdwn(text)[:TEXT])
