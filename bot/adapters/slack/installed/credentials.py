"""What the operator has given the bot for Slack, and what is lacking. Asks nobody; imports nothing of Slack's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.events import Sorry

if TYPE_CHECKING:
    from bot.config import Config


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of one app; "" for what is not there. Without a bot token it is only where others have installed it."""

    bot: str = field(default="", repr=False)
    app: str = field(default="", repr=False)
    signing: str = field(default="", repr=False)
    client_id: str = ""
    client_secret: str = field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no log may hold."""
        return tuple(one for one in (self.bot, self.app, self.signing, self.client_secret) if one)

    @property
    def installs(self) -> bool:
        """Whether workspaces can install the app by OAuth."""
        return bool(self.client_id and self.client_secret)


def given(config: Config) -> Credentials:
    """All that is there. Raises Sorry for one that cannot be right."""
    slack = config.slack
    variables = (
        slack.bot_token_env,
        slack.app_token_env,
        slack.signing_secret_env,
        slack.client_id_env,
        slack.client_secret_env,
    )
    found = [(config.secret(name) or "").strip() for name in variables]
    for variable, value in zip(variables, found, strict=True):
        if any(character.isspace() for character in value):
            raise Sorry("slack_run.token_refused", variable=variable)
    # Each is often put where the other belongs.
    for variable, value, others in ((variables[0], found[0], "xapp-"), (variables[1], found[1], "xox")):
        if value.startswith(others):
            raise Sorry(
                "slack_run.swapped_bot" if others == "xapp-" else "slack_run.swapped_app", variable=variable
            )
    return Credentials(*found)


def needed(config: Config) -> Credentials | None:
    """What its mode needs, None if nothing of it is there. Raises Sorry ("slack_run.…") where a part is lacking."""
    slack, found = config.slack, given(config)
    if slack.mode == "socket":
        if not found.bot and not found.app:
            return None
        if not found.app:
            raise Sorry("slack_run.no_app_token", variable=slack.app_token_env)
        if not found.bot:
            raise Sorry("slack_run.no_bot_token", variable=slack.bot_token_env)
        return found
    if not (found.bot or found.client_id or found.client_secret or found.signing):
        return None
    if not found.signing:
        raise Sorry("slack_run.no_signing_secret", variable=slack.signing_secret_env)
    if not found.bot and not found.installs:
        raise Sorry(
            "slack_run.no_workspace",
            variable=slack.bot_token_env,
            id=slack.client_id_env,
            secret=slack.client_secret_env,
        )
    if bool(found.client_id) != bool(found.client_secret):
        raise Sorry("slack_run.half_client", id=slack.client_id_env, secret=slack.client_secret_env)
    return found
