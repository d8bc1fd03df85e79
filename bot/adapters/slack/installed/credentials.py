"""The operator's credentials for Slack, and which of them are missing. Makes no call and imports nothing from Slack's
libraries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bot.events import UserError

if TYPE_CHECKING:
    from bot.config import Config


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of one app, "" for a missing one. Without a bot token only OAuth installations are served."""

    bot: str = field(default="", repr=False)
    app: str = field(default="", repr=False)
    signing: str = field(default="", repr=False)
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    refresh: str = field(default="", repr=False)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The values that must not appear in any log."""
        values = (self.bot, self.app, self.signing, self.client_secret, self.refresh)
        return tuple(secret for secret in values if secret)

    @property
    def installs(self) -> bool:
        """Whether workspaces can install the app by OAuth."""
        return bool(self.client_id and self.client_secret)


def configured(config: Config) -> Credentials:
    """The configured credentials. Raises UserError for one that has the wrong form."""
    slack = config.slack
    variables = (
        slack.bot_token_env,
        slack.app_token_env,
        slack.signing_secret_env,
        slack.client_id_env,
        slack.client_secret_env,
        slack.refresh_token_env,
    )
    values = [(config.secret(name) or "").strip() for name in variables]
    for variable, value in zip(variables, values, strict=True):
        if any(character.isspace() for character in value):
            raise UserError("slack_run.token_refused", variable=variable)
    # These two are often swapped.
    for variable, value, others in ((variables[0], values[0], "xapp-"), (variables[1], values[1], "xox")):
        if value.startswith(others):
            raise UserError(
                "slack_run.swapped_bot" if others == "xapp-" else "slack_run.swapped_app", variable=variable
            )
    return Credentials(*values)


def needed(config: Config) -> Credentials | None:
    """The credentials that the mode needs; None if none are set. Raises UserError ("slack_run.…") for missing ones."""
    slack, credentials = config.slack, configured(config)
    if credentials.bot and credentials.refresh and not credentials.installs:
        raise UserError(
            "slack_run.refresh_alone",
            variable=slack.refresh_token_env,
            id=slack.client_id_env,
            secret=slack.client_secret_env,
        )
    if slack.mode == "socket":
        if not credentials.bot and not credentials.app:
            return None
        if not credentials.app:
            raise UserError("slack_run.no_app_token", variable=slack.app_token_env)
        if not credentials.bot:
            raise UserError("slack_run.no_bot_token", variable=slack.bot_token_env)
        return credentials
    if not (credentials.bot or credentials.client_id or credentials.client_secret or credentials.signing):
        return None
    if not credentials.signing:
        raise UserError("slack_run.no_signing_secret", variable=slack.signing_secret_env)
    if not credentials.bot and not credentials.installs:
        raise UserError(
            "slack_run.no_workspace",
            variable=slack.bot_token_env,
            id=slack.client_id_env,
            secret=slack.client_secret_env,
        )
    if bool(credentials.client_id) != bool(credentials.client_secret):
        raise UserError("slack_run.half_client", id=slack.client_id_env, secret=slack.client_secret_env)
    return credentials
