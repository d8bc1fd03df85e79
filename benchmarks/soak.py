"""Sends thousands of mixed requests to a loopback Discord and Slack: `python -m benchmarks.soak [REQUESTS
[KIND …]]`.

One bot, as a user starts it, gets questions, rolls, lookups, turns of stories, thumbs and reminders as fast as its
limits allow. After each ROUND, once all requests have ended, the benchmark reads the bot's memory, tasks, threads and
files. 5,000 requests take about a quarter of an hour. Named kinds are left out: without turns, no story grows.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.counted_bot import FILE_ENV
from benchmarks.figures import Figure, table
from tests.fakes.discord import FakeDiscord
from tests.fakes.reply import Reply
from tests.fakes.slack import FakeSlack
from tests.kill.remains import live
from tests.wire.inbox import requests
from tests.wire.model import ANSWER, Answerer, service, settings
from tests.wire.on_discord import OnDiscord
from tests.wire.on_slack import OnSlack
from tests.wire.process import UnforkedProcess
from tests.wire.stock import LANTERNS, install, stock
from tests.wire.story import CHOICES, PREMISE

REQUESTS, ROUND, WARM = 5_000, 250, 1_500
"""In all; between two looks; and before the first look that counts: discord.py's limits of routes, which live for five
minutes, and the caches with a bound have filled by then.
"""
A_SECOND = 8.0
PEOPLE, CHANNELS, WORKSPACES, STORIES = 100, 60, 10, 6
MIX = {"question": 25, "roll": 30, "lookup": 15, "turn": 10, "thumb": 15, "reminder": 5}
RATED = 3
"""The last threads of a channel on Discord, which stay open: people rate the answers in them."""
PATIENCE_S = 600.0
REST_S = 8.0
"""After a round: what is done beside the answers, and reminders in a few seconds, have ended by then."""
GROWTH_MB = 1.0
"""Of memory, in a thousand requests."""


@dataclass(frozen=True)
class Look:
    """The bot's memory, tasks, threads and files after a number of requests."""

    requests: int
    uss_mb: float
    blocks: int
    """That Python has allocated."""
    python_mb: float
    """What these take."""
    used_mb: float
    """What C's allocator has given out, SQLite's and Chroma's caches among it; 0 where it does not say."""
    free_mb: float
    """What it keeps in its arenas for later."""
    threads: int
    files: int
    tasks: Counter[str]
    objects: Counter[str]

    @property
    def in_use_mb(self) -> float:
        """The size of Python's and C's objects; the rest of the memory belongs to the allocators."""
        return self.python_mb + self.used_mb


class CountedProcess(UnforkedProcess):
    module = ("benchmarks.counted_bot",)


@dataclass
class Soak:
    """One bot on both platforms, and the people who ask it."""

    discord: OnDiscord
    slack: OnSlack
    process: CountedProcess
    counted: Path
    mix: Mapping[str, int] = field(default_factory=lambda: MIX)
    chance: random.Random = field(default_factory=lambda: random.Random("soak"))
    done: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    failed: Counter[str] = field(default_factory=Counter)
    stories: list[Any] = field(default_factory=list)
    threads: list[Any] = field(default_factory=list)

    def furnish(self) -> None:
        self.players = self.discord.crowd(PEOPLE)
        self.tables = [self.discord.guilds[0].text(f"table-{n}") for n in range(CHANNELS)]
        self.teams = self.slack.slack.world.teams
        self.rooms = [
            [team.channel(f"table-{n}") for n in range(CHANNELS // WORKSPACES)]
            for team in self.teams.values()
        ]
        self.guests = [
            [team.user(f"Guest {n}") for n in range(PEOPLE // WORKSPACES)] for team in self.teams.values()
        ]

    async def act(self, n: int) -> None:
        kind = self.chance.choices(list(self.mix), list(self.mix.values()))[0]
        on: Callable[[int, str], Coroutine[Any, Any, None]] = self._on_slack if n % 2 else self._on_discord
        try:
            await on(n, kind)
        except Exception as fault:
            self.failed[f"{kind}: {type(fault).__name__} {str(fault)[:80]}"] += 1

    async def _on_discord(self, n: int, kind: str) -> None:
        fake, user, channel = (
            self.discord.discord,
            self.players[n // 2 % PEOPLE],
            self.tables[n // 2 % CHANNELS],
        )
        match kind:
            case "question":
                await fake.slash(user, channel, "rules ask", question=f"How long does a candle burn, {n}?")
            case "roll":
                await fake.slash(user, channel, "rules roll", expression="2d6+1")
            case "lookup":
                await fake.slash(user, channel, "rules lookup", name="Candles")
            case "turn":
                thread = self.threads[n // 2 % len(self.threads)]
                await fake.say(user, thread, f"turn {n}", mention=True)
            case "thumb":
                messages = [post for thread in channel.threads[-RATED:] for post in thread.messages]
                rated = [
                    (post, str(button.custom_id))
                    for post in messages
                    for button in post.buttons
                    if str(button.custom_id).startswith("feedback:")
                ]
                if rated:
                    await fake.press(user, *self.chance.choice(rated))
            case "reminder":
                await fake.slash(user, channel, "schedule reminder", text=f"Dice {n}", when="in 1 minute")

    async def _on_slack(self, n: int, kind: str) -> None:
        slack, team = self.slack.slack, n // 2 % len(self.rooms)
        user = self.guests[team][n // 2 // len(self.rooms) % len(self.guests[team])]
        room = self.rooms[team][n // 2 // len(self.rooms) % len(self.rooms[team])]
        match kind:
            case "question":
                if n % 4 == 1:
                    await slack.say(user, room, f"How long does a candle burn, {n}?", mention=True)
                else:
                    await slack.command(user, room, "/rules", f"ask How long does a candle burn, {n}?")
            case "roll":
                await slack.command(user, room, "/rules", "roll 2d6+1")
            case "lookup":
                await slack.command(user, room, "/rules", "lookup Candles")
            case "turn":
                root = self.stories[n // 2 % len(self.stories)]
                await slack.say(
                    self.chance.choice(self.guests[0]), root.channel, f"turn {n}", thread=root, mention=True
                )
            case "thumb":
                rated = [
                    post
                    for root in list(room.messages)[-6:]
                    for post in root.thread
                    if "This helped" in post.buttons
                ]
                if rated:
                    await slack.press(user, self.chance.choice(rated), "This helped")
            case "reminder":
                await slack.command(user, room, "/schedule", f'reminder "Dice {n}" --when "in 1 minute"')

    async def begin_stories(self) -> None:
        for n in range(STORIES):
            await self.discord.discord.slash(
                self.players[n], self.tables[n], "story start", premise=f"{PREMISE} {n}"
            )
            await self.slack.slack.command(
                self.guests[0][n], self.rooms[0][n], "/story", f"start {PREMISE} {n}"
            )
        await self.rested()
        self.threads = [self.tables[n].threads[-1] for n in range(STORIES)]
        self.stories = [
            next(message for message in self.rooms[0][n].messages if PREMISE in message.shown)
            for n in range(STORIES)
        ]

    async def rested(self) -> None:
        """Wait until every request has ended, and is shown."""
        began = time.monotonic()
        await asyncio.gather(*self.tasks)
        while any(not state for _, state in requests(self.process.data, 0)):
            if not self.process.alive or time.monotonic() - began > PATIENCE_S:
                raise RuntimeError(self.process.log()[-3_000:])
            await asyncio.sleep(0.5)
        await asyncio.sleep(REST_S)

    async def look(self) -> Look:
        before = self._lines()
        os.kill(self.process.pid, signal.SIGUSR2)
        while len(lines := self._lines()) == len(before):  # noqa: ASYNC110 - a process shows no more
            await asyncio.sleep(0.1)
        held, process = json.loads(lines[-1]), psutil.Process(self.process.pid)
        memory = process.memory_full_info()
        return Look(
            self.done,
            float(getattr(memory, "uss", memory.rss)) / 1e6,
            held["blocks"],
            held["python_mb"],
            held.get("used_mb", 0.0),
            held.get("free_mb", 0.0),
            process.num_threads(),
            process.num_fds(),
            Counter(held["tasks"]),
            Counter(held["objects"]),
        )

    def _lines(self) -> list[str]:
        return self.counted.read_text(encoding="utf-8").splitlines() if self.counted.exists() else []

    async def round(self, number: int) -> Look:
        for _ in range(number):
            task = asyncio.create_task(self.act(self.done))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
            self.done += 1
            await asyncio.sleep(1 / A_SECOND)
        await self.rested()
        for (
            channel
        ) in self.tables:  # as Discord does by itself after a day; until then the client knows a thread
            for thread in channel.threads[:-RATED]:
                if not (thread.archived or thread in self.threads):
                    thread.set_archived(True)
        for fake in (
            self.discord.discord,
            self.slack.slack,
        ):  # otherwise their records are half of this process's work
            fake.calls.clear()
        self.discord.discord.asked.clear()
        self.slack.slack.sent.clear()
        return await self.look()


def script(body: dict[str, Any]) -> Reply:
    last = str(body["messages"][-1]["content"])
    return CHOICES if "offer the players" in last else Reply(ANSWER, delay_s=0.02)


@asynccontextmanager
async def opened() -> AsyncIterator[Soak]:
    answerer = Answerer(script=script)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        async with service(answerer) as model, FakeDiscord() as fake_discord, FakeSlack() as fake_slack:
            fake_slack.limits.on = False  # its ceilings are the bot's own
            discord, slack = OnDiscord(fake_discord, answerer), OnSlack(fake_slack, answerer)
            for _ in range(WORKSPACES - 2):
                slack.workspace()
            config, data = folder / "config.toml", folder / "data"
            config.write_text(
                settings(model.base_url) + discord.settings() + slack.settings() + PACE, encoding="utf-8"
            )
            spaces = [str(discord.guilds[0].id), *fake_slack.world.teams]
            await stock(data, config, {space: [LANTERNS] for space in spaces})
            await install(data, fake_slack.client_id, list(fake_slack.world.teams.values())[1:])
            counted = folder / "counted.jsonl"
            process = CountedProcess(
                data, config, {**discord.environ(), **slack.environ(), FILE_ENV: str(counted)}
            )
            soak = Soak(discord, slack, process, counted)
            soak.furnish()
            discord.process = slack.process = process
            await process.start()
            try:
                await discord.connected()
                await slack.connected()
                await discord.settled()
                async with asyncio.timeout(PATIENCE_S):
                    while not fake_discord.commands.everywhere:  # noqa: ASYNC110 - a process shows no more
                        await asyncio.sleep(0.1)
                await soak.begin_stories()
                yield soak
            finally:
                await process.kill()


PACE = "[limits]\nquestions = 10000\ncommands = 10000\npresses = 10000\nwaiting = 100\n"


async def soaked(number: int, without: Collection[str] = ()) -> list[Figure]:
    async with opened() as soak:
        soak.mix = {kind: weight for kind, weight in MIX.items() if kind not in without}
        looks = [await soak.look()]
        while soak.done < number:
            looks.append(await soak.round(min(ROUND, number // 4)))
            told(looks[-1], looks[-2])
        states = Counter(state for _, state in requests(soak.process.data, 0))
        kinds = Counter(
            kind for (kind,) in live(soak.process.data / "sutradhar.db", "SELECT work FROM inbox")
        )
        print(states, kinds, soak.failed, file=sys.stderr)
        warm = [look for look in looks if look.requests >= min(WARM, number // 2)]
        slope = _a_thousand(warm, [look.in_use_mb for look in warm])
        uss = _a_thousand(warm, [look.uss_mb for look in warm])
        blocks = _a_thousand(warm, [look.blocks for look in warm])
        first, last = warm[0], warm[-1]
        more = last.tasks - first.tasks
        print((last.objects - first.objects).most_common(25), file=sys.stderr)
        return [
            Figure("requests", f"{soak.done}, ended: {dict(states)}"),
            Figure("in use, warm and at the end", f"{first.in_use_mb:.1f} and {last.in_use_mb:.1f} MB"),
            Figure(
                "in use, a thousand requests", f"{slope:+.2f} MB", f"≤ {GROWTH_MB} MB", "", slope <= GROWTH_MB
            ),
            Figure(
                "memory (USS), warm, at the end, a thousand requests",
                f"{first.uss_mb:.0f} and {last.uss_mb:.0f} MB, {uss:+.2f} MB",
            ),
            Figure("blocks of Python's, a thousand requests", f"{blocks:+,.0f} of {last.blocks:,}"),
            Figure(
                "tasks", f"{sum(first.tasks.values())} and {sum(last.tasks.values())}; more: {dict(more)}"
            ),
            Figure("threads", f"{first.threads} and {last.threads}"),
            Figure("file handles", f"{first.files} and {last.files}"),
        ]


def _a_thousand(looks: Sequence[Look], values: Sequence[float]) -> float:
    """The growth of a value per thousand requests."""
    return statistics.linear_regression([look.requests / 1000 for look in looks], values).slope


def told(look: Look, before: Look) -> None:
    print(
        f"{look.requests}: {look.uss_mb:.1f} MB ({look.python_mb:.2f} in use by Python, {look.used_mb:.2f} by C, "
        f"{look.free_mb:.1f} free), "
        f"{look.blocks:,} blocks, {sum(look.tasks.values())} tasks, "
        f"{look.threads} threads, {look.files} files; more {dict(look.tasks - before.tasks)}",
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    print(table(asyncio.run(soaked(int(sys.argv[1]) if sys.argv[1:] else REQUESTS, sys.argv[2:]))))
