"""Disturbs the bot's connections, on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.fakes.discord.gateway import INVALID, RECONNECT, Socket

if TYPE_CHECKING:
    from tests.fakes.discord.service import FakeDiscord


class Network:
    def __init__(self, discord: FakeDiscord) -> None:
        self.discord = discord
        self.gateway = discord.gateway

    async def connected(self, shards: int = 1, seconds: float = 60.0) -> None:
        """Wait until that many sessions exist, and every connection has one."""
        gateway = self.gateway
        await self.discord.until(lambda: shards <= len(gateway.live) == len(gateway.sockets), seconds)

    async def reconnect(self) -> None:
        """Op 7: ask every client to reconnect; returns when they have left."""
        await self._part(lambda socket: socket.say(RECONNECT))

    async def invalidate(self, resumable: bool) -> None:
        """Op 9: invalidate the sessions, resumable or not; returns when the clients have left."""
        sockets = [session.socket for session in self.gateway.live]
        if not resumable:
            for session in self.gateway.live:
                self.gateway.end(session)
        await self._part(lambda socket: socket.say(INVALID, resumable) if socket in sockets else None)

    async def drop(self) -> None:
        """Cut every socket."""
        await self._part(lambda socket: socket.cut())

    async def replay(self, count: int) -> None:
        """Cut every socket; the next RESUME repeats the last `count` events."""
        self.gateway.repeat = count
        await self.drop()

    async def send_raw(self, event: str, data: dict[str, Any]) -> None:
        """Send any event with any content to every session."""
        for session in self.gateway.live:
            session.dispatch(event, data)

    async def _part(self, how: Callable[[Socket], None]) -> None:
        leaving = {socket for socket in self.gateway.sockets if socket.session is not None}
        for socket in leaving:
            how(socket)
        await self.discord.until(lambda: not leaving & self.gateway.sockets)
