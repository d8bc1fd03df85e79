"""Delivers people's actions to the bot, over its sockets or by signed POSTs, and repeats unacknowledged ones.

https://docs.slack.dev/apis/events-api#retries: an event that is not acknowledged within three seconds is sent again at
once, after one minute and after five. Commands and interactions are sent once; the person sees that they failed.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.fakes.slack import events

if TYPE_CHECKING:
    from tests.fakes.slack.channels import Channel
    from tests.fakes.slack.service import FakeSlack
    from tests.fakes.slack.sockets import Socket
    from tests.fakes.slack.world import Team

EVENT, COMMAND, INTERACTIVE = "events_api", "slash_commands", "interactive"
ACK_SECONDS, UNHURRIED_SECONDS = 3.0, 60.0
"""How long Slack waits, and the fake: that the bot keeps those three is measured where the machine is quiet."""


@dataclass(eq=False)
class Try:
    """One delivery; `socket` is None over HTTP, and if no bot was connected."""

    id: str
    attempt: int
    at: float
    socket: Socket | None = None
    reason: str | None = None
    acked: float | None = None
    status: int | None = None
    failed: str | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(eq=False)
class Sent:
    """A payload sent to the bot, with its answer."""

    kind: str
    team: Team
    payload: dict[str, Any]
    tries: list[Try] = field(default_factory=list)
    # Seconds from the acknowledged delivery to its acknowledgement, and the acknowledgement's payload.
    acked: float | None = None
    response: dict[str, Any] | None = None
    # What was posted to its response_url.
    responses: list[dict[str, Any]] = field(default_factory=list)
    # What the person sees when a command or press fails.
    failed: str | None = None
    late: int = 0
    first: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def settled(self) -> bool:
        return self.acked is not None

    @property
    def event_id(self) -> str | None:
        return self.payload.get("event_id")

    @property
    def name(self) -> str:
        payload = self.payload
        return str(payload.get("command") or payload.get("event", payload).get("type"))

    def take(self, attempt: Try, answer: dict[str, Any] | None) -> None:
        if self.acked is None:
            self.acked, self.response = attempt.acked, answer

    def __repr__(self) -> str:
        how = f"acked in {self.acked:.3f} s" if self.acked is not None else self.failed or "unacked"
        return f"<Sent {self.kind} {self.name} {len(self.tries)} tries, {how}>"


class Delivery:
    def __init__(self, slack: FakeSlack) -> None:
        self.slack = slack
        self.sent: list[Sent] = []
        self.waiting: dict[str, tuple[Sent, Try]] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._count = 0

    def event(
        self, team: Team, event: dict[str, Any], needs: str, channel: Channel | None = None
    ) -> Sent | None:
        """Begin to deliver an event, if the app is installed, has subscribed to it and is in the channel."""
        slack = self.slack
        installation = team.installed or team.org_install
        if not installation or needs not in slack.events or (channel is not None and not channel.has_bot):
            return None
        self._count += 1
        payload = events.envelope(team, event, slack.world.ids.next("Ev"), slack.verification_token, channel)
        return self.begin(Sent(EVENT, team, payload))

    def begin(self, sent: Sent) -> Sent:
        self.sent.append(sent)
        self._task(self._through(sent))
        return sent

    def again(self, sent: Sent, attempt: int, reason: str, socket: Socket | None = None) -> Sent:
        """Deliver again, whatever happened to earlier deliveries."""
        self._task(self._once(sent, attempt, reason, socket))
        return sent

    def _task(self, doing: Any) -> None:
        task = asyncio.create_task(doing)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def close(self) -> None:
        tasks = list(self._running)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _through(self, sent: Sent) -> None:
        first_try = await self._once(sent, 0, None)
        sent.first.set()
        if sent.kind != EVENT:
            if first_try.acked is None:
                sent.failed = (
                    "operation_timeout" if str(first_try.failed).endswith("timeout") else "dispatch_failed"
                )
            self.slack.world.touch()
            return
        for attempt, seconds in enumerate(self.slack.redelivery, start=1):
            if first_try.failed == "no_retry":
                return
            await asyncio.sleep(0 if sent.settled else seconds)
            if sent.settled:
                return
            first_try = await self._once(sent, attempt, first_try.failed)

    async def _once(self, sent: Sent, attempt: int, reason: str | None, socket: Socket | None = None) -> Try:
        delivery = Try(f"{sent.event_id or 'in'}-{self.slack.world.ids.next('E')}", attempt, time.monotonic())
        delivery.reason = reason
        sent.tries.append(delivery)
        self.waiting[delivery.id] = (sent, delivery)
        try:
            if self.slack.http.url is not None:
                await self.slack.http.hand(sent, delivery)
            else:
                await self.slack.sockets.hand(sent, delivery, socket)
        finally:
            del self.waiting[delivery.id]
        self.slack.world.touch()
        return delivery
