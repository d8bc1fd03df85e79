"""Conversations: channels, public and private, direct messages with the bot, and direct messages of several people."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.fakes.slack.messages import Message
    from tests.fakes.slack.people import User
    from tests.fakes.slack.world import Team

# https://docs.slack.dev/reference/scopes: what a conversation is called in scopes and in events.
SCOPE = {"channel": "channels", "group": "groups", "im": "im", "mpim": "mpim"}


@dataclass(eq=False)
class Channel:
    team: Team
    id: str
    name: str
    kind: str = "channel"
    members: list[User] = field(default_factory=list)
    archived: bool = False
    # The person of a direct conversation.
    user: User | None = None
    # By ts; ephemeral messages are only here.
    posts: dict[str, Message] = field(default_factory=dict)
    replies: dict[str, list[Message]] = field(default_factory=dict)

    @property
    def messages(self) -> list[Message]:
        """Top-level messages, including ephemeral ones; replies are in `message.thread`."""
        return [
            post for post in self.posts.values() if post.thread_ts in (None, post.ts) and not post.deleted
        ]

    @property
    def everything(self) -> list[Message]:
        """All messages, including replies."""
        return [post for post in self.posts.values() if not post.deleted]

    @property
    def has_bot(self) -> bool:
        return self.team.bot in self.members

    @property
    def external(self) -> bool:
        """Whether people of another workspace are in it (Slack Connect)."""
        return any(member.team is not self.team for member in self.members)

    @property
    def event(self) -> str:
        """The event to which an app subscribes for messages here."""
        return f"message.{SCOPE[self.kind]}"

    def thread(self, ts: str) -> list[Message]:
        return [reply for reply in self.replies.get(ts, []) if not reply.deleted]

    def put(self, message: Message) -> None:
        self.posts[message.ts] = message
        if message.thread_ts is not None:
            self.replies.setdefault(message.thread_ts, []).append(message)

    @property
    def shown_name(self) -> str:
        """As interactions have it."""
        return {"im": "directmessage", "group": "privategroup"}.get(self.kind, self.name)

    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "id": self.id,
            "created": 1700000000,
            "is_archived": self.archived,
            "is_im": self.kind == "im",
            "is_org_shared": False,
            "context_team_id": self.team.id,
        }
        if self.user is not None:
            return payload | {"user": self.user.id}
        return payload | {
            "name": self.name,
            "name_normalized": self.name,
            "is_channel": self.kind == "channel",
            "is_group": self.kind == "group",
            "is_mpim": self.kind == "mpim",
            "is_private": self.kind in ("group", "mpim"),
            "is_member": self.has_bot,
            "is_general": self.name == "general",
            "num_members": len(self.members),
        }

    def __repr__(self) -> str:
        return f"<Channel {self.name}>"
