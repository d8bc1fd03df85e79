"""Who has installed the app on Slack: the tables that slack_sdk's stores read and write, column for column.

A test compares them with slack_sdk's own. Imported through `storage.tables`, which has them all. They lead with no
space: a workspace is looked up here before anything is known of it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, DateTime, Index, Integer, String, Table, func

from storage.columns import metadata
from storage.ownership import Ownership


def _bot() -> tuple[Column[Any], ...]:
    """The columns of what the app was granted, and where. Times are UTC without a time zone."""
    return (
        Column("bot_token", String(200)),
        Column("bot_id", String(32)),
        Column("bot_user_id", String(32)),
        Column("bot_scopes", String(1000)),
        Column("bot_refresh_token", String(200)),
        Column("bot_token_expires_at", DateTime),
        Column("is_enterprise_install", Boolean, default=False, nullable=False),
        Column("installed_at", DateTime, nullable=False, default=func.now()),
    )


# An installation belongs to the workspace, not to the person who made it: without it nobody there gets answers.
_OF_THE_PLATFORM = Ownership(to="platform").info

slack_bots = Table(
    "slack_bots",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("client_id", String(32), nullable=False),
    Column("app_id", String(32), nullable=False),
    Column("enterprise_id", String(32)),
    Column("enterprise_name", String(200)),
    Column("team_id", String(32)),
    Column("team_name", String(200)),
    *_bot(),
    Index("slack_bots_idx", "client_id", "enterprise_id", "team_id", "installed_at"),
    info=_OF_THE_PLATFORM,
)

slack_installations = Table(
    "slack_installations",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("client_id", String(32), nullable=False),
    Column("app_id", String(32), nullable=False),
    Column("enterprise_id", String(32)),
    Column("enterprise_name", String(200)),
    Column("enterprise_url", String(200)),
    Column("team_id", String(32)),
    Column("team_name", String(200)),
    *_bot(),
    Column("user_id", String(32), nullable=False),
    Column("user_token", String(200)),
    Column("user_scopes", String(1000)),
    Column("user_refresh_token", String(200)),
    Column("user_token_expires_at", DateTime),
    Column("incoming_webhook_url", String(200)),
    Column("incoming_webhook_channel", String(200)),
    Column("incoming_webhook_channel_id", String(200)),
    Column("incoming_webhook_configuration_url", String(200)),
    Column("token_type", String(32)),
    Index("slack_installations_idx", "client_id", "enterprise_id", "team_id", "user_id", "installed_at"),
    info=_OF_THE_PLATFORM,
)

slack_oauth_states = Table(
    "slack_oauth_states",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("state", String(200), nullable=False),
    Column("expire_at", DateTime, nullable=False),
    info=_OF_THE_PLATFORM,
)
