"""Intents: which events a session asked for, and what they leave out.

https://docs.discord.com/developers/events/gateway#gateway-intents
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

GUILDS, GUILD_MEMBERS, GUILD_PRESENCES = 1 << 0, 1 << 1, 1 << 8
GUILD_WEBHOOKS, GUILD_VOICE_STATES = 1 << 5, 1 << 7
GUILD_MESSAGES, GUILD_REACTIONS, GUILD_TYPING = 1 << 9, 1 << 10, 1 << 11
DIRECT_MESSAGES, DIRECT_REACTIONS, DIRECT_TYPING, MESSAGE_CONTENT = 1 << 12, 1 << 13, 1 << 14, 1 << 15
ALL = sum(1 << place for place in (*range(17), 20, 21, 24, 25))
PRIVILEGED = GUILD_MEMBERS | GUILD_PRESENCES | MESSAGE_CONTENT
NAMES = {
    "GUILD_MEMBERS": GUILD_MEMBERS,
    "GUILD_PRESENCES": GUILD_PRESENCES,
    "MESSAGE_CONTENT": MESSAGE_CONTENT,
}
# The flags of an application with fewer than a hundred guilds and the intent enabled in the portal.
FLAGS = {"GUILD_PRESENCES": 1 << 13, "GUILD_MEMBERS": 1 << 15, "MESSAGE_CONTENT": 1 << 19}

_NEEDS = {
    "GUILD_CREATE": (GUILDS, 0),
    "GUILD_UPDATE": (GUILDS, 0),
    "GUILD_DELETE": (GUILDS, 0),
    "GUILD_ROLE_UPDATE": (GUILDS, 0),
    "CHANNEL_CREATE": (GUILDS, 0),
    "CHANNEL_UPDATE": (GUILDS, 0),
    "CHANNEL_DELETE": (GUILDS, 0),
    "THREAD_CREATE": (GUILDS, 0),
    "THREAD_UPDATE": (GUILDS, 0),
    "THREAD_DELETE": (GUILDS, 0),
    "VOICE_STATE_UPDATE": (GUILD_VOICE_STATES, 0),
    "WEBHOOKS_UPDATE": (GUILD_WEBHOOKS, 0),
    "GUILD_MEMBER_ADD": (GUILD_MEMBERS, 0),
    "MESSAGE_CREATE": (GUILD_MESSAGES, DIRECT_MESSAGES),
    "MESSAGE_UPDATE": (GUILD_MESSAGES, DIRECT_MESSAGES),
    "MESSAGE_DELETE": (GUILD_MESSAGES, DIRECT_MESSAGES),
    "MESSAGE_REACTION_ADD": (GUILD_REACTIONS, DIRECT_REACTIONS),
    "TYPING_START": (GUILD_TYPING, DIRECT_TYPING),
}


def bits(names: Iterable[str]) -> int:
    return sum(NAMES[name] for name in names)


def flags(names: Iterable[str]) -> int:
    return sum(FLAGS[name] for name in names)


def shown(event: str, data: dict[str, Any], intents: int, bot: int, private: bool) -> dict[str, Any] | None:
    """The event as a session with these intents gets it, or None."""
    if event in _NEEDS and not intents & _NEEDS[event][private]:
        return None
    if event == "GUILD_CREATE" and not intents & GUILD_VOICE_STATES:
        return data | {"voice_states": []}
    if event in ("MESSAGE_CREATE", "MESSAGE_UPDATE") and not intents & MESSAGE_CONTENT and not private:
        return blanked(data, bot)
    return data


def blanked(message: dict[str, Any], bot: int) -> dict[str, Any]:
    """A guild's message without the Message Content intent: empty, unless the bot wrote it or is mentioned in it."""
    referenced = message.get("referenced_message")
    if isinstance(referenced, dict):
        message = message | {"referenced_message": blanked(referenced, bot)}
    named = [message.get("author", {}), *message.get("mentions", ())]
    if any(user.get("id") == str(bot) for user in named if isinstance(user, dict)):
        return message
    return message | {"content": "", "embeds": [], "attachments": [], "components": []}
