"""Creates, edits and deletes messages, and sends the events to connected sessions.

Knows no route; permissions were checked before.
"""

from __future__ import annotations

import copy
import time
from typing import TYPE_CHECKING, Any

from tests.fakes.discord import rules
from tests.fakes.discord.channels import Channel, Thread
from tests.fakes.discord.messages import COMPONENTS_V2, LOADING, Message, walk

if TYPE_CHECKING:
    from tests.fakes.discord.service import FakeDiscord
    from tests.fakes.discord.world import User

NONCE_SECONDS = 180.0


class Post:
    def __init__(self, discord: FakeDiscord) -> None:
        self.discord = discord
        self._nonces: dict[tuple[int, str], tuple[float, Message]] = {}

    def write(
        self, channel: Channel, author: User, form: rules.Form, body: dict[str, Any], **more: Any
    ) -> Message:
        """Store a new message and send its event."""
        world = self.discord.world
        message = Message(
            more.pop("id", None) or world.ids.next(), channel, author, created=time.time(), **more
        )
        self._fill(message, form)
        self.mention(message, body)
        return self.put(message)

    def put(self, message: Message) -> Message:
        channel = message.channel
        channel.posts[message.id] = message
        person = message.author.id in self.discord.world.users  # webhooks do not join threads
        if isinstance(channel, Thread) and person and message.author.id not in channel.people:
            channel.people[message.author.id] = time.time()
        if not message.ephemeral:
            self.discord.gateway.emit("MESSAGE_CREATE", message.event(), channel=channel)
        self.discord.touch()
        return message

    def rewrite(self, message: Message, form: rules.Form, body: dict[str, Any]) -> Message:
        """Store the new state of a message and send its event."""
        if message.loading:
            message.flags &= ~LOADING
            form.flags &= ~LOADING
            self._fill(message, form)
            # Only the first response notifies people; an edit does not.
            self.mention(message, body)
        else:
            self._fill(message, form)
            message.named = rules.named(message.text, self.discord.world)
            if message.reply_to is not None and message.reply_to.author in message.mentions:
                message.named.append(message.reply_to.author)
        message.edited = time.time()
        message.edits.append((time.monotonic(), message.text))
        self.told(message)
        return message

    def told(self, message: Message) -> None:
        if not message.ephemeral:
            self.discord.gateway.emit("MESSAGE_UPDATE", message.event(), channel=message.channel)
        self.discord.touch()

    def remove(self, message: Message) -> None:
        message.deleted = True
        event = {"id": str(message.id), "channel_id": str(message.channel.id)}
        if message.channel.guild is not None:
            event["guild_id"] = str(message.channel.guild.id)
        if not message.ephemeral:
            self.discord.gateway.emit("MESSAGE_DELETE", event, channel=message.channel)
        self.discord.touch()

    def mention(self, message: Message, body: dict[str, Any]) -> None:
        world = self.discord.world
        everyone = message.channel.allows("MENTION_EVERYONE") if message.author is world.bot else True
        author = message.reply_to.author if message.reply_to and message.webhook is None else None
        message.mentions = rules.pings(body, message.text, world, author, everyone)
        named = [
            *rules.named(message.text, world),
            *(mention for mention in message.mentions if not isinstance(mention, str)),
        ]
        message.named = list(dict.fromkeys(named))

    def repeated(self, channel: Channel, body: dict[str, Any]) -> Message | None:
        """The message that was recently sent with the same nonce, if nonces are enforced."""
        nonce = rules.nonce(body)
        if nonce is None or body.get("enforce_nonce") is not True:
            return None
        at, message = self._nonces.get((channel.id, str(nonce)), (0.0, None))
        return message if time.monotonic() - at < NONCE_SECONDS else None

    def remember(self, message: Message) -> None:
        if message.nonce is not None:
            self._nonces[message.channel.id, str(message.nonce)] = (time.monotonic(), message)

    def forget_nonces(self) -> None:
        """Forget all nonces, as after a few minutes."""
        self._nonces.clear()

    def _fill(self, message: Message, form: rules.Form) -> None:
        message.content = form.content.strip()
        message.embeds = [{"type": "rich"} | copy.deepcopy(embed) for embed in form.embeds]
        message.flags = form.flags
        files = [file for file in message.files if file.id in form.kept]
        added = [
            self.discord.files.keep(message.channel.id, name, data, kind, description)
            for name, data, kind, description in form.added
        ]
        message.files = files + added
        message.components = copy.deepcopy(form.components)
        if message.flags & COMPONENTS_V2:
            self._resolve(message)

    def _resolve(self, message: Message) -> None:
        """Give every attachment:// its address, and each file its name and size."""
        by_name = {file.name: file for file in message.files}
        for component in walk(message.components):
            media = [component[key] for key in ("media", "file") if isinstance(component.get(key), dict)]
            media += [item["media"] for item in component.get("items") or []]
            for item in media:
                file = by_name.get(item["url"].removeprefix("attachment://"))
                if file is None:
                    item.setdefault("proxy_url", item["url"])
                    continue
                item.update(
                    url=file.url, proxy_url=file.url, content_type=file.content_type, width=None, height=None
                )
                item["attachment_id"] = str(file.id)
                if "file" in component:
                    component.update(name=file.name, size=file.size)
