"""Turns Slack's faults into a sentence for the operator, or into a fault of `bot.adapters.surface`.

Slack documents error codes on each method's page. Independent of runs and messages.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.adapters.surface import Gone, NotEditable, PlaceClosed, Refused, SurfaceFault, Unavailable
from bot.events import UserError

if TYPE_CHECKING:
    from bot.config import SlackConfig

EXPIRED: Final = "token_expired"
# The permanent errors of "auth.test" and "apps.connections.open" in Slack's documentation.
_SENTENCES: Final = {
    "invalid_auth": "slack_run.token_refused",
    "not_authed": "slack_run.token_refused",
    EXPIRED: "slack_run.token_expired",
    "token_revoked": "slack_run.removed",
    "account_inactive": "slack_run.removed",
    "not_allowed_token_type": "slack_run.token_kind",
    "missing_scope": "slack_run.missing_scope",
    "team_access_not_granted": "slack_run.no_access",
    "access_denied": "slack_run.no_access",
    "org_login_required": "slack_run.no_access",
    "forbidden_team": "slack_run.no_access",
    "team_disabled": "slack_run.removed",
    "user_removed_from_team": "slack_run.removed",
}
NOT_IN_CHANNEL = frozenset({"not_in_channel", "channel_not_found"})
"""The bot must be invited. For a private channel without the bot, Slack answers that the channel does not exist."""
LOST = frozenset({"channel_not_found", "is_archived"})
"""The channel is deleted or archived, or it is private and the bot was removed from it."""
NOWHERE = frozenset(
    {"account_inactive", "invalid_auth", "not_authed", "not_installed", EXPIRED, "token_revoked"}
)
"""The bot cannot write anywhere in the workspace."""
NO_SCOPE = "missing_scope"
_SHUT = (
    NOT_IN_CHANNEL
    | NOWHERE
    | {
        "access_denied",
        "cannot_dm_bot",
        "cannot_reply_to_message",
        "ekm_access_denied",
        "enterprise_is_restricted",
        "is_archived",
        "is_inactive",
        "messages_tab_disabled",
        NO_SCOPE,
        "no_permission",
        "not_allowed_token_type",
        "not_authorized",
        "org_login_required",
        "team_access_not_granted",
        "team_not_found",
        "thread_not_found",
        "two_factor_setup_required",
        "user_disabled",
        "user_not_found",
        "user_not_in_channel",
        "user_not_visible",
    }
)
_FULL = frozenset({"cant_update_message", "edit_window_closed", "message_not_owned_by_app"})
_LATER = frozenset({"message_limit_exceeded", "rate_limited", "ratelimited", "team_added_to_org"})
_PERHAPS_DONE = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
"""Slack: "It's possible some aspect of the operation succeeded before the error was raised"."""

CALL_FAULTS = (SlackClientError, aiohttp.ClientError, OSError, TimeoutError)
"""The faults of slack_sdk and the network in a call."""


class Unsure(Unavailable):
    """It is unknown whether the call has succeeded."""


class Conflict(NotEditable):
    """The message is still being streamed, or is no longer being streamed."""


def code_of(fault: SlackApiError) -> str:
    """Slack's error code; "" if the response did not come from Slack."""
    response = fault.response
    data = response if isinstance(response, dict) else getattr(response, "data", None)
    code = data.get("error") if isinstance(data, dict) else ""
    return code if isinstance(code, str) else ""


def status_of(fault: SlackApiError) -> int:
    """The HTTP status of the response. If its body cannot be read, slack_sdk gives the response of aiohttp."""
    response = fault.response
    status = getattr(response, "status_code", None) or getattr(response, "status", None)
    return status if isinstance(status, int) else 0


def final(fault: SlackApiError) -> bool:
    """Whether every later try with the same token will fail too."""
    return code_of(fault) in _SENTENCES


@contextmanager
def as_sorry(settings: SlackConfig, variable: str = "") -> Generator[None]:
    """Turn faults of slack_sdk and the network into UserError. `variable` is the token's environment variable."""
    try:
        yield
    except SlackApiError as fault:
        code = code_of(fault)
        raise UserError(
            _SENTENCES.get(code, "slack_run.refused"),
            variable=variable or settings.bot_token_env,
            refresh=settings.refresh_token_env,
            id=settings.client_id_env,
            secret=settings.client_secret_env,
            code=code or status_of(fault),
            needed=fault.response.get("needed", "") if code == "missing_scope" else "",
            url=settings.api_base,
        ) from fault
    except CALL_FAULTS as fault:
        raise UserError("slack_run.unreachable", url=settings.api_base) from fault


def surface_fault(fault: Exception) -> SurfaceFault:
    """The surface's fault for one of CALL_FAULTS.

    Raise it without its cause: that may contain an address, and an address may be a secret.
    """
    if isinstance(fault, SlackApiError):
        return fault_of(status_of(fault), code_of(fault))
    if isinstance(fault, SlackClientError):
        return Refused(type(fault).__name__)
    if isinstance(fault, aiohttp.ClientConnectorError):  # nothing was sent
        return Unavailable(type(fault).__name__)
    return Unsure(type(fault).__name__)


def fault_of(status: int, error: str) -> SurfaceFault:
    """The surface's fault for a response. `error` is Slack's code, "" if the response has none."""
    if error in _LATER or status == 429:
        return Unavailable(error or f"HTTP {status}")
    if error in _PERHAPS_DONE or status >= 500 or (not error and status == 200):
        return Unsure(error or f"HTTP {status}")
    if error == "message_not_found":
        return Gone()
    if error in ("streaming_state_conflict", "message_not_in_streaming_state", "stopped_by_user"):
        return Conflict()
    if error in _FULL:
        return NotEditable()
    if error in _SHUT or error.startswith("restricted_action") or status in (401, 403):
        return PlaceClosed(error or status)
    return Refused(error or f"HTTP {status}")
