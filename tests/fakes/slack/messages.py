"""Messages: what people see of them, and their form over the wire."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.slack import texts

if TYPE_CHECKING:
    from tests.fakes.slack.channels import Channel
    from tests.fakes.slack.delivery import Sent
    from tests.fakes.slack.files import File
    from tests.fakes.slack.people import User
    from tests.fakes.slack.streams import Stream


@dataclass(frozen=True)
class Edit:
    """What a message showed before an edit, and the time of the edit."""

    at: float
    shown: str


@dataclass(eq=False)
class Message:
    channel: Channel
    ts: str
    user: User
    text: str = ""
    blocks: list[dict[str, Any]] = field(default_factory=list)
    thread_ts: str | None = None
    files: list[File] = field(default_factory=list)
    # The shared messages.
    attachments: list[dict[str, Any]] = field(default_factory=list)
    metadata: dict[str, Any] | None = None
    subtype: str | None = None
    # The custom name and picture of an app's post, which chat.update cannot change.
    username: str = ""
    icon: str = ""
    # The only person who sees an ephemeral message.
    ephemeral_to: User | None = None
    # Whether @channel in the text is read as a mention, by `parse` or `link_names`.
    parsed: bool = False
    broadcast: bool = False
    pinned: bool = False
    edited: str | None = None
    deleted: bool = False
    edits: list[Edit] = field(default_factory=list)
    reactions: list[tuple[str, User]] = field(default_factory=list)
    stream: Stream | None = None
    # The deliveries to the bot about this message.
    sent: list[Sent] = field(default_factory=list)

    @property
    def thread(self) -> list[Message]:
        """The replies."""
        return self.channel.thread(self.ts)

    @property
    def root(self) -> Message:
        return self if self.thread_ts is None else self.channel.posts[self.thread_ts]

    @property
    def gone(self) -> bool:
        """Whether it is deleted, without replies that keep its place."""
        return self.deleted and not self.thread

    @property
    def shown(self) -> str:
        """The words that a person sees; with blocks, the text is only a fallback."""
        body = texts.shown(self.blocks) if self.blocks else self.text
        return "\n".join([part for part in (body, *(file.title for file in self.files)) if part])

    @property
    def streaming(self) -> bool:
        return self.stream is not None and self.stream.live

    @property
    def mentions(self) -> list[str]:
        """Whom it would really ping."""
        return texts.pings(self.text, self.parsed) + texts.block_pings(self.blocks)

    @property
    def buttons(self) -> list[str]:
        lines: list[str] = []
        for node in texts.walk(self.blocks):
            if node.get("type") == "button":
                lines.append(node["text"]["text"])
            elif node.get("type") == "feedback_buttons":
                lines += [node[name]["text"]["text"] for name in ("positive_button", "negative_button")]
        return lines

    @property
    def address(self) -> str:
        """The link to the message that a person can copy."""
        thread = f"?thread_ts={self.thread_ts}&cid={self.channel.id}" if self.thread_ts else ""
        return f"https://table.slack.com/archives/{self.channel.id}/p{self.ts.replace('.', '')}{thread}"

    def shared(self) -> dict[str, Any]:
        """As an attachment of a message that shares it."""
        files = [file.payload(self.channel) for file in self.files]
        return {
            "is_share": True,
            "is_msg_unfurl": True,
            "channel_id": self.channel.id,
            "ts": self.ts,
            "author_id": self.user.id,
            "author_name": self.user.name,
            "text": self.text,
            "fallback": f"{self.user.name}: {self.text}",
            "from_url": self.address,
        } | ({"files": files} if files else {})

    def change(self, **values: Any) -> None:
        """Record what it showed, and set the new values."""
        self.edits.append(Edit(time.monotonic(), self.shown))
        for name, value in values.items():
            setattr(self, name, value)

    def payload(self, metadata: bool = False) -> dict[str, Any]:
        """The message as in the history; a deleted one with replies is a tombstone."""
        team = self.channel.team
        if self.deleted:
            stone = {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "ts": self.ts}
            return stone | {"text": "This message was deleted.", "hidden": True} | self._thread()
        payload: dict[str, Any] = {
            "type": "message",
            "user": self.user.id,
            "ts": self.ts,
            "text": self.text,
            "team": team.id,
        }
        if self.user.team is not team:
            payload["team"] = self.user.team.id
        if self.user.bot:
            payload |= {
                "bot_id": team.bot_id,
                "app_id": team.app_id,
                "bot_profile": {
                    "id": team.bot_id,
                    "app_id": team.app_id,
                    "user_id": team.bot.id,
                    "name": team.bot.name,
                    "deleted": False,
                    "team_id": team.id,
                },
            }
        if self.username:
            del payload["user"]
            payload |= {"subtype": "bot_message", "username": self.username}
            payload |= {"icons": {"image_48": self.icon}} if self.icon else {}
        if self.blocks:
            payload["blocks"] = copy.deepcopy(self.blocks)
        if self.subtype:
            payload["subtype"] = self.subtype
        if self.files:
            payload |= {"files": [file.payload(self.channel) for file in self.files], "upload": False}
        if self.attachments:
            payload["attachments"] = copy.deepcopy(self.attachments)
        if self.edited:
            payload["edited"] = {"user": self.user.id, "ts": self.edited}
        if self.metadata is not None and metadata:
            payload["metadata"] = self.metadata
        if self.reactions:
            payload["reactions"] = self._reactions()
        return payload | self._thread()

    def _thread(self) -> dict[str, Any]:
        if self.thread_ts not in (None, self.ts):
            return {"thread_ts": self.thread_ts, "parent_user_id": self.root.user.id}
        replies = [message for message in self.thread if message.ephemeral_to is None]
        if not replies:
            return {}
        return {
            "thread_ts": self.ts,
            "reply_count": len(replies),
            "reply_users": list(dict.fromkeys(reply.user.id for reply in replies)),
            "latest_reply": replies[-1].ts,
        }

    def _reactions(self) -> list[dict[str, Any]]:
        names = dict.fromkeys(name for name, _ in self.reactions)
        return [
            {"name": name, "users": [user.id for reaction, user in self.reactions if reaction == name]}
            for name in names
        ]

    def __repr__(self) -> str:
        mark = " streaming" if self.streaming else " deleted" if self.deleted else ""
        indent = "> " if self.thread_ts not in (None, self.ts) else ""
        return f"<{indent}{self.username or self.user.name} {self.ts}{mark}: {self.shown[:200]!r} {self.buttons}>"
