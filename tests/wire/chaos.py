"""Injects faults into several processes on one Postgres, on Slack and Discord, under load: `python -m tests.wire.chaos
--help`.

Prints what happened as JSON, and exits with 1 if the checker of histories finds a violation.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy.engine import make_url

from tests.fakes.discord import FakeDiscord
from tests.fakes.postgres import created, running
from tests.fakes.proxy import Proxy
from tests.fakes.slack import FakeSlack
from tests.wire.chaos_evidence import Evidence
from tests.wire.chaos_faults import Faults, Member
from tests.wire.chaos_people import Model, People
from tests.wire.chaos_watch import Watch
from tests.wire.histories import (
    History,
    Violation,
    counts,
    heard_out_of_order,
    paid_again,
    struck_meanwhile,
    told,
    unavoidable,
    violations,
)
from tests.wire.inbox import DATABASE
from tests.wire.model import Answerer, service, settings
from tests.wire.on_discord import OnDiscord
from tests.wire.on_slack import OnSlack
from tests.wire.process import BotProcess
from tests.wire.stock import stock

REST_S = 180.0
"""How many seconds everything may take to end after the last fault."""
LIMITS = "[limits]\nquestions = 1000\ncommands = 1000\npresses = 1000\nwaiting = 100\n"
UNFINISHED = (
    "SELECT (SELECT count(*) FROM inbox WHERE state IN ('received', 'running', 'answered'))"
    " + (SELECT count(*) FROM unshown)"
)


@dataclass
class Chaos:
    """A run under faults. `pauses_s` are the pauses between faults and between people's actions."""

    seed: int
    processes: int = 2
    pauses_s: tuple[tuple[float, float], tuple[float, float]] = ((0.5, 2.0), (0.4, 1.2))
    faults: Counter[str] = field(default_factory=Counter)
    cut: list[tuple[float, float]] = field(default_factory=list)
    down: list[tuple[float, float]] = field(default_factory=list)
    timeline: list[tuple[str, float, float]] = field(default_factory=list)

    async def run(self, faults: int, seconds: float, folder: Path) -> History:
        """Inject `faults` faults, or faults for `seconds`, and wait until everything has ended."""
        chance = random.Random(self.seed)
        async with contextlib.AsyncExitStack() as stack:
            server = await asyncio.to_thread(stack.enter_context, running())
            url = make_url(created(server))
            self.direct = url.render_as_string(hide_password=False).replace("+psycopg", "")
            discord = await stack.enter_async_context(FakeDiscord())
            slack = await stack.enter_async_context(FakeSlack())
            model = Model()
            answerer = Answerer(script=model, written=model.alone)
            paid = await stack.enter_async_context(service(answerer))
            on_discord, on_slack = OnDiscord(discord, answerer), OnSlack(slack, answerer)
            slack.ack_seconds, slack.redelivery = 3.0, (0.0, 1.0, 5.0, 15.0, 30.0)
            people = People(chance, on_slack, on_discord)
            common = settings(paid.base_url) + LIMITS
            platforms = on_discord.settings() + on_slack.settings()
            await self._stocked(folder, f"{common}{platforms}", on_slack, on_discord)
            self.members: list[Member] = []
            for n in range(self.processes):
                postgres, to_slack, to_discord = [
                    stack.enter_context(Proxy(partial(connect, *where)))
                    for connect, where in (
                        (asyncio.open_unix_connection, (f"{url.query['host']}/.s.PGSQL.5432",)),
                        (asyncio.open_connection, ("127.0.0.1", slack.port)),
                        (asyncio.open_connection, ("127.0.0.1", discord.port)),
                    )
                ]
                through = f"postgresql+psycopg://postgres@127.0.0.1:{postgres.port}/{url.database}"
                config = folder / f"{n}.toml"
                rerouted = platforms.replace(slack.root, f"http://127.0.0.1:{to_slack.port}").replace(
                    discord.root, f"http://127.0.0.1:{to_discord.port}"
                )
                config.write_text(f'{common}{rerouted}[storage]\nurl = "{through}"\n', encoding="utf-8")
                environ = on_discord.environ() | on_slack.environ()
                process = BotProcess(folder / f"process-{n}", config, environ)
                stack.push_async_callback(process.kill)
                self.members.append(Member(process, postgres, to_slack, to_discord))
                await self.members[-1].start()
            watch = Watch(self.direct)
            strikes = Faults(chance, self.members, on_slack, on_discord, model, watch, str(url.query["host"]))
            await strikes.settled()
            await people.begin()
            async with _going(watch.keep()):
                async with _going(people.act(self.pauses_s[1])):
                    await self._strike(strikes, chance, faults, time.monotonic() + seconds)
                await people.rest(60.0)
                ends = time.monotonic() + REST_S
                while time.monotonic() < ends and (await asyncio.to_thread(self._query, UNFINISHED))[0][0]:  # noqa: ASYNC110
                    await asyncio.sleep(0.5)
                await asyncio.sleep(3)
            evidence = Evidence(
                on_slack, on_discord, people, model, watch, self.members, self._query, self.cut, self.down
            )
            history = await asyncio.to_thread(evidence.history)
            self.errors = people.errors
            self._write_down(folder, history, on_slack, on_discord)
            return history

    async def _stocked(self, folder: Path, config: str, slack: OnSlack, discord: OnDiscord) -> None:
        data = folder / "data"
        data.mkdir()
        (data / DATABASE).write_text(self.direct, encoding="utf-8")
        direct = folder / "direct.toml"
        url = self.direct.replace("postgresql:", "postgresql+psycopg:")
        direct.write_text(f'{config}[storage]\nurl = "{url}"\n', encoding="utf-8")
        await stock(data, direct, slack.books(folder) | discord.books(folder))
        await slack.furnish(data)

    async def _strike(self, strikes: Faults, chance: random.Random, faults: int, ends: float) -> None:
        kinds = strikes.kinds()
        names, weights = list(kinds), [weight for _, weight, _ in kinds.values()]
        while self.faults.total() < faults and time.monotonic() < ends:
            (name,) = chance.choices(names, weights)
            strike, _, cuts = kinds[name]
            self.faults[name] += 1
            began = time.monotonic()
            try:
                await strike()
                await strikes.settled()
            finally:
                window = (began - 1, time.monotonic() + 1)
                self.timeline.append((name, *window))
                if cuts:
                    self.cut.append(window)
                if name == "model down":
                    self.down.append(window)
            await asyncio.sleep(chance.uniform(*self.pauses_s[0]))

    def _query(self, text: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.direct) as connection:
            return connection.execute(text.encode()).fetchall()

    def _write_down(self, folder: Path, history: History, slack: OnSlack, discord: OnDiscord) -> None:
        """Write the run's files, for the investigation of a violation."""
        rows = {
            table: self._query(f"SELECT * FROM {table}") for table in ("inbox", "outbox", "ledger", "unshown")
        }
        workflows = "SELECT workflow_uuid, status, executor_id, recovery_attempts FROM dbos.workflow_status"
        everything = {
            "history": asdict(history),
            "timeline": self.timeline,
            "clock": time.time() - time.monotonic(),
            "rows": rows | {"workflows": self._query(workflows)},
            "statuses": [
                (*thread, session.past[-6:]) for thread, session in slack.slack.agents.sessions.items()
            ],
            "slack": [
                (message.ts, message.thread_ts, str(message.ephemeral_to), message.shown)
                for message in slack.everything()
            ],
            "discord": [
                (message.id, message.channel.id, "", message.text) for message in discord.everything()
            ],
        }
        (folder / "history.json").write_text(json.dumps(everything, default=str, indent=1), encoding="utf-8")

    def report(self, history: History, found: list[Violation]) -> dict[str, Any]:
        """The figures of a run."""
        alone = [taken for taken in history.taken_over if not struck_meanwhile(history, taken)]
        times = sorted(taken.seconds for taken in alone)
        kept = {event.key for event in history.events}
        return {
            "faults": dict(self.faults.most_common()),
            "events": len(history.events),
            "not acknowledged": sum(event.acked is None for event in history.events),
            "runs": dict(Counter(run.state for run in history.runs if run.key in kept)),
            "answers": len(history.answers),
            "stopped": sum(event.stopped for event in history.events),
            "told instead": dict(Counter(event.told[:60] for event in told(history))),
            "doubled, unavoidable": len(unavoidable(history)),
            "paid again, unavoidable": len(paid_again(history)),
            "heard late, so out of order": len(heard_out_of_order(history)),
            "writes": len(history.writes),
            "leases lost": len(history.lost),
            "taken over": len(history.taken_over),
            "taken over without another fault meanwhile": len(alone),
            "of these, median and longest, s": [times[len(times) // 2], times[-1]] if times else [],
            "violations": counts(found),
            "people's errors": self.errors[:5],
            "tracebacks": [member.process.log(whole=True).count("Traceback") for member in self.members],
        }


@contextlib.asynccontextmanager
async def _going(doing: Any) -> AsyncIterator[None]:
    """Run a task for the duration of the block."""
    task = asyncio.create_task(doing)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and (fault := task.exception()) is not None:
            raise fault


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("faults", nargs="?", type=int, default=300)
    parser.add_argument("seed", nargs="?", type=int, default=1)
    parser.add_argument("seconds", nargs="?", type=float, default=2400, help="the longest, without the end")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for logs, settings and history.json")
    asked = parser.parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    if asked.keep is not None:
        folder.rmdir()
        folder = asked.keep
        folder.mkdir(parents=True)
    chaos = Chaos(asked.seed, asked.processes)
    history = asyncio.run(chaos.run(asked.faults, asked.seconds, folder))
    found = violations(history)
    print(json.dumps(chaos.report(history, found), indent=1))
    for violation in found[:60]:
        print(violation.kind, violation.what[:400])
    if asked.keep is None:
        shutil.rmtree(folder, ignore_errors=True)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
