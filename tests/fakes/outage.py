"""A platform that accepts no messages for a while: every call that shows something fails, hangs, or is cut off.

Its events still arrive, and logging in still works.
"""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from tests.fakes.discord import FakeDiscord
from tests.fakes.discord.faults import Fault as DiscordFault
from tests.fakes.slack import FakeSlack
from tests.fakes.slack.faults import Fault as SlackFault

Kind = Literal["failing", "cut", "hanging"]

ON_DISCORD = ("/channels/*", "/webhooks/*")
ON_SLACK = ("chat.*", "conversations.*", "files.*", "assistant.*", "agents.*")
FOR_EVER = 10**9


class Outage:
    def __init__(self, fake: FakeDiscord | FakeSlack, kind: Kind) -> None:
        """Begin the outage now. Hanging calls are cut off when it ends."""
        self._over = asyncio.Event()
        faults: Any = fake.faults
        self._waiting: list[Any] = faults.waiting
        gate = self._over if kind == "hanging" else None
        status = 503 if kind == "failing" else 0
        self._faults: list[Any] = (
            [DiscordFault("*", pattern, status, times=FOR_EVER, gate=gate) for pattern in ON_DISCORD]
            if isinstance(fake, FakeDiscord)
            else [SlackFault(method, status=status, times=FOR_EVER, gate=gate) for method in ON_SLACK]
        )
        self._waiting += self._faults

    def end(self) -> None:
        for fault in self._faults:
            self._waiting.remove(fault)
        self._over.set()
