"""What a message says to the bot: its text without the bot's own mention, other mentions by name."""

from __future__ import annotations

import re

import discord


def heard(message: discord.Message, me: int) -> str:
    """What the message says without the bot's own mention; other people's are their names."""
    names = {one.id: f"@{one.display_name}" for one in message.mentions}
    names |= {one.id: f"@{one.name}" for one in message.role_mentions}
    names |= {one.id: f"#{one.name}" for one in message.channel_mentions}

    def named(found: re.Match[str]) -> str:
        return names.get(int(found[1]), found[0])

    text = re.sub(rf"[ \t]*<@!?{me}>[ \t]*", " ", message.content)
    return re.sub(r"<(?:@[!&]?|#)(\d{1,20})>", named, text).strip().lstrip(",:;").strip()
