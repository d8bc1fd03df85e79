"""Processes of one bot on one Postgres that share Discord's shards, and a guild of each shard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from storage.advisory_locks import CLAIM
from tests.fakes.discord import FakeDiscord
from tests.fakes.postgres import created
from tests.wire.inbox import DATABASE, owed, rows_of
from tests.wire.model import Answerer, service, settings
from tests.wire.on_discord import OnDiscord
from tests.wire.process import BotProcess

SHARDS = 4
IDENTIFY_S = 5.0


class Fleet:
    """Processes of one bot with a separate database, and the guild of each shard."""

    def __init__(self, discord: FakeDiscord, folder: Path, url: str, model: str) -> None:
        self.discord = discord
        self.guilds = [discord.guild(f"Table {n}") for n in range(SHARDS)]
        self.channels = [guild.text("general") for guild in self.guilds]
        self.guests = 0
        self.driver = OnDiscord(discord, Answerer())
        self.data = folder / "data"
        self.data.mkdir()
        (self.data / DATABASE).write_text(url.replace("+psycopg", ""), encoding="utf-8")
        self.config = folder / "config.toml"
        storage = f'[storage]\nurl = "{url}"\nfiles = "{self.data.as_uri()}"\n'
        self.config.write_text(f"{model}\n{self.driver.settings()}\n{storage}", encoding="utf-8")
        self.folder = folder
        self.processes: list[BotProcess] = []

    async def start(self) -> BotProcess:
        number = len(self.processes)
        process = BotProcess(self.folder / f"process-{number}", self.config, self.driver.environ())
        self.processes.append(process)
        await process.start()
        return process

    def live(self) -> list[int]:
        return sorted(session.shard for session in self.discord.gateway.live)

    async def until(self, met: Callable[[], Any], seconds: float = 60.0) -> Any:
        try:
            return await self.discord.until(met, seconds)
        except AssertionError:
            print(*(process.log(whole=True)[-6000:] for process in self.processes), sep="\n=====\n")
            raise

    def identified_apart(self) -> None:
        """Check that no IDENTIFY in a bucket came earlier than Discord allows, and that none was refused."""
        gateway = self.discord.gateway
        assert gateway.closed == []
        for bucket in range(gateway.max_concurrency):
            times = [at for at, shard, _ in gateway.identified if shard % gateway.max_concurrency == bucket]
            assert all(later - earlier >= IDENTIFY_S for earlier, later in pairwise(times)), times

    async def ask(self, *shards: int) -> None:
        """Ask a question on each shard's server."""
        for shard in shards:
            self.guests += 1
            guest = self.discord.user(
                f"Guest {self.guests}"
            )  # a person who asks only once is never rate limited
            self.guilds[shard].join(guest)
            await self.discord.say(guest, self.channels[shard], f"is {shard} a number?", mention=True)

    def asked(self) -> list[tuple[Any, ...]]:
        """The requests: the space, the state and the receiving process of each."""
        return rows_of(self.data, "SELECT space, state, process FROM inbox ORDER BY seq")

    def ended(self, number: int) -> bool:
        """Whether `number` requests came and all are answered (that there are no books)."""
        states = [state for _, state, _ in self.asked()]
        assert len(states) <= number, states
        return states == number * ["failed"] and not owed(self.data)

    def ran(self) -> dict[int, set[str]]:
        """By shard: the processes that have executed runs."""
        found: dict[int, set[str]] = {}
        for space, executor in rows_of(
            self.data,
            "SELECT space, executor_id FROM inbox JOIN dbos.workflow_status ON workflow_uuid = id",
        ):
            found.setdefault((int(space) >> 22) % SHARDS, set()).add(executor)
        return found

    def holders(self) -> dict[int, int]:
        """The number of shards of each process, by process id."""
        rows = rows_of(
            self.data,
            "SELECT machine, count(*) FROM pg_locks JOIN pg_stat_activity USING (pid) JOIN processes"
            " ON application_name LIKE 'sutradhar ' || id || '%' WHERE locktype = 'advisory'"
            f" AND classid::bigint = {CLAIM} AND objsubid = 2 GROUP BY machine",
        )
        return {int(machine.rpartition(":")[2]): n for machine, n in rows}

    async def holding(self, pid: int, number: int) -> None:
        """Wait until the process has `number` shards; meanwhile the fakes continue, including voice in real time."""
        async with asyncio.timeout(90):
            while (await asyncio.to_thread(self.holders)).get(pid) != number:  # noqa: ASYNC110
                await asyncio.sleep(0.2)

    def answers(self, shard: int) -> list[str]:
        """The bot's texts on a shard's server, in the channel and its threads."""
        places = [self.channels[shard], *self.channels[shard].threads]
        return [
            message.text
            for place in places
            for message in place.messages
            if message.author.bot and not message.deleted
        ]


Sharded = Callable[..., Awaitable[Fleet]]
"""Makes a fleet, of so many shards and `max_concurrency`."""


@asynccontextmanager
async def sharded(postgres: str, folder: Path) -> AsyncIterator[Sharded]:
    async with AsyncExitStack() as stack:

        async def made(shards: int = SHARDS, max_concurrency: int = 1) -> Fleet:
            discord = await stack.enter_async_context(
                FakeDiscord(shards=shards, max_concurrency=max_concurrency)
            )
            model = await stack.enter_async_context(service(Answerer()))
            fleet = Fleet(discord, folder, created(postgres), settings(model.base_url))

            async def end() -> None:
                await asyncio.gather(*(process.kill() for process in fleet.processes))

            stack.push_async_callback(end)
            return fleet

        yield made
