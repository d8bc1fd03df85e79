"""An interaction: a person's action, and the bot's response.

It knows the deadlines; the rules of responses are in rest_interactions.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.discord.channels import Channel
from tests.fakes.discord.messages import Message
from tests.fakes.discord.world import User

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL = 2, 3, 4, 5
# https://docs.discord.com/developers/interactions/receiving-and-responding
SECONDS_TO_ANSWER = 3.0
UNHURRIED_SECONDS = 60.0
"""How many seconds the fake waits instead of Discord's three, which are tested only on a quiet machine."""
TOKEN_SECONDS = 15 * 60.0
GUEST_FOLLOWUPS = 5


@dataclass(eq=False)
class Asked:
    """One interaction; the bot's answer is added to it."""

    id: int
    type: int
    user: User
    channel: Channel
    data: dict[str, Any]
    guest: bool
    source: Message | None = None
    # How long Discord waits for the response.
    timeout: float = SECONDS_TO_ANSWER
    token: str = field(default_factory=lambda: secrets.token_urlsafe(48).replace("-", "a").replace("_", "b"))
    sent: float = field(default_factory=time.monotonic)
    # Seconds until the bot acknowledged it, and with which type of callback.
    acked: float | None = None
    kind: int | None = None
    ephemeral: bool = False
    followups: list[Message] = field(default_factory=list)
    modal: dict[str, Any] | None = None
    choices: list[dict[str, Any]] | None = None
    original: Message | None = None
    dead: bool = False
    # No bot was connected to acknowledge it: the person saw that it failed.
    failed: bool = False
    # A type 6 whose @original was edited later.
    updated: bool = False
    answered: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def response(self) -> Message | None:
        """The visible answer; None while the bot is only thinking, and after it was deleted."""
        if self.original is None or self.original.loading or self.original.deleted:
            return None
        if self.kind == 6 and not self.updated:
            return None
        return self.original

    @property
    def text(self) -> str:
        return self.response.text if self.response else ""

    def begin(self) -> None:
        """Start the clock once the interaction has been sent."""
        self.sent = time.monotonic()

    def late(self, now: float) -> bool:
        return self.failed or now - self.sent > self.timeout

    @property
    def expired(self) -> bool:
        return self.dead or time.monotonic() - self.sent > TOKEN_SECONDS

    @property
    def owners(self) -> dict[str, str]:
        """`authorizing_integration_owners`: the owner of the installation."""
        if self.guest:
            return {"1": str(self.user.id)}
        return {"0": str(self.channel.guild.id) if self.channel.guild else "0"}

    @property
    def context(self) -> int:
        """0 in a guild, 1 in the bot's own DM, 2 in a private channel of others."""
        if self.channel.guild is not None:
            return 0
        return 1 if self.channel.type == 1 else 2

    def __repr__(self) -> str:
        return (
            f"<Asked {self.data.get('name') or self.data.get('custom_id')} kind={self.kind} {self.response}>"
        )
