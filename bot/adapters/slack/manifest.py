"""The app's scopes, events, commands and shortcuts, as in docs/slack-manifest.yaml. The `bare` verbs are words of
/sutradhar. It uses the table's names but depends on no request.
"""

from __future__ import annotations

from typing import Final

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
"""The scopes that the app cannot work without."""

CUSTOMIZE: Final = "chat:write.customize"
"""Optional: characters speak under their own names, if that is switched on."""
PUBLIC: Final = "chat:write.public"
"""Optional: the bot also answers in channels that it was not invited to."""
GROUP_DMS: Final = ("mpim:history", "mpim:read")
"""Optional: the bot also answers in group direct messages."""
USER_GROUPS: Final = "usergroups:read"
"""Optional: rules and budgets can name user groups."""
PINS: Final = "pins:read"
"""Optional: house rules can be read from pinned messages."""
OPTIONAL_SCOPES: Final = (PUBLIC, CUSTOMIZE, USER_GROUPS, PINS, *GROUP_DMS)
ASKED_SCOPES: Final = tuple(sorted((*BOT_SCOPES, CUSTOMIZE, USER_GROUPS, PINS, *GROUP_DMS)))
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
    "message.mpim",
    "tokens_revoked",
)

COMMAND: Final = "/sutradhar"
SETUP: Final = "setup"
"""The word for the checklist, like /setup on Discord; it is no verb of the table."""
COMMANDS: Final = (COMMAND, *(f"/{work}" for work in WORKS))

ASK_ABOUT: Final = "ask_about"
"""The message shortcut's callback id."""
ASK: Final = "ask"
"""The global shortcut's callback id."""
MENU: Final = {f"{row.work}_{row.name}": row for row in TABLE if row.menu}
"""Verbs that are also message shortcuts, by their callback ids."""
SHORTCUTS: Final = (ASK_ABOUT, ASK, *MENU)
