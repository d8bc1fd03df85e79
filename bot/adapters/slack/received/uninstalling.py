"""The app is removed from a workspace: its tokens are forgotten, and what runs for it is stopped.

Knows no message: none can be sent there any more.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

from bot.adapters.slack.placing import PLATFORM, origin_of

if TYPE_CHECKING:
    from slack_bolt.async_app import AsyncApp

    from bot.adapters.slack.installed.oauth import Store
    from bot.adapters.slack.received.intake import Intake
    from bot.events import Request

_log = logging.getLogger(__name__)


def listen(bolt: AsyncApp, intake: Intake, store: Store | None) -> None:
    async def heard(body: dict[str, Any], event: dict[str, Any]) -> None:
        await gone(intake, store, *_where(body), event)

    bolt.event("app_uninstalled")(heard)
    bolt.event("tokens_revoked")(heard)


async def gone(
    intake: Intake, store: Store | None, team: str, enterprise: str, event: dict[str, Any]
) -> None:
    """Raises StorageFault if it could not be kept: then it is not acknowledged, and comes again."""
    users = revoked(event)
    if users is None:
        return
    if store is not None:
        await store.remove(team, enterprise, users=users)
    if users:
        return
    intake.workspaces.forget(team, enterprise)
    intake.people.forget(team or enterprise)
    stopped = await intake.app.stop_where(lambda request: _of(request, team, enterprise))
    _log.warning("removed from %s; %d runs there were stopped", team or enterprise, stopped)


def _where(body: dict[str, Any]) -> tuple[str, str]:
    """The workspace and its enterprise; no workspace where the whole organisation's installation is meant."""
    team, enterprise = body.get("team_id") or "", body.get("enterprise_id") or ""
    match body:
        case {"authorizations": [{"is_enterprise_install": True, "enterprise_id": str(org)}, *_]}:
            return "", org
    return ("", team) if team.startswith("E") else (team, enterprise)


def _of(request: Request, team: str, enterprise: str) -> bool:
    if request.place.platform != PLATFORM:
        return False
    if team:
        return request.place.space == team
    try:
        origin = origin_of(request.origin)
    except (KeyError, TypeError, ValueError):
        return request.place.space == enterprise
    return bool(enterprise) and origin.enterprise == enterprise


def revoked(event: dict[str, Any]) -> tuple[str, ...] | None:
    """Whose tokens are no good any more: () for the app's own, None for nobody's."""
    if event.get("type") == "app_uninstalled":
        return ()
    tokens = event.get("tokens")
    if not isinstance(tokens, dict):
        return None
    if tokens.get("bot"):
        return ()
    users = tuple(str(one) for one in cast("list[object]", tokens.get("oauth") or []))
    return users or None
