"""The validity of tokens: a workspace's, or a whole organisation's; and which have expired.

With token rotation (https://docs.slack.dev/authentication/using-token-rotation) a token lives twelve hours. Its
refresh token can be used once, and only the two newest tokens from it are valid.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
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


@dataclass(eq=False)
class Rotated:
    """The tokens of one installation: when each expires, the oldest first, and what the next is got with."""

    where: Team | Enterprise
    ends: dict[str, float] = field(default_factory=dict)
    refresh: str = ""


class Grants:
    def __init__(self, world: World) -> None:
        self.world = world
        # Tokens that were valid in the past.
        self.gone: set[str] = set()
        self.rotated: dict[str, Rotated] = {}

    def rotate(self, where: Team | Enterprise, seconds: float) -> Rotated:
        """The next token of a workspace or an organisation, with the refresh token after it."""
        rotated = self.rotated.setdefault(where.id, Rotated(where))
        token = f"xoxe.{self.world.new_token()}"
        rotated.ends[token] = time.time() + seconds
        rotated.refresh = f"xoxe-1-{secrets.token_hex(12)}"
        for old in list(rotated.ends)[:-2]:
            del rotated.ends[old]
            self.gone.add(old)
        if where.id in self.world.teams:
            where.bot_token = token  # type: ignore[union-attr]
        else:
            where.token = token  # type: ignore[union-attr]
        return rotated

    def expired(self, token: str) -> bool:
        return any(one.ends.get(token, time.time() + 1) <= time.time() for one in self.rotated.values())

    def expire(self, where: Team | Enterprise) -> None:
        """Expire the tokens, as after twelve hours."""
        self.rotated[where.id].ends = dict.fromkeys(self.rotated[where.id].ends, 0.0)

    def find(self, token: str) -> Grant | None:
        for team in self.world.teams.values():
            if team.bot_token == token and (team.installed or token in self.gone):
                return Grant(token, team, team.enterprise, team.scopes, team.installed)
        for one in self.rotated.values():
            if token in one.ends and one.where.id in self.world.teams:
                team = self.world.teams[one.where.id]
                return Grant(token, team, team.enterprise, team.scopes, team.installed)
        for enterprise in self.world.enterprises.values():
            if enterprise.token == token:
                return Grant(token, None, enterprise, enterprise.scopes, active=True)
        if token in self.gone:
            return Grant(token, None, None, set(), active=False)
        return None
