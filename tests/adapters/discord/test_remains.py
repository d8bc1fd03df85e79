"""What is left in memory of runs that are over: nothing, for the database has it."""

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
    """How many objects there are of each of the bot's own classes, and of tasks.

    Without writers, and the span of the run in which a writer's task began: they go once the channel's limits are
    forgotten, which test_writer sees to. Nor with what each person has asked of late, which test_cooldown sees to,
    nor with the database's few connections, which stay open.
    """
    gc.collect()
    # Not isinstance: of lazily loaded modules it would load what they stand for.
    kinds = Counter(map(type, gc.get_objects()))
    for kind in (Writer, OpenSpan, TracedRun, _Count, Connection):
        del kinds[kind]
    named = {f"{kind.__module__}.{kind.__qualname__}": number for kind, number in kinds.items()}
    ours = Counter({name: number for name, number in named.items() if name.startswith(OURS)})
    return ours + Counter(tasks=len(asyncio.all_tasks()))


async def forget_cancelled_timers() -> None:
    """They keep the contexts of tasks that are over until they are due; a loop sweeps them out once they are many."""
    loop = asyncio.get_running_loop()
    for _ in range(200):
        loop.call_later(3_600, gc.collect).cancel()
    await asyncio.sleep(0.1)


async def answered(discord: FakeDiscord, channel: Channel, people: list[User]) -> None:
    """Everybody asks, and reads the answer to its end in a thread of their own."""
    for person in people:
        await discord.slash(person, channel, "rules ask", question="Who?")
    for n in range(len(people)):
        await discord.until(partial(ended, channel, n))


def ended(channel: Channel, n: int) -> bool:
    """Whether the answer in the channel's thread `n` is there, and asks for a thumb."""
    messages = channel.threads[n].messages if n < len(channel.threads) else []
    return len(messages) == 2 and any(
        str(button.custom_id).startswith("feedback:") for button in messages[1].buttons
    )


async def test_a_run_that_is_over_leaves_nothing_of_ours_behind(tmp_path: Path) -> None:
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
