"""The Bolt app, and whose requests it lets in.

Knows no conversation and no listener. It is given every secret, and takes none from the environment.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.authorization.async_authorize import AsyncAuthorize

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.installed.workspaces import Workspaces

PREFIX: Final = "SLACK_"
"""Of variables that Bolt reads by itself; by a client's id and secret it would begin to keep installations in files."""

_log = logging.getLogger(__name__)


def bolt_app(
    workspaces: Workspaces, client: AsyncWebClient, signing_secret: str, *, uninstalled: str = ""
) -> AsyncApp:
    """An app that listens to nothing yet. `client` gives the requests' own their address and session.

    `uninstalled` is said where a command comes from a workspace that nobody has installed it in.
    """
    logger = logging.getLogger("slack_bolt")
    # At a lower level it would write down the content of what it refuses, and what every listener decides.
    logger.setLevel(logging.WARNING)

    async def note(body: dict[str, Any], next: Callable[[], Awaitable[None]]) -> None:
        """Events say as whom the app hears of them; an organisation's installation has one user for each workspace."""
        match body:
            case {"authorizations": [{"is_enterprise_install": True, "user_id": str(user)} as one, *_]}:
                team, enterprise = (
                    body.get("context_team_id") or body.get("team_id"),
                    one.get("enterprise_id"),
                )
                workspaces.note(str(team or ""), str(enterprise or ""), user)
        await next()

    with _unread(PREFIX):
        return AsyncApp(
            name="sutradhar",
            logger=logger,
            client=client,
            before_authorize=note,
            authorize=cast(Any, _Installed(workspaces)),
            signing_secret=signing_secret,
            # What a listener does until the request is kept comes before the acknowledgement.
            process_before_response=True,
            # Its own message that somebody deletes is the bot's business; the listeners leave out what it says.
            ignoring_self_events_enabled=False,
            user_facing_authorize_error_message=uninstalled or None,
            attaching_function_token_enabled=False,
            attaching_conversation_kwargs_enabled=False,
        )


class _Installed(AsyncAuthorize):
    """Lets in what comes from a workspace that has the app; asks Slack nothing, for each event waits for this."""

    def __init__(self, workspaces: Workspaces) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._workspaces = workspaces

    async def __call__(
        self,
        *,
        enterprise_id: str | None,
        team_id: str | None,
        user_id: str | None,
        **_: object,
    ) -> AuthorizeResult | None:
        team, enterprise = team_id or "", enterprise_id or ""
        found = await self._workspaces.installed(team, enterprise)
        if found is None:
            return None
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_user_id=(await self._workspaces.me(team, enterprise)).user,
            bot_id=found.bot,
            bot_token=found.token,
            user_id=user_id,
        )


@contextmanager
def _unread(prefix: str) -> Generator[None]:
    """Without these variables meanwhile. Nothing else runs in between: nothing is awaited."""
    taken = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(prefix)}
    try:
        yield
    finally:
        os.environ.update(taken)
