"""Messages that a proxy (PluralKit, Tupperbox) posts by a webhook in place of a player's, in a thread of the bot.

The player's own message arrives first, then the proxy's, then the player's is deleted. So a message from a player with
a confirmed proxied name waits a moment for the proxy's message to replace it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import discord

from bot.adapters.discord.received.placing import location_of_message
from bot.adapters.intake import KeyedLocks
from storage.faults import StorageFault

if TYPE_CHECKING:
    from bot.adapters.discord.installed.client import Client
    from storage.proxies import ProxiedName

WAIT_S = 2.0
"""Seconds that a player's own message waits for the proxy, which usually needs less than one."""
REMEMBERED_S: Final = 60.0
"""Seconds for which a message's author is remembered; a proxy is later than that only if Discord is down."""
THREADS: Final = 500
MESSAGES: Final = 20
"""How many messages are remembered per thread."""
LATE: Final = 1_000


@dataclass(slots=True)
class _Written:
    """A player's own message. `over` is set once a proxy has posted it again or it was deleted; None for a message that
    was taken as a turn itself.
    """

    id: int
    author: int
    content: str
    at: float
    over: asyncio.Event | None


class Proxied:
    """Matches proxies' messages with players'; one per client. A restart loses what it remembers of the last minute."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._threads: OrderedDict[int, deque[_Written]] = OrderedDict()
        self._late: OrderedDict[int, int] = OrderedDict()
        self._noting = KeyedLocks()

    async def by(self, message: discord.Message) -> ProxiedName | None:
        """The proxied name whose words a webhook's message has; None for a message that is no player's, or whose words
        were already taken.
        """
        if not message.content:
            return None
        async with self._noting.lock(message.channel.id):
            return await self._by(message)

    async def _by(self, message: discord.Message) -> ProxiedName | None:
        rows: list[ProxiedName] = []
        with suppress(StorageFault):
            if (space := await self._space(message)) is not None:
                rows = await self._client.app.records.proxies.named(space, message.author.name)
        row = next((row for row in rows if row.confirmed), None)
        if row is None:
            return None
        originals = self._originals(message)
        authors_messages = [written for written in originals if str(written.author) == row.author_id]
        # If the message is another person's, so is the proxy, which uses the same name.
        if not authors_messages:
            return row if not originals else None
        written = authors_messages[-1]
        if written.over is not None:
            written.over.set()
            return row
        self._late[message.id] = written.id
        while len(self._late) > LATE:
            self._late.popitem(last=False)
        return None

    async def stays(self, message: discord.Message) -> bool:
        """Wait for a proxy if the author has a proxied name. Returns whether the message itself is for the bot."""
        async with self._noting.lock(message.channel.id):
            written = await self._noted(message)
        if written is None or written.over is None:
            return True
        try:
            async with asyncio.timeout(WAIT_S):
                await written.over.wait()
        except TimeoutError:
            written.over = None
            return True
        return False

    async def _noted(self, message: discord.Message) -> _Written | None:
        names: list[ProxiedName] = []
        with suppress(StorageFault):
            if not message.content or (space := await self._space(message)) is None:
                return None
            names = await self._client.app.records.proxies.by_person(space, str(message.author.id))
        over = asyncio.Event() if any(row.confirmed for row in names) else None
        written = _Written(message.id, message.author.id, message.content, self._now(), over)
        self._remember(message.channel.id, written)
        return written

    def original(self, message: int) -> int:
        """The message that was taken as a turn before a proxy posted it again as this one; otherwise this message
        itself.
        """
        return self._late.get(message, message)

    async def noted(self, channel: int) -> None:
        """Wait until the authors of the last messages are known; one may have arrived a moment ago."""
        await self._noting.after(channel)

    async def deleted(self, channel: int, message: int) -> bool:
        """Note that a message is gone. Returns whether this withdraws nothing, because a proxy has posted its words
        again.
        """
        await self.noted(channel)
        for written in self._threads.get(channel, ()):
            if written.id == message and written.over is not None:
                written.over.set()
        return message in self._late.values()

    async def _space(self, message: discord.Message) -> str | None:
        """The space, if the message is in a thread of the bot."""
        if message.guild is None or not isinstance(message.channel, discord.Thread):
            return None
        space = location_of_message(message).space
        thread_row = await self._client.app.records.threads.get(space, str(message.channel.id))
        return space if thread_row is not None else None

    def _remember(self, thread: int, written: _Written) -> None:
        self._threads.setdefault(thread, deque(maxlen=MESSAGES)).append(written)
        self._threads.move_to_end(thread)
        while len(self._threads) > THREADS:
            self._threads.popitem(last=False)

    def _originals(self, message: discord.Message) -> list[_Written]:
        """People's last messages in the thread whose words, without a proxy's marks, are those of this message."""
        words, since = message.content.strip(), self._now() - REMEMBERED_S
        return [
            written
            for written in self._threads.get(message.channel.id, ())
            if written.at >= since
            and words in written.content
            and not (written.over is not None and written.over.is_set())
        ]

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
