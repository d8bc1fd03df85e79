"""Messages, their buttons and their files, as a person sees them and as the API sends them."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.discord.ids import stamp

if TYPE_CHECKING:
    from tests.fakes.discord.channels import Channel, Thread
    from tests.fakes.discord.world import User

VOICE = 1 << 13
SUPPRESS_EMBEDS, HAS_THREAD, EPHEMERAL, LOADING, COMPONENTS_V2 = 1 << 2, 1 << 5, 1 << 6, 1 << 7, 1 << 15
# Written by Discord itself: "Ana started a thread", and the first message of a thread.
THREAD_CREATED, REPLY, COMMAND, THREAD_STARTER, MENU_COMMAND = 18, 19, 20, 21, 23
SYSTEM = (THREAD_CREATED, THREAD_STARTER)
BUTTON, TEXT_DISPLAY = 2, 10
SELECTS = (3, 5, 6, 7, 8)


@dataclass(frozen=True)
class File:
    """A file of a message or of a command."""

    id: int
    name: str
    data: bytes
    content_type: str
    url: str
    description: str | None = None
    # For a voice message; the waveform is kept as the client sends it.
    seconds: float | None = None

    @property
    def size(self) -> int:
        return len(self.data)

    def payload(self) -> dict[str, Any]:
        payload: dict[str, Any] = {
            "id": str(self.id),
            "filename": self.name,
            "size": self.size,
            "url": self.url,
            "proxy_url": self.url,
            "content_type": self.content_type,
            "flags": 0,
        }
        if self.seconds is not None:
            payload |= {"duration_secs": self.seconds, "waveform": "AAAA"}
        return payload | ({"description": self.description} if self.description else {})


@dataclass(frozen=True)
class Button:
    label: str
    custom_id: str | None
    style: int
    disabled: bool
    url: str | None
    emoji: str | None


def walk(components: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Every component, outermost first, as people read them."""
    for component in components:
        yield component
        yield from walk(component.get("components") or [])
        for inside in ("accessory", "component"):
            if isinstance(component.get(inside), dict):
                yield from walk([component[inside]])


@dataclass(eq=False)
class Message:
    id: int
    channel: Channel
    author: User
    content: str = ""
    components: list[dict[str, Any]] = field(default_factory=list)
    embeds: list[dict[str, Any]] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    flags: int = 0
    type: int = 0
    nonce: str | int | None = None
    created: float = 0.0
    edited: float | None = None
    reply_to: Message | None = None
    # Who gets a notification: users, and "@everyone".
    mentions: list[User | str] = field(default_factory=list)
    # Who is mentioned, with or without a notification.
    named: list[User] = field(default_factory=list)
    edits: list[tuple[float, str]] = field(default_factory=list)
    deleted: bool = False
    webhook: int | None = None
    # The application that owns the webhook, and the avatar of this message.
    application: int | None = None
    avatar: str = ""
    interaction: dict[str, Any] | None = None
    # The only person who sees an ephemeral message.
    only_for: User | None = None
    thread: Thread | None = None
    pinned: bool = False
    reactions: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The whole text: the content, then each text of the components."""
        texts = [
            component["content"] for component in walk(self.components) if component["type"] == TEXT_DISPLAY
        ]
        return "\n".join(part for part in (self.content, *texts) if part)

    @property
    def buttons(self) -> list[Button]:
        return [
            Button(
                component.get("label") or "",
                component.get("custom_id"),
                component["style"],
                bool(component.get("disabled")),
                component.get("url"),
                (component.get("emoji") or {}).get("name"),
            )
            for component in walk(self.components)
            if component["type"] == BUTTON
        ]

    @property
    def ephemeral(self) -> bool:
        return bool(self.flags & EPHEMERAL)

    @property
    def loading(self) -> bool:
        """Whether it still only says that the bot is thinking."""
        return bool(self.flags & LOADING)

    def payload(self, around: bool = True) -> dict[str, Any]:
        """The message as the API shows it; `around` adds the message that it replies to."""
        payload: dict[str, Any] = {
            "id": str(self.id),
            "channel_id": str(self.channel.id),
            "author": self.author.payload(),
            "content": self.content,
            "timestamp": stamp(self.created),
            "edited_timestamp": stamp(self.edited) if self.edited else None,
            "tts": False,
            "mention_everyone": "@everyone" in self.mentions,
            "mentions": [user.payload() for user in self.named],
            "mention_roles": list(dict.fromkeys(re.findall(r"<@&(\d+)>", self.content))),
            "attachments": [file.payload() for file in self.files],
            "embeds": copy.deepcopy(self.embeds),
            "components": copy.deepcopy(self.components),
            "pinned": False,
            "type": self.type,
            "flags": self.flags,
        }
        if self.nonce is not None:
            payload["nonce"] = self.nonce
        if self.webhook is not None:
            payload["webhook_id"] = str(self.webhook)
            if self.application is not None:
                payload["application_id"] = str(self.application)
        if self.interaction is not None:
            payload["interaction_metadata"] = self.interaction
        if self.thread is not None:
            payload["thread"] = self.thread.payload()
        if self.reply_to is not None:
            reference = {
                "type": 0,
                "message_id": str(self.reply_to.id),
                "channel_id": str(self.reply_to.channel.id),
            }
            if self.channel.guild is not None:
                reference["guild_id"] = str(self.channel.guild.id)
            payload["message_reference"] = reference
            if around:
                is_deleted = self.reply_to.deleted
                payload["referenced_message"] = None if is_deleted else self.reply_to.payload(around=False)
        return payload

    def event(self) -> dict[str, Any]:
        """The message as in MESSAGE_CREATE and MESSAGE_UPDATE: with the guild and the author's membership."""
        payload = self.payload() | {"channel_type": self.channel.type}
        guild = self.channel.guild
        if guild is not None:
            payload["guild_id"] = str(guild.id)
            if self.webhook is None and self.author.id in guild.members:
                payload["member"] = guild.members[self.author.id].payload()
        return payload

    def __repr__(self) -> str:
        mark = " deleted" if self.deleted else ""
        return f"<Message {self.author.name}: {self.text[:200]!r}{mark} {[button.label for button in self.buttons]}>"
