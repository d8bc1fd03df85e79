"""Permissions by Discord's own names, as the bits that go over the wire.

https://docs.discord.com/developers/topics/permissions. Knows no guild.
"""

from __future__ import annotations

from collections.abc import Iterable

_PLACES = {
    "KICK_MEMBERS": 1,
    "BAN_MEMBERS": 2,
    "ADMINISTRATOR": 3,
    "MANAGE_CHANNELS": 4,
    "MANAGE_GUILD": 5,
    "ADD_REACTIONS": 6,
    "PRIORITY_SPEAKER": 8,
    "STREAM": 9,
    "VIEW_CHANNEL": 10,
    "SEND_MESSAGES": 11,
    "SEND_TTS_MESSAGES": 12,
    "MANAGE_MESSAGES": 13,
    "EMBED_LINKS": 14,
    "ATTACH_FILES": 15,
    "READ_MESSAGE_HISTORY": 16,
    "MENTION_EVERYONE": 17,
    "USE_EXTERNAL_EMOJIS": 18,
    "CONNECT": 20,
    "SPEAK": 21,
    "MUTE_MEMBERS": 22,
    "DEAFEN_MEMBERS": 23,
    "MOVE_MEMBERS": 24,
    "USE_VAD": 25,
    "CHANGE_NICKNAME": 26,
    "MANAGE_NICKNAMES": 27,
    "MANAGE_ROLES": 28,
    "MANAGE_WEBHOOKS": 29,
    "USE_APPLICATION_COMMANDS": 31,
    "REQUEST_TO_SPEAK": 32,
    "MANAGE_THREADS": 34,
    "CREATE_PUBLIC_THREADS": 35,
    "CREATE_PRIVATE_THREADS": 36,
    "SEND_MESSAGES_IN_THREADS": 38,
}
BITS = {name: 1 << place for name, place in _PLACES.items()}
EVERYTHING = sum(BITS.values())

# The permissions of @everyone in a new guild, and therefore of a person.
PERSON = frozenset(
    {
        "ADD_REACTIONS",
        "VIEW_CHANNEL",
        "SEND_MESSAGES",
        "EMBED_LINKS",
        "ATTACH_FILES",
        "READ_MESSAGE_HISTORY",
        "MENTION_EVERYONE",
        "USE_EXTERNAL_EMOJIS",
        "CONNECT",
        "SPEAK",
        "STREAM",
        "USE_VAD",
        "REQUEST_TO_SPEAK",
        "CHANGE_NICKNAME",
        "USE_APPLICATION_COMMANDS",
        "CREATE_PUBLIC_THREADS",
        "CREATE_PRIVATE_THREADS",
        "SEND_MESSAGES_IN_THREADS",
    }
)
# The permissions of a bot after a usual invitation, without any for managing.
BOT = PERSON - {"MENTION_EVERYONE", "CREATE_PRIVATE_THREADS"}
MANAGER = frozenset({"MANAGE_GUILD", "MANAGE_CHANNELS", "MANAGE_MESSAGES", "MANAGE_THREADS", "MANAGE_ROLES"})
# The permissions of an interaction in a private channel, independent of roles.
PRIVATE = frozenset({"ATTACH_FILES", "EMBED_LINKS", "MENTION_EVERYONE", "USE_EXTERNAL_EMOJIS"})


def bits(names: Iterable[str]) -> int:
    """The permissions as one number; an unknown name is an error in the test."""
    total = 0
    for name in names:
        if name.upper() not in BITS:
            raise LookupError(f"no such permission: {name}")
        total |= BITS[name.upper()]
    return total
