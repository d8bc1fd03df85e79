"""Stores, changes and deletes messages, and sends the bot their events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.fakes.slack import events
from tests.fakes.slack.messages import Message

if TYPE_CHECKING:
    from tests.fakes.slack.channels import Channel
    from tests.fakes.slack.people import User
    from tests.fakes.slack.service import FakeSlack


class Post:
    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack

    def put(self, channel: Channel, user: User, text: str, **more: Any) -> Message:
        """Store a new message. Messages that only one person sees have no event."""
        message = Message(channel, self.slack.world.ids.ts(), user, text, **more)
        channel.put(message)
        if message.thread_ts and user.bot:
            self.slack.agents.spoken(channel, message.thread_ts)
        if message.ephemeral_to is None:
            self.tell(message)
        self.slack.world.touch()
        return message

    def tell(self, message: Message) -> None:
        """As `message`; as `app_mention` too, where a person names the bot in a channel. Not in direct messages."""
        channel = message.channel
        events_sent = [
            self.slack.delivery.event(channel.team, events.message(message), channel.event, channel)
        ]
        bot = channel.team.bot
        if not message.user.bot and channel.kind not in ("im", "mpim") and bot.mention in message.text:
            mention = events.mention(message)
            events_sent.insert(0, self.slack.delivery.event(channel.team, mention, "app_mention", channel))
        message.sent += [event for event in events_sent if event is not None]

    def change(self, message: Message, **values: Any) -> None:
        before = message.payload()
        message.change(edited=self.slack.world.ids.ts(), **values)
        changed = events.changed(message, before, self.slack.world.ids.ts())
        channel = message.channel
        self.slack.delivery.event(channel.team, changed, channel.event, channel)
        self.slack.world.touch()

    def delete(self, message: Message) -> None:
        deletion = events.deleted(message, self.slack.world.ids.ts())
        message.deleted = True
        channel = message.channel
        if message.ephemeral_to is None:
            self.slack.delivery.event(channel.team, deletion, channel.event, channel)
        self.slack.world.touch()
