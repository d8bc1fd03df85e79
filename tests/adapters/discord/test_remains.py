"""Finished runs leave nothing in memory, because the database has everything."""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import partial
from pathlib import Path

from bot.adapters.intake import _Count
from bot.adapters.writer import Writer
from bot.events import Event, Stage, Status, Text
from bot.tracing import OpenSpan, TracedRun
from bot.work import Run
from storage.sqlite_connection import Connection
from tests.adapters.discord.wire import bot
from tests.fakes.discord import Channel, FakeDiscord, User

OURS = ("bot.", "cogs.", "storage.")


async def answer(run: Run) -> AsyncGenerator[Event, None]:
    yield Stage("search", "Searching")
    yield Status("Looking")
    yield Text("Found 3 passages.")
    yield Stage("answer", "Answer", answer=True)
    yield Text("It is Ana.")


def kept() -> Counter[str]:
    """The number of objects of each of the bot's own classes, and of tasks.

    Writers are left out, with the span of the run in which a writer's task began: they are dropped when the
    channel's limits are forgotten (tested in test_writer). Also left out are each person's recent requests (tested
    in test_cooldown), and the database's few connections, which stay open.
    """
    gc.collect()
    # Not isinstance: it would load modules that are loaded lazily.
    kinds = Counter(map(type, gc.get_objects()))
    for kind in (Writer, OpenSpan, TracedRun, _Count, Connection):
        del kinds[kind]
    named = {f"{kind.__module__}.{kind.__qualname__}": number for kind, number in kinds.items()}
    ours = Counter({name: number for name, number in named.items() if name.startswith(OURS)})
    return ours + Counter(tasks=len(asyncio.all_tasks()))


async def forget_cancelled_timers() -> None:
    """They keep the contexts of finished tasks until they are due; the loop removes them only once there are many."""
    loop = asyncio.get_running_loop()
    for _ in range(200):
        loop.call_later(3_600, gc.collect).cancel()
    await asyncio.sleep(0.1)


async def answered(discord: FakeDiscord, channel: Channel, people: list[User]) -> None:
    """Let each person ask, and wait for each answer in its own thread."""
    for person in people:
        await discord.slash(person, channel, "rules ask", question="Who?")
    for n in range(len(people)):
        await discord.until(partial(ended, channel, n))


def ended(channel: Channel, n: int) -> bool:
    """Whether the answer in the channel's thread `n` is complete and has thumbs."""
    messages = channel.threads[n].messages if n < len(channel.threads) else []
    return len(messages) == 2 and any(
        str(button.custom_id).startswith("feedback:") for button in messages[1].buttons
    )


async def test_a_finished_run_leaves_no_objects_in_memory(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        guild = discord.guild("Table")
        people = [discord.user(f"Guest {n}") for n in range(5)]
        for person in people:
            guild.join(person)
        first, second = guild.text("first"), guild.text("second")
        async with bot(discord, tmp_path, {"Who?": answer}):
            await answered(discord, first, people[:1])
            before = kept()
            await answered(discord, second, people[1:])
            with suppress(TimeoutError):
                async with asyncio.timeout(60):
                    while not kept() <= before:
                        await forget_cancelled_timers()
            assert kept() - before == Counter()
