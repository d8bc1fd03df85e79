"""The app's scopes, events, commands and shortcuts, as in docs/slack-manifest.yaml."""

from __future__ import annotations

from typing import Final

from bot.adapters.slack.text.help import COMMAND
from bot.commands import TABLE, WORKS

BOT_SCOPES: Final = (
    "app_mentions:read",
    "assistant:write",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "users:read",
)
"""The scopes that are all needed."""

CUSTOMIZE: Final = "chat:write.customize"
"""Optional: characters speak under their own names, where that is switched on."""
PUBLIC: Final = "chat:write.public"
"""Optional: the bot also answers in channels that it was not invited to."""
OPTIONAL_SCOPES: Final = (PUBLIC, CUSTOMIZE)
ASKED_SCOPES: Final = tuple(sorted((*BOT_SCOPES, CUSTOMIZE)))
"""The scopes that an installation requests."""

EVENTS: Final = (
    "agent_session_stopped",
    "app_home_opened",
    "app_mention",
    "app_uninstalled",
    "channel_archive",
    "channel_deleted",
    "channel_left",
    "group_archive",
    "group_deleted",
    "group_left",
    "member_joined_channel",
    "message.channels",
    "message.groups",
    "message.im",
    "tokens_revoked",
)

COMMANDS: Final = (COMMAND, *(f"/{work}" for work in WORKS))

ASK_ABOUT: Final = "ask_about"
"""The message shortcut's callback id."""
ASK: Final = "ask"
"""The global shortcut's."""
MENU: Final = {f"{row.work}_{row.name}": row for row in TABLE if row.menu}
"""Verbs that are message shortcuts, too, by their callback ids."""
SHORTCUTS: Final = (ASK_ABOUT, ASK, *MENU)
