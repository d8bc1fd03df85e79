"""Socket Mode: connections come and go, and no event is lost, delayed or left unacknowledged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from slack_bolt.async_app import AsyncApp

from bot.adapters.slack.installed.clients import Clients
from bot.adapters.slack.installed.sockets import Sockets
from bot.adapters.slack.installed.workspaces import Workspaces, bolt_app
from bot.config import SlackConfig
from bot.events import UserError
from tests.fakes.slack import Channel, FakeSlack, User


@dataclass
class Line:
    """A Bolt app on its sockets; it acknowledges commands once `goes_on` is set."""

    slack: FakeSlack
    sockets: Sockets
    bolt: AsyncApp
    channel: Channel
    ana: User
    running: asyncio.Task[None]
    heard: list[str] = field(default_factory=list)
    greeted: int = 0
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, text: str) -> float | None:
        """Give a command; returns the seconds until it was acknowledged."""
        return (await self.slack.command(self.ana, self.channel, "/sutradhar", text)).acked


@asynccontextmanager
async def line(connections: int = 1) -> AsyncIterator[Line]:
    async with FakeSlack() as slack:
        team = slack.workspace("Table")
        settings = SlackConfig(api_base=slack.api, connections=connections)
        clients = Clients(settings)
        workspaces = Workspaces(clients, slack.bot_token)
        await workspaces.learn()
        bolt = bolt_app(workspaces, clients.bare(), "")
        hellos: list[Line] = []

        def hello() -> None:
            hellos[0].greeted += 1

        sockets = Sockets(bolt, clients.bare(slack.app_token), settings, hello)
        running = asyncio.create_task(sockets.run())
        made = Line(slack, sockets, bolt, team.channel("general"), team.user("Ana"), running)
        hellos.append(made)
        made.goes_on.set()

        @bolt.command("/sutradhar")
        async def hear(ack: Any, body: dict[str, Any]) -> None:
            made.heard.append(body["text"])
            if body["text"] == "fail":
                raise RuntimeError("the database is gone")
            if body["text"] != "quick":
                await made.goes_on.wait()
            await ack()

        @bolt.event("app_mention")
        async def mentioned(event: dict[str, Any]) -> None:
            made.heard.append(event["text"].partition(" ")[2])
            await made.goes_on.wait()

        try:
            await slack.connected(connections)
            yield made
        finally:
            await sockets.stop_receiving()
            running.cancel()
            await asyncio.wait([running])
            await clients.close()


async def test_the_configured_number_of_sockets_is_open_and_each_is_read() -> None:
    async with line(3) as at:
        await at.slack.until(lambda: at.greeted == 3)
        for n in range(6):
            assert await at.ask(str(n)) is not None
        assert sorted(len(socket.acked) for socket in at.slack.sockets.live) == [2, 2, 2]


async def test_a_slow_event_delays_no_other() -> None:
    async with line() as at:
        at.goes_on.clear()
        slow = [asyncio.create_task(at.ask(f"slow {n}")) for n in range(50)]
        await at.slack.until(lambda: len(at.heard) == 50)
        acked = await at.ask("quick")
        assert acked is not None
        at.goes_on.set()
        assert None not in await asyncio.gather(*slow)


@pytest.mark.parametrize("rude", [True, False])
async def test_a_lost_connection_is_restored(rude: bool) -> None:
    async with line(2) as at:
        first = at.slack.sockets.live[0]
        await at.slack.drop(first, rude=rude)
        assert await at.ask("by the other one") is not None
        await at.slack.connected(2)
        assert await at.ask("one") is not None
        assert await at.ask("other") is not None


@pytest.mark.parametrize("reason", ["refresh_requested", "warning"])
async def test_a_connection_that_slack_renews_is_read_until_the_new_one_is_open(reason: str) -> None:
    async with line() as at:
        (old,) = at.slack.sockets.live
        at.goes_on.clear()
        task = asyncio.create_task(at.ask("on the old one"))
        await at.slack.until(lambda: at.heard)
        await at.slack.disconnect(reason)
        await at.slack.until(lambda: at.slack.sockets.greeted == 2)
        at.goes_on.set()
        assert await task is not None
        assert len(old.acked) == 1, "acknowledged on the socket that delivered it"
        await old.ws.close()
        assert await at.ask("on the new one") is not None


async def test_retries_of_events_during_an_absence_are_not_dropped() -> None:
    async with line() as at:
        at.slack.redelivery = (0.1, 0.2, 2.0)
        at.slack.fail("apps.connections.open", status=503)
        await at.slack.drop()
        message = await at.slack.say(at.ana, at.channel, "hello", mention=True, wait=False)
        await at.slack.until(lambda: "hello" in at.heard)
        mention = next(delivery for delivery in message.sent if delivery.name == "app_mention")
        assert mention.tries[0].socket is None
        assert mention.tries[-1].attempt > 0


async def test_failed_events_are_delivered_again_and_ignored_ones_are_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with line() as at:
        with caplog.at_level(logging.CRITICAL, "slack_bolt"):
            at.slack.ack_seconds = 0.2
            assert await at.ask("fail") is None
        for event in ({"type": "something_new"}, {"type": "message", "channel": at.channel.id}):
            assert (await at.slack.send_raw(at.channel.team, event)).acked is not None


async def test_a_refused_app_token_gets_one_sentence_and_no_retry() -> None:
    async with line() as at:
        at.slack.app_token = "xapp-another"
        asked = len(at.slack.calls)
        with pytest.raises(UserError) as error:
            await at.sockets.admit()
        assert error.value.key == "slack_run.token_refused"
        assert error.value.values["variable"] == "SLACK_APP_TOKEN"
        await at.slack.drop()
        with pytest.raises(UserError) as error:
            await at.running
        assert error.value.key == "slack_run.token_refused"
        assert len(at.slack.calls) == asked + 2


async def test_disabled_socket_mode_gets_one_sentence() -> None:
    async with line(2) as at:
        await at.slack.disconnect("link_disabled", at.slack.sockets.live[0])
        with pytest.raises(UserError) as error:
            await at.running
        assert error.value.key == "slack_run.socket_off"


async def test_leaving_acknowledges_received_events_and_leaves_no_tasks() -> None:
    before = asyncio.all_tasks()
    async with line(2) as at:
        at.goes_on.clear()
        task = asyncio.create_task(at.ask("slow"))
        await at.slack.until(lambda: at.heard)
        leaving = asyncio.create_task(at.sockets.stop_receiving())
        await asyncio.sleep(0)
        at.goes_on.set()
        await leaving
        assert await task is not None
        await at.slack.until(lambda: not at.slack.sockets.all)
    assert asyncio.all_tasks() == before


async def test_an_unreadable_frame_ends_no_connection(caplog: pytest.LogCaptureFixture) -> None:
    async with line() as at:
        (socket,) = at.slack.sockets.live
        for text in (
            "",
            "{",
            "[]",
            '{"type": 7}',
            '{"envelope_id": "1", "type": "events_api", "payload": [1]}',
        ):
            await socket.ws.send_str(text)
        await socket.ws.send_bytes(b"\xff")
        await socket.say(
            {"envelope_id": "2", "type": "interactive", "payload": {"type": [], "team": 7, "user": 3}}
        )
        assert await at.ask("quick") is not None
    assert "Traceback" not in caplog.text
