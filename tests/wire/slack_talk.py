"""A conversation on the fake Slack as a person sees it, and a command as a person types it."""

from __future__ import annotations

from collections.abc import Callable

from tests.fakes.slack import Channel, FakeSlack, Message
from tests.fakes.slack.elements import held
from tests.wire.driver import Post

STOP = "stop"


class SlackTalk:
    """A conversation over messages of the fake; `messages` returns the present ones. `root` is the thread's first
    message, or None in the channel.
    """

    def __init__(
        self,
        slack: FakeSlack,
        channel: Channel,
        messages: Callable[[], list[Message]],
        root: Callable[[], Message | None] = lambda: None,
    ) -> None:
        self.slack = slack
        self.channel = channel
        self._messages = messages
        self._root = root

    @property
    def root(self) -> Message | None:
        return self._root()

    def messages(self) -> list[Message]:
        return [message for message in self._messages() if not message.deleted]

    def posts(self) -> list[Post]:
        seen = self.messages()
        stoppable = self.stoppable
        last = next((message for message in reversed(seen) if message.user.bot), None)
        return [
            Post(
                message.user.name,
                message.shown,
                actions(message) + ((STOP,) if stoppable and message is last else ()),
            )
            for message in seen
        ]

    @property
    def stoppable(self) -> bool:
        """Whether Slack shows its own stop button here."""
        session = self.slack.session(self.root) if self.root is not None else None
        return session is not None and session.status == "processing"

    def said(self) -> list[str]:
        """The texts, without those that only show a run's progress."""
        return [message.shown for message in self.messages() if message.user.bot and not is_plan(message)]


def actions(message: Message) -> tuple[str, ...]:
    """The actions of the buttons: the first word of their action_ids."""
    return tuple(element["action_id"].split(":")[0] for _, element in held(message.blocks))


def is_plan(message: Message) -> bool:
    return any(block["type"] == "plan" for block in message.blocks)


def public(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message.ephemeral_to is None]
