"""One workspace, as its runs reach it. The client is asked for at every call: tokens change while runs go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from slack_sdk.web.async_client import AsyncWebClient

    from bot.adapters.slack.installed.workspaces import Me


class Workspaces(Protocol):
    """See workspaces.Workspaces. Both raise Shut where the app is not installed."""

    async def client(self, team: str, enterprise: str = "") -> AsyncWebClient: ...

    async def me(self, team: str, enterprise: str = "") -> Me: ...


@dataclass(frozen=True, slots=True)
class Access:
    """`team` is "" where only the enterprise is known."""

    workspaces: Workspaces
    team: str
    enterprise: str = ""

    @property
    def space(self) -> str:
        return self.team or self.enterprise

    async def client(self) -> AsyncWebClient:
        """Raises Shut where the app is not installed (any more)."""
        return await self.workspaces.client(self.team, self.enterprise)

    async def me(self) -> Me:
        return await self.workspaces.me(self.team, self.enterprise)
