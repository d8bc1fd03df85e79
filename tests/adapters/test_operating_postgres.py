"""What monitoring programs read while the bot's Postgres accepts connections but does not answer."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from sqlalchemy.engine import make_url

from tests.fakes.postgres import created
from tests.fakes.proxy import Proxy
from tests.fakes.slack import FakeSlack
from tests.wire.model import Answerer
from tests.wire.on_slack import OnSlack
from tests.wire.process import BotProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

AT_MOST_S = 2.0
"""How long an answer may take, by what the pages say."""
STALLED_S = 8.0
"""Less than a process's lease lasts."""
SOON_S = 20.0


@dataclass
class Watched:
    proxy: Proxy
    process: BotProcess
    http: aiohttp.ClientSession
    root: str
    table: OnSlack

    async def ask(self, path: str) -> tuple[int, Any]:
        """The status and the report, which must come in time."""
        began = time.monotonic()
        async with self.http.get(self.root + path) as answer:
            report = await answer.json()
        assert time.monotonic() - began < AT_MOST_S, (path, report)
        return answer.status, report

    async def until_ready(self, within_s: float) -> None:
        ends = time.monotonic() + within_s
        while (answer := await self.ask("/ready"))[0] != 200:
            assert time.monotonic() < ends, (answer, self.process.log(whole=True))
            await asyncio.sleep(0.2)


@pytest_asyncio.fixture
async def watched(postgres: str, tmp_path: Path) -> AsyncIterator[Watched]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with AsyncExitStack() as stack:
        slack = await stack.enter_async_context(FakeSlack())
        driver = OnSlack(slack, Answerer())
        url = make_url(created(postgres))
        path = f"{url.query['host']}/.s.PGSQL.5432"
        proxy = stack.enter_context(Proxy(partial(asyncio.open_unix_connection, path)))
        through = f"postgresql+psycopg://postgres@127.0.0.1:{proxy.port}/{url.database}"
        config = tmp_path / "config.toml"
        config.write_text(
            f'[roles]\n[embedding]\nmodel = "none"\n{driver.settings()}\n'
            f'[storage]\nurl = "{through}"\n[operate]\nlisten = "127.0.0.1:{port}"\n'
        )
        process = BotProcess(tmp_path / "data", config, driver.environ())
        stack.push_async_callback(process.kill)
        await driver.begin(process)
        http = await stack.enter_async_context(aiohttp.ClientSession())
        watched = Watched(proxy, process, http, f"http://127.0.0.1:{port}", driver)
        await watched.until_ready(SOON_S)
        yield watched


async def test_the_bot_is_not_ready_while_postgres_hangs_and_recovers(watched: Watched) -> None:
    table, waiting = watched.table, list[asyncio.Task[Any]]()
    watched.proxy.hold()
    for person in table.crowd(20):  # more than the pool has connections
        waiting.append(asyncio.create_task(table.typed(person, table.channels[0], "rules roll", "1d1")))
    ends, seen = time.monotonic() + STALLED_S, list[int]()
    while time.monotonic() < ends:
        status, report = await watched.ask("/ready")
        seen.append(status)
        if status == 503:
            assert report["checks"]["database"]["status"] == "failed"
        assert (await watched.ask("/live"))[0] == 200
        await asyncio.sleep(0.1)
    assert seen[-1] == 503
    assert 200 not in seen[seen.index(503) :], seen
    watched.proxy.release()
    await watched.until_ready(SOON_S)
    assert watched.process.alive
    await asyncio.gather(*waiting, return_exceptions=True)
    await table.ask("Ana", "2d1", verb="rules roll")
    await table.until(lambda: "Ana rolls" in "".join(table.channel().said()))
