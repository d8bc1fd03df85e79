"""A parsed call of the Web API: its arguments with their types, or the refusal."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.slack.channels import SCOPE, Channel
from tests.fakes.slack.refusal import Refusal, bad, missing

if TYPE_CHECKING:
    from tests.fakes.slack.grants import Grant
    from tests.fakes.slack.messages import Message
    from tests.fakes.slack.people import User
    from tests.fakes.slack.service import FakeSlack
    from tests.fakes.slack.world import Team


@dataclass
class Ask:
    slack: FakeSlack
    method: str
    at: float
    args: dict[str, Any] = field(default_factory=dict)
    token: str = ""
    # The raw header, for methods that accept the client secret there.
    basic: str = ""
    grant: Grant | None = None

    @property
    def scopes(self) -> set[str]:
        return self.grant.scopes if self.grant else set()

    def need(self, *scopes: str) -> None:
        for scope in scopes:
            if scope not in self.scopes:
                raise Refusal("missing_scope", needed=scope, provided=",".join(sorted(self.scopes)))

    @property
    def team_or_none(self) -> Team | None:
        """The token's workspace; for an organisation's token, that of the requested object."""
        if self.grant is None:
            return None
        if self.grant.team is not None:
            return self.grant.team
        named = (self.args.get(name) for name in ("channel", "channel_id", "channels", "user", "user_id"))
        where = [str(name) for name in named if name]
        for team in self.slack.world.teams.values():
            if team.enterprise is self.grant.enterprise and (
                team.id == self.args.get("team_id")
                or any(id in team.channels or id in team.users for id in where)
            ):
                return team
        return None

    @property
    def team(self) -> Team:
        if (team := self.team_or_none) is None:
            raise Refusal("missing_argument", "team_id is required with an organisation's token")
        return team

    # Arguments

    def text(self, name: str, required: bool = False, limit: int | None = None) -> str:
        value = self.args.get(name)
        if value is None or value == "":
            if required:
                raise missing(name)
            return ""
        if not isinstance(value, str):
            raise bad(f"must provide a string [json-pointer:/{name}]")
        if limit is not None and len(value) > limit:
            raise bad(f"must be less than {limit + 1} characters [json-pointer:/{name}]")
        return value

    def flag(self, name: str) -> bool:
        return self.args.get(name) in (True, 1, "1", "true", "True")

    def number(self, name: str, default: int) -> int:
        value = self.args.get(name, default)
        try:
            return int(value)
        except (TypeError, ValueError):
            raise bad(f"must provide an integer [json-pointer:/{name}]") from None

    def table(self, name: str) -> dict[str, Any]:
        tree: dict[str, Any] = self._parsed(name, dict, "an object")
        return tree

    def rows(self, name: str) -> list[Any]:
        rows: list[Any] = self._parsed(name, list, "an array")
        return rows

    def _parsed(self, name: str, kind: type[Any], called: str) -> Any:
        """A value, which in a form may be JSON."""
        value = self.args.get(name)
        if value is None:
            raise missing(name)
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except json.JSONDecodeError:
                raise bad(f"must provide {called} [json-pointer:/{name}]") from None
        if not isinstance(value, kind):
            raise bad(f"must provide {called} [json-pointer:/{name}]")
        return value

    # Things

    def channel(self, name: str = "channel", people: bool = False) -> Channel:
        """The channel by id; a person's id, where allowed, means their direct messages."""
        id = self.text(name, required=True)
        team = self.team_or_none
        if team is not None and people and id in team.users and id != team.bot.id:
            return team.dm(team.users[id])
        if team is None or id not in team.channels:
            raise Refusal("channel_not_found")
        channel = team.channels[id]
        if channel.kind != "channel" and not channel.has_bot:
            raise Refusal("channel_not_found")
        return channel

    def joined(self, channel: Channel) -> Channel:
        """A channel where the bot may post."""
        if channel.archived:
            raise Refusal("is_archived")
        if not channel.has_bot:
            raise Refusal("not_in_channel")
        return channel

    def reads(self, channel: Channel, scope_group: str) -> None:
        """A channel that the token may read; `scope_group` is "history" or "read"."""
        self.need(f"{SCOPE[channel.kind]}:{scope_group}")

    def message(self, channel: Channel, name: str = "ts") -> Message:
        message = channel.posts.get(self.text(name, required=True))
        if message is None or message.deleted or message.ephemeral_to is not None:
            raise Refusal("message_not_found")
        return message

    def root(self, channel: Channel, name: str = "thread_ts", error: str = "thread_not_found") -> str | None:
        """The thread's first message, by its ts."""
        ts = self.text(name)
        if not ts:
            return None
        message = channel.posts.get(ts)
        if message is None or message.ephemeral_to is not None or message.gone:
            raise Refusal(error)
        if message.thread_ts not in (None, ts):
            raise Refusal("cannot_reply_to_message", "that is a reply's ts, not its parent's")
        return ts

    def user(self, name: str = "user") -> User:
        user = self.slack.world.user(self.text(name, required=True))
        if user is None:
            raise Refusal("user_not_found")
        ours = self.team_or_none
        meets = ours is not None and any(user in channel.members for channel in ours.channels.values())
        if ours is not None and user.team is not ours and user.team.enterprise is None and not meets:
            raise Refusal("user_not_found")
        return user
