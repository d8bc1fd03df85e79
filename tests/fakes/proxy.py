"""A proxy between a client and a server that cuts connections, holds back data, and loses a response.

Knows no protocol, except that a request over HTTP begins with its method and path.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from threading import Thread
from typing import NamedTuple, Self

Connect = Callable[[], Awaitable[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]
WRITES = re.compile(rb"\A(POST|PUT|PATCH|DELETE) (\S+) HTTP/1")


class Sent(NamedTuple):
    """An HTTP request that changes something, with the time at which the client sent it."""

    at: float
    method: str
    path: str


class Proxy:
    """A proxy on a loopback port, running in a separate thread inside its `with` block, so that a client that blocks
    its loop is also served.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._open: set[asyncio.StreamWriter] = set()
        self.there = True
        """Whether new connections are accepted."""
        self.loses = b""
        """The answer to data that contains this is lost, once, and its connection cut."""
        self.sent: list[Sent] = []
        self.port = 0

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self) -> None:
        """Break all connections."""
        self._loop.call_soon_threadsafe(self._cut)

    def hold(self) -> None:
        """Hold all data back until `release`."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def release(self) -> None:
        self._loop.call_soon_threadsafe(self._flows.set)

    async def _start(self) -> None:
        self._flows = asyncio.Event()
        self._flows.set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        self._flows.set()
        self._cut()
        while self._open:  # noqa: ASYNC110 - each closes by itself
            await asyncio.sleep(0.01)

    def _cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.there:
            writer.transport.abort()
            return
        self._open.add(writer)
        far_writer = None
        with suppress(OSError):
            far_reader, far_writer = await self._connect()
            self._open.add(far_writer)
            lost = asyncio.Event()
            await asyncio.gather(self._ask(reader, far_writer, lost), self._answer(far_reader, writer, lost))
        writer.close()
        self._open -= {writer, far_writer}

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                if (match := WRITES.match(data)) is not None:
                    self.sent.append(Sent(time.monotonic(), match[1].decode(), match[2].decode()))
                if self.loses and self.loses in data:
                    self.loses = b""
                    lost.set()
                await self._passed(data, writer)
        writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, lost: asyncio.Event
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                if lost.is_set():
                    writer.transport.abort()
                    return
                await self._passed(data, writer)
        writer.close()

    async def _passed(self, data: bytes, writer: asyncio.StreamWriter) -> None:
        await self._flows.wait()
        writer.write(data)
        await writer.drain()
