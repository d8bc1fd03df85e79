"""Measures a thousand reminders due in the same minute, in a hundred channels of a loopback Discord: how soon
all are posted, how often each one is, and how long other people meanwhile wait for an acknowledgement.
"""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import psutil

from benchmarks.discord import Bench, all_answered, opened
from benchmarks.figures import Figure
from benchmarks.times import ms, p95, p99
from storage.db import Database
from storage.schedules import ScheduleRow, Schedules

COUNT = 1_000
AHEAD_S = 3.0
"""From their making until they are due."""
QUIET_S, LONGEST_S = 10.0, 120.0
OTHERS, EVERY_S = 5, 0.25
"""How many others ask at the same moment, and how often."""


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_measured())


async def _measured() -> list[Figure]:
    async with opened() as bench:
        bench.discord.ack_seconds = LONGEST_S  # what comes too late is measured, too
        began = time.monotonic()
        quiet = await _acks(bench, lambda: time.monotonic() - began > QUIET_S)
        due_in = await _planned(bench)
        process = psutil.Process(bench.driver.process.pid)
        before, due = sum(process.cpu_times()[:2]), time.monotonic() + due_in
        acks = await _acks(bench, lambda: len(_shown(bench)) == COUNT or time.monotonic() - due > LONGEST_S)
        spent = sum(process.cpu_times()[:2]) - before
        await asyncio.sleep(2 * AHEAD_S)  # for one that would come twice
        shown, took = _shown(bench), _last(bench) - due
    once, label = list(shown.values()).count(1), f"{COUNT:,} reminders due at once"
    return [
        Figure(f"{label}, shown once each", f"{once:,}", f"{COUNT:,}", good=once == COUNT),
        Figure(f"{label}, the last one shown after", f"{took:.1f} s", "≤ 30 s", good=took <= 30),
        Figure(f"{label}, processor time of the bot", f"{spent:.1f} s"),
        Figure(f"{OTHERS} others acknowledged, before", f"p99 {ms(p99(quiet))} (n {len(quiet)})"),
        Figure(
            f"{OTHERS} others acknowledged, meanwhile",
            f"p99 {ms(p99(acks))} (p95 {ms(p95(acks))}, n {len(acks)})",
            "p99 < 300 ms",
            good=p99(acks) < 0.3,
        ),
        Figure("load of the machine", f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"),
    ]


async def _planned(bench: Bench) -> float:
    """Store the reminders, ten for each channel; returns the seconds until they are due."""
    guild = bench.driver.guilds[0]
    database = await Database.open(f"sqlite+aiosqlite:///{bench.driver.process.data / 'sutradhar.db'}")
    due = datetime.now(UTC) + timedelta(seconds=AHEAD_S)
    rule = f'{{"zone": "UTC", "first": "{due:%Y-%m-%dT%H:%M:%S}", "every": "week"}}'
    for n in range(COUNT):
        channel = str(bench.channels[n % len(bench.channels)].id)
        row = ScheduleRow(
            f"{n:032x}", str(guild.id), "discord", channel, "", "1", "en", "reminder", f"bring sheet {n}.", "{}",
            rule, "once", due, due,
        )  # fmt: skip
        await Schedules(database).add(row)
    await database.close()
    return (due - datetime.now(UTC)).total_seconds()


def _shown(bench: Bench) -> Counter[str]:
    """How often each reminder was shown."""
    messages = (message for channel in bench.channels for message in channel.messages)
    words = (message.text.partition("bring sheet ")[2].partition(".")[0] for message in messages)
    return Counter(filter(None, words))


def _last(bench: Bench) -> float:
    """When the last one was posted, in seconds of the monotonic clock."""
    posted = [
        call.at for call in bench.discord.calls if call.method == "POST" and call.path.endswith("/messages")
    ]
    return max(posted)


async def _acks(bench: Bench, over: Callable[[], bool]) -> list[float]:
    """Seconds until each acknowledgement of commands that people give repeatedly until the reminders are
    posted.
    """
    took: list[float] = []
    while not over():
        interactions = await asyncio.gather(
            *(
                bench.discord.slash(user, bench.channels[0], "rules roll", expression="1d1")
                for user in next(bench.crowds)[:OTHERS]
            )
        )
        await bench.discord.until(functools.partial(all_answered, interactions), seconds=LONGEST_S)
        took += [interaction.acked for interaction in interactions if interaction.acked is not None]
        await asyncio.sleep(EVERY_S)
    return took
