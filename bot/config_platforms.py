"""How the platforms are reached, and what the bot does there, as a person writes it into config.toml."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bot.config_fields import choice, like, within

SNOWFLAKES: Final = (1, 2**63 - 1)
"""What Discord numbers its things with (its documentation, "Snowflakes")."""


@dataclass(frozen=True, slots=True)
class DiscordConfig:
    """How Discord is reached, and what the bot does there.

    `token_env` names an environment variable. `api_base` and `gateway_url` may be a proxy's. With
    `shard_ids` this process runs only these of `shard_count` shards. `free_chat` reads every message in
    the bot's threads, which needs the Message Content intent. Commands go to `sync_guilds` alone if there
    are any.
    """

    token_env: str = "DISCORD_TOKEN"
    application_id: int | None = within(None, *SNOWFLAKES)
    api_base: str = "https://discord.com/api/v10"
    gateway_url: str | None = None
    shard_ids: tuple[int, ...] = within((), 0, 16_383)
    shard_count: int | None = within(None, 1, 16_384)
    free_chat: bool = False
    threads: bool = True
    sync_guilds: tuple[int, ...] = within((), *SNOWFLAKES)


@dataclass(frozen=True, slots=True)
class SlackConfig:
    """How Slack is reached, and who is in charge there.

    The `…_env` name environment variables. In "socket" mode `connections` sockets are held open, with the
    app-level token; in "http" mode signed requests come to `http_host`:`http_port`, and with a client id and
    secret any number of workspaces can install the app. `admins` are user ids beside a workspace's own admins.
    """

    bot_token_env: str = "SLACK_BOT_TOKEN"
    app_token_env: str = "SLACK_APP_TOKEN"
    signing_secret_env: str = "SLACK_SIGNING_SECRET"
    client_id_env: str = "SLACK_CLIENT_ID"
    client_secret_env: str = "SLACK_CLIENT_SECRET"
    mode: str = choice("socket", "http")
    connections: int = within(2, 1, 10)
    api_base: str = "https://slack.com/api"
    http_host: str = "127.0.0.1"
    http_port: int = within(3000, 0, 65_535)
    admins: tuple[str, ...] = like((), r"[UW][A-Z0-9]{2,}", "config.slack_member")
