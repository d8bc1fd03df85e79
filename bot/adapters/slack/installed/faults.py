"""What can go wrong between us and Slack as a whole, as a sentence with what to do about it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.events import Sorry

if TYPE_CHECKING:
    from bot.config import SlackConfig

# Slack's documentation, "auth.test" and "apps.connections.open", errors: with these no later try succeeds, either.
_SENTENCES: Final = {
    "invalid_auth": "slack_run.token_refused",
    "not_authed": "slack_run.token_refused",
    "token_expired": "slack_run.token_refused",
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


def code_of(fault: SlackApiError) -> str:
    """Slack's word for what is wrong; "" if the answer was none of Slack's."""
    response = fault.response
    data = response if isinstance(response, dict) else getattr(response, "data", None)
    code = data.get("error") if isinstance(data, dict) else ""
    return code if isinstance(code, str) else ""


def final(fault: SlackApiError) -> bool:
    """Whether trying again with the same token is useless."""
    return code_of(fault) in _SENTENCES


@contextmanager
def in_words(settings: SlackConfig, variable: str = "") -> Generator[None]:
    """Turn what slack_sdk and the network raise into a Sorry; `variable` names where the token stands."""
    try:
        yield
    except SlackApiError as fault:
        code = code_of(fault)
        status = getattr(fault.response, "status_code", getattr(fault.response, "status", ""))
        raise Sorry(
            _SENTENCES.get(code, "slack_run.refused"),
            variable=variable or settings.bot_token_env,
            code=code or status,
            needed=fault.response.get("needed", "") if code == "missing_scope" else "",
            url=settings.api_base,
        ) from fault
    except (SlackClientError, aiohttp.ClientError, TimeoutError, OSError) as fault:
        raise Sorry("slack_run.unreachable", url=settings.api_base) from fault
