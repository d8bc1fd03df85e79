"""Measures several processes of the bot on one Postgres: questions per second, take-overs, a thousand spaces, the cost
of idling.

Takes a quarter of an hour. To run one part: python -m benchmarks.scale spaces|throughput|statements|idle|takeovers.
Slack (without its limits) and the model are simulated on loopback in this process. Each space is a Slack workspace
with one channel, one person and the book examples/lanterns.md, searched by words alone. Postgres writes to disk before
it confirms; its log counts statements and waits for locks, in a separate part, because that costs time. The most
frequent statements go to standard error.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import psutil
import psycopg
from numpy.typing import NDArray

from benchmarks.figures import Figure, table
from benchmarks.times import spread
from storage.lease import LEASE_S
from tests.fakes import postgres
from tests.fakes.reply import Reply
from tests.fakes.slack import Channel, FakeSlack, Message, User
from tests.wire.inbox import DATABASE, rows_of
from tests.wire.model import ANSWER, Answerer, service, settings
from tests.wire.on_slack import CONNECTIONS, OnSlack
from tests.wire.process import BotProcess, UnforkedProcess
from tests.wire.several import Fleet
from tests.wire.stock import LANTERNS, install, stock

PROCESSES = 3
SPACES, ALONE = 1_000, 40
"""In all; in how many of the first and of the last one person asks alone."""
ROUNDS, QUESTIONS, AT_ONCE = 2, 80, 24
STEADY, EVERY_S = 30, 0.5
"""Questions for the first words, and how often one is asked."""
KILLED, FROZEN, TAKEN_OVER_S = 5, 2, 5.0
IDLE_S = 60.0
LOOK_S = 0.02
PATIENCE_S = 240.0
FIRST, LAST = ANSWER[:20], ANSWER[-20:-5]
PACE = "[limits]\nquestions = 10000\nwaiting = 100\n"
CONNECTED = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sutradhar %'"
UNFINISHED = "SELECT 1 FROM inbox WHERE state IN ('received', 'running', 'answered') LIMIT 1"
COUNTING = {
    "log_statement": "all",
    "log_lock_waits": "on",
    "deadlock_timeout": "10ms",
    "log_line_prefix": "%a|",
}
"""Settings of Postgres under which its log has every statement, and every wait for a lock of more than 10 ms."""
SENT = re.compile(r"^(sutradhar [^|]*)\|LOG:  (?:statement|execute [^:]*): (.{1,150})", re.MULTILINE)
WAITED = re.compile(r"^sutradhar [^|]*\|LOG:  process \d+ acquired .* after ([\d.]+) ms", re.MULTILINE)


Cost: TypeAlias = NDArray[np.float64]
"""Seconds of the clock, then of processor: the bots', Postgres's, and those of what is simulated."""


@dataclass
class Asked:
    """Seconds from the question to the first words seen, and to the whole answer."""

    root: Message
    first: float
    whole: float


@dataclass
class Bench:
    fleet: Fleet
    slack: FakeSlack
    model: Answerer
    rooms: list[tuple[User, Channel]]
    url: str
    socket: str
    _next: Iterator[int] = field(default_factory=itertools.count)

    async def grow(self, number: int) -> None:
        """Start processes until `number` are connected."""
        for process in self.fleet.all[:number]:
            if not process.alive:
                await process.start()
        async with asyncio.timeout(PATIENCE_S):
            while len(self.slack.sockets.live) < CONNECTIONS * number:
                if not all(process.alive for process in self.fleet.all[:number]):
                    raise RuntimeError(self.fleet.log()[-3_000:])
                await asyncio.sleep(LOOK_S)

    async def ask(self, room: int) -> Asked:
        user, channel = self.rooms[room % len(self.rooms)]
        question = f"How many hours of walking does a candle burn, {next(self._next)}?"
        began = time.monotonic()
        root = await self.slack.say(user, channel, question, mention=True, wait=False)
        first = await self._seen(root, FIRST) - began
        return Asked(root, first, await self._seen(root, LAST) - began)

    async def _seen(self, root: Message, words: str) -> float:
        async with asyncio.timeout(PATIENCE_S):
            while not any(words in message.shown for message in root.thread if message.user.bot):  # noqa: ASYNC110
                await asyncio.sleep(LOOK_S)
        return time.monotonic()

    async def crowd(self, rooms: range, at_once: int) -> list[Asked]:
        """Ask one question in each of these rooms, `at_once` at a time."""
        left = iter(rooms)

        async def person() -> list[Asked]:
            return [await self.ask(room) for room in left]

        return [asked for own in await asyncio.gather(*(person() for _ in range(at_once))) for asked in own]

    async def steady(self, first: int) -> list[float]:
        """Seconds to the first words for questions at an even pace."""
        tasks = []
        for n in range(STEADY):
            tasks.append(asyncio.create_task(self.ask(first + n)))
            await asyncio.sleep(EVERY_S)
        return [asked.first for asked in await asyncio.gather(*tasks)]

    async def rested(self) -> None:
        """Wait until every run has ended."""
        async with asyncio.timeout(PATIENCE_S):
            while self.rows(UNFINISHED):  # noqa: ASYNC110 - a database shows no more
                await asyncio.sleep(0.5)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return rows_of(self.fleet.data, query)

    def cost(self) -> Cost:
        pids = [process.pid for process in self.fleet.all if process.alive]
        bots = sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)
        server = psutil.Process(int((Path(self.socket) / "postmaster.pid").read_text().split()[0]))
        backends = sum(_own(child) for child in server.children())
        spent = (time.monotonic(), bots, sum(server.cpu_times()[:4]) + backends, time.process_time())
        return np.array(spent)

    def memory_mb(self) -> list[float]:
        alive = [psutil.Process(process.pid) for process in self.fleet.all if process.alive]
        return [process.memory_full_info().uss / 1e6 for process in alive]

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[list[str]]:
        """While it is open, the log counts; at the end the list has the log's lines."""
        log, written = Path(self.socket) / "log", list[str]()
        await asyncio.to_thread(self._set, COUNTING)
        await asyncio.sleep(1)
        began = log.stat().st_size
        try:
            yield written
            with log.open(encoding="utf-8", errors="replace") as file:
                file.seek(began)
                written.append(file.read())
        finally:
            await asyncio.to_thread(self._set, dict.fromkeys(COUNTING, "DEFAULT"))

    def _set(self, values: dict[str, str]) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for name, value in values.items():
                given = value if value == "DEFAULT" else f"'{value}'"
                connection.execute(f"ALTER SYSTEM SET {name} = {given}".encode())
            connection.execute("SELECT pg_reload_conf()")


def _own(process: psutil.Process) -> float:
    try:
        return sum(process.cpu_times()[:2])
    except psutil.NoSuchProcess:
        return 0.0


@asynccontextmanager
async def opened() -> AsyncIterator[Bench]:
    """Everything is set up; no process of the bot runs yet."""
    model = Answerer(usual=Reply(ANSWER, delay_s=0.01))
    with tempfile.TemporaryDirectory() as name, postgres.running() as server:
        folder, url = Path(name), postgres.created(server)
        async with service(model) as models, FakeSlack() as slack:
            slack.limits.on = False
            drive = OnSlack(slack, model)
            teams = [*drive.teams, *(slack.workspace(f"Table {n}") for n in range(SPACES - len(drive.teams)))]
            rooms = [(team.user("Ana"), team.channel("general")) for team in teams]
            config, data = folder / "config.toml", folder / "data"
            data.mkdir()
            plain = url.replace("+psycopg", "")
            (data / DATABASE).write_text(plain, encoding="utf-8")
            with psycopg.connect(plain, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET fsync = on")
                connection.execute("SELECT pg_reload_conf()")
            storage = f'[storage]\nurl = "{url}"\n'
            config.write_text(settings(models.base_url) + drive.settings() + PACE + storage, encoding="utf-8")
            await stock(data, config, {team.id: [LANTERNS] for team in teams})
            await install(data, slack.client_id, teams[1:])
            fleet = Fleet(data, config, drive.environ(), number=PROCESSES, kind=UnforkedProcess)
            try:
                yield Bench(fleet, slack, model, rooms, plain, url.partition("host=")[2])
            finally:
                await fleet.kill()


def figures() -> Iterator[Figure]:
    yield from asyncio.run(_measured())


async def _measured(*names: str) -> list[Figure]:
    async with opened() as bench:
        found = [Figure("load of the machine before, 1 and 15 minutes", _load())]
        for name in names or PARTS:
            found += await PARTS[name](bench)
            print(table(found), file=sys.stderr, flush=True)
        return [*found, Figure("load of the machine after", _load())]


def _load() -> str:
    one, _, fifteen = os.getloadavg()
    return f"{one:.1f} and {fifteen:.1f} on {os.cpu_count()} cores"


async def _spaces(bench: Bench) -> list[Figure]:
    await bench.grow(1)
    (before,) = bench.memory_mb()
    first = await bench.crowd(range(ALONE), 1)
    await bench.rested()
    (some,) = bench.memory_mb()
    await bench.crowd(range(ALONE, SPACES - ALONE), AT_ONCE)
    last = await bench.crowd(range(SPACES - ALONE, SPACES), 1)
    await bench.rested()
    (all_of_them,) = bench.memory_mb()
    return [
        Figure(f"whole answer, asked alone, in the first {ALONE} spaces", spread([a.whole for a in first])),
        Figure(f"the same, in the last {ALONE} of {SPACES} spaces", spread([a.whole for a in last])),
        Figure(
            f"memory (USS) of a process: at its start, with {ALONE}, with {SPACES} spaces that asked",
            f"{before:.0f}, {some:.0f}, {all_of_them:.0f} MB",
        ),
    ]


async def _throughput(bench: Bench) -> list[Figure]:
    costs = {n: list[Cost]() for n in range(1, PROCESSES + 1)}
    firsts = {n: list[float]() for n in costs}
    rooms = itertools.count(step=QUESTIONS)
    for _ in range(ROUNDS):
        await bench.fleet.kill()
        for number in costs:
            await bench.grow(number)
            await bench.crowd(range(AT_ONCE), AT_ONCE)  # unmeasured
            await bench.rested()
            firsts[number] += await bench.steady(next(rooms))
            await bench.rested()
            before, first = bench.cost(), next(rooms)
            await bench.crowd(range(first, first + QUESTIONS), AT_ONCE)
            costs[number].append(bench.cost() - before)
    found = []
    for number, spent in costs.items():
        label = f"{number} process{'es' if number > 1 else ''}"
        rates = ", ".join(f"{QUESTIONS / cost[0]:.1f}" for cost in spent)
        bots, server, simulated = np.sum(spent, axis=0)[1:] / (ROUNDS * QUESTIONS) * 1000
        found += [
            Figure(f"{label}: questions a second, {AT_ONCE} at once, in each round", rates),
            Figure(
                f"{label}: processor time a question",
                f"{bots:.0f} ms (bot), {server:.0f} ms (Postgres), {simulated:.0f} ms (simulated Slack and model)",
            ),
            Figure(f"{label}: first words, a question each {EVERY_S} s", spread(firsts[number])),
        ]
    return found


async def _statements(bench: Bench) -> list[Figure]:
    await bench.grow(PROCESSES)
    async with bench.counted() as quiet:
        await asyncio.sleep(IDLE_S / 4)
    async with bench.counted() as log:
        began = time.monotonic()
        await bench.crowd(range(QUESTIONS), AT_ONCE)
        await bench.rested()
        took = time.monotonic() - began
    idle = len(SENT.findall(quiet[0])) / (IDLE_S / 4) * took
    sent = Counter(_kind(text) for _, text in SENT.findall(log[0]))
    for text, number in sent.most_common(40):
        print(f"{number / QUESTIONS:7.2f} {text}", file=sys.stderr)
    waits = [float(wait) / 1000 for wait in WAITED.findall(log[0])]
    return [
        Figure(
            f"trips to Postgres a question, {PROCESSES} processes, without what idling takes",
            f"{(sent.total() - idle) / QUESTIONS:.0f}",
        ),
        Figure(
            f"waits for locks of more than 10 ms in {QUESTIONS} questions",
            f"{len(waits)}, {sum(waits):.2f} s in all, of {took:.0f} s",
        ),
        Figure(
            f"connections to Postgres, {PROCESSES} processes",
            str(bench.rows(CONNECTED)[0][0]),
        ),
    ]


def _kind(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"'[^']*'|\$?\d+", "?", text))[:110]


async def _idle(bench: Bench) -> list[Figure]:
    await bench.grow(PROCESSES)
    await bench.crowd(range(AT_ONCE), AT_ONCE)
    await bench.rested()
    await asyncio.sleep(5)
    before = bench.cost()
    await asyncio.sleep(IDLE_S)
    _, bots, server, _ = (bench.cost() - before) * 60 / IDLE_S / PROCESSES
    async with bench.counted() as log:
        await asyncio.sleep(IDLE_S / 2)
    sent = SENT.findall(log[0])
    for text, number in Counter(_kind(text) for _, text in sent).most_common(12):
        print(f"{number / IDLE_S * 2 / PROCESSES:7.2f} a second idle: {text}", file=sys.stderr)
    return [
        Figure(
            "an idle process, each minute",
            f"{bots:.1f} s of processor, {server:.1f} s of Postgres's,"
            f" {120 * len(sent) / IDLE_S / PROCESSES:.0f} statements",
        ),
        Figure("memory (USS) of each then", ", ".join(f"{mb:.0f}" for mb in bench.memory_mb()) + " MB"),
    ]


async def _take_overs(bench: Bench) -> list[Figure]:
    killed = [await _struck(bench, signal.SIGKILL) for _ in range(KILLED)]
    frozen = [await _struck(bench, signal.SIGSTOP) for _ in range(FROZEN)]
    late = max(frozen) - LEASE_S
    return [
        Figure(
            "kill -9 until another process goes on with the answer",
            f"{min(killed):.1f} to {max(killed):.1f} s (n {KILLED})",
            f"≤ {TAKEN_OVER_S:.0f} s",
            good=max(killed) <= TAKEN_OVER_S,
        ),
        Figure(
            f"frozen until the same; a lease is {LEASE_S:.0f} s",
            f"{min(frozen):.1f} to {max(frozen):.1f} s (n {FROZEN})",
            f"≤ {LEASE_S + TAKEN_OVER_S:.0f} s",
            good=late <= TAKEN_OVER_S,
        ),
    ]


async def _struck(bench: Bench, number: signal.Signals) -> float:
    """Seconds from the signal until another process calls the model; in the end the answer is in one message."""
    await bench.grow(PROCESSES)
    gate = bench.model.hold()
    asking = asyncio.create_task(bench.ask(0))
    await asyncio.wait_for(gate.reached.wait(), PATIENCE_S)
    ((run,),) = bench.rows("SELECT id FROM inbox ORDER BY seq DESC LIMIT 1")
    struck: BotProcess = bench.fleet.executing(run)
    calls = len(bench.model.prompts)
    os.kill(struck.pid, number)
    began = time.monotonic()
    async with asyncio.timeout(PATIENCE_S):
        while len(bench.model.prompts) == calls:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)
    took = time.monotonic() - began
    gate.set()
    asked = await asking
    await bench.rested()
    if number == signal.SIGSTOP:
        os.kill(struck.pid, signal.SIGCONT)
    await struck.gone()
    if sum(LAST in message.shown for message in asked.root.thread) != 1:
        raise RuntimeError(f"not one answer: {[message.shown for message in asked.root.thread]}")
    return took


PARTS = {
    "spaces": _spaces,
    "throughput": _throughput,
    "statements": _statements,
    "idle": _idle,
    "takeovers": _take_overs,
}

if __name__ == "__main__":
    print(table(asyncio.run(_measured(*sys.argv[1:]))))
