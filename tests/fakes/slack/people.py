"""Users, their groups, and the bot among them: who they are over the wire."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fakes.slack.world import Team


@dataclass(eq=False)
class User:
    id: str
    name: str
    team: Team
    locale: str = "en-US"
    admin: bool = False
    bot: bool = False
    deleted: bool = False

    @property
    def mention(self) -> str:
        return f"<@{self.id}>"

    @property
    def handle(self) -> str:
        return self.name.lower().replace(" ", ".")

    def payload(self, locale: bool = False) -> dict[str, Any]:
        profile: dict[str, Any] = {"real_name": self.name, "display_name": self.name, "team": self.team.id}
        if self.bot:
            profile |= {"api_app_id": self.team.app_id, "bot_id": self.team.bot_id}
        payload: dict[str, Any] = {
            "id": self.id,
            "team_id": self.team.id,
            "name": self.handle,
            "deleted": self.deleted,
            "real_name": self.name,
            "tz": "America/Sao_Paulo",
            "tz_offset": -10800,
            "profile": profile,
            "is_admin": self.admin,
            "is_owner": False,
            "is_primary_owner": False,
            "is_restricted": False,
            "is_ultra_restricted": False,
            "is_bot": self.bot,
            "is_app_user": False,
            "updated": 1700000000,
        }
        if self.team.enterprise is not None:
            payload["enterprise_user"] = {"id": self.id, "enterprise_id": self.team.enterprise.id}
        return payload | ({"locale": self.locale} if locale else {})

    def short(self) -> dict[str, Any]:
        """As interactions have it."""
        return {"id": self.id, "username": self.handle, "name": self.handle, "team_id": self.team.id}

    def __repr__(self) -> str:
        return f"<User {self.name}>"


@dataclass(eq=False)
class UserGroup:
    id: str
    handle: str
    team: Team
    users: list[User] = field(default_factory=list)

    def payload(self, users: bool) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "id": self.id,
            "team_id": self.team.id,
            "is_usergroup": True,
            "name": self.handle,
            "handle": self.handle,
            "user_count": len(self.users),
            "date_delete": 0,
        }
        return payload | ({"users": [user.id for user in self.users]} if users else {})
