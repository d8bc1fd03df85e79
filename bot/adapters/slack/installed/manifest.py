"""What the app asks of a workspace: scopes, events, commands and shortcuts, as docs/slack-manifest.yaml has them."""

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
"""Without any one of these something does not work."""

CUSTOMIZE: Final = "chat:write.customize"
"""With it characters speak under their own names, where that is switched on."""
PUBLIC: Final = "chat:write.public"
"""With it the bot answers also in channels that it was not invited to."""
OPTIONAL_SCOPES: Final = (PUBLIC, CUSTOMIZE)
ASKED_SCOPES: Final = tuple(sorted((*BOT_SCOPES, CUSTOMIZE)))
"""Those that a workspace is asked for."""

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
