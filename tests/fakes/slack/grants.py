"""Which token is good for what: a workspace's bot, or a whole organisation's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fakes.slack.world import Enterprise, Team, World


@dataclass(frozen=True)
class Grant:
    token: str
    team: Team | None
    enterprise: Enterprise | None
    scopes: set[str]
    active: bool


class Grants:
    def __init__(self, world: World) -> None:
        self.world = world
        # Tokens that were good once.
        self.gone: set[str] = set()

    def find(self, token: str) -> Grant | None:
        for team in self.world.teams.values():
            if team.bot_token == token and (team.installed or token in self.gone):
                return Grant(token, team, team.enterprise, team.scopes, team.installed)
        for enterprise in self.world.enterprises.values():
            if enterprise.token == token:
                return Grant(token, None, enterprise, enterprise.scopes, active=True)
        if token in self.gone:
            return Grant(token, None, None, set(), active=False)
        return None
