"""What monitoring programs read of the bot: whether it is alive and ready, and what it has done so far."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.adapters.health import Health
from bot.adapters.operating import Operating
from bot.config import Config, OperateConfig, SlackConfig, load
from bot.doctor import live
from bot.events import Event, Text, UserError
from bot.words import words
from bot.work import Run
from tests.adapters.slack.serving import Served, served
from tests.fakes import migrated
from tests.fakes.slack import FakeSlack, Team
from tests.fakes.weak_store import emptied, gone
from tests.scraped import read

AT_MOST_S = 2.0
"""How long an answer may take, by what the pages say."""


def configured(data: Path, **slack: Any) -> Config:
    config = load(data=migrated.folder(data), environ={})
    return replace(config, operate=OperateConfig("127.0.0.1:0"), slack=SlackConfig(**slack))


@dataclass
class Watched:
    """The monitoring server of a bot on Slack, and a client of it."""

    health: Health
    operating: Operating
    http: aiohttp.ClientSession
    bot: Served
    slack: FakeSlack
    team: Team

    async def ask(self, path: str, root: str = "") -> tuple[int, Any]:
        async with self.http.get((root or f"http://127.0.0.1:{self.operating.port}") + path) as answer:
            text = await answer.text()
            return answer.status, json.loads(text) if text.startswith("{") else text

    async def again(self, path: str) -> tuple[int, Any]:
        """Ask again, without the cached answer."""
        self.health._looked_at = -60.0
        return await self.ask(path)


@asynccontextmanager
async def watched(data: Path, connections: int = 2, files: str = "folder") -> AsyncIterator[Watched]:
    async with FakeSlack() as slack:
        team = slack.workspace("Table")
        config = configured(data)
        config = replace(config, storage=replace(config.storage, files=files))
        health = Health(config.data_dir)
        operating = Operating(health, config)
        await operating.start()
        async with (
            served(data, slack, {"said": said}, connections=connections, config=config) as bot,
            aiohttp.ClientSession() as http,
        ):
            health.app, health.platforms = bot.app, {"Slack": bot.service}
            yield Watched(health, operating, http, bot, slack, team)
        await operating.close()


async def said(run: Run) -> AsyncGenerator[Event, None]:
    yield Text("Well met.")


async def test_the_bot_reports_ready_and_names_what_fails(tmp_path: Path) -> None:
    async with watched(tmp_path) as at:
        assert await at.ask("/live") == (200, {"status": "ok"})
        status, report = await at.ask("/health")
        assert (status, report["status"]) == (200, "ok")
        assert report["checks"]["slack"]["connections"] == {"socket 1": "up", "socket 2": "up"}
        assert {name: check["status"] for name, check in report["checks"].items()} == dict.fromkeys(
            ("engine", "database", "disk", "models", "slack"), "ok"
        )

        # A failing model service is no reason to restart the process or to route traffic elsewhere.
        at.bot.app.resources.models.failing["openai"] = "quota"
        status, report = await at.again("/ready")
        assert (status, report["checks"]["models"]) == (
            200,
            {"status": "warning", "failing": {"openai": "quota"}},
        )

        at.slack.fail("apps.connections.open", status=503, times=99)
        await at.slack.drop(at.slack.sockets.live[0])
        await at.slack.until(lambda: not all(at.bot.service.connections().states.values()))
        status, report = await at.again("/ready")
        assert (status, report["checks"]["slack"]["status"]) == (200, "warning"), (
            "one healthy platform is enough"
        )
        await at.slack.drop()
        await at.slack.until(lambda: not at.bot.service.connections().enough)
        status, report = await at.again("/ready")
        assert (status, report["checks"]["slack"]["status"]) == (503, "failed")
        assert (await at.ask("/live"))[0] == 200

        at.health.leaving = True
        status, report = await at.again("/ready")
        assert (status, report["checks"]["engine"]) == (503, {"status": "failed", "reason": "leaving"})


async def test_a_hanging_database_and_a_missing_folder_are_reported_in_time(tmp_path: Path) -> None:
    async with watched(tmp_path / "data", connections=1) as at:
        database = at.bot.app.records.database
        async with AsyncExitStack() as held:
            for _ in range(4):  # every connection of the pool
                await held.enter_async_context(database.read())
            began = time.monotonic()
            answers = await asyncio.gather(*(at.ask("/ready") for _ in range(8)), at.ask("/metrics"))
            assert time.monotonic() - began < AT_MOST_S + 1
            assert [status for status, _ in answers] == [503] * 8 + [200]
            assert answers[0][1]["checks"]["database"]["status"] == "failed"
            assert "sutradhar_outbox_owed" not in answers[-1][1]
            assert (await at.ask("/live"))[0] == 200
        status, report = await at.again("/ready")
        assert (status, report["checks"]["database"]["status"]) == (200, "ok")
        assert read((await at.ask("/metrics"))[1])["sutradhar_outbox_owed"] == 0

        (tmp_path / "data").rename(tmp_path / "elsewhere")
        status, report = await at.again("/ready")
        assert (status, report["checks"]["disk"]["status"]) == (503, "failed")
        (tmp_path / "elsewhere").rename(tmp_path / "data")
        assert (await at.again("/ready"))[0] == 200


async def test_a_hanging_or_missing_file_store_is_a_warning_in_time(tmp_path: Path) -> None:
    store, back = emptied(), threading.Event()

    def hangs(operation: str) -> None:
        back.wait(20)

    async with watched(tmp_path, connections=1, files="weak://place") as at:
        status, report = await at.ask("/ready")
        assert (status, report["checks"]["files"]["status"]) == (200, "ok")
        store.fault = gone
        status, report = await at.again("/ready")
        assert (status, report["checks"]["files"]["status"]) == (200, "warning")
        store.fault = hangs
        began = time.monotonic()
        status, report = await at.again("/ready")
        assert time.monotonic() - began < AT_MOST_S + 1
        assert (status, report["checks"]["files"]["status"]) == (200, "warning")
        store.fault = None
        back.set()
        async with asyncio.timeout(30):
            while (await at.again("/ready"))[1]["checks"]["files"]["status"] != "ok":  # noqa: ASYNC110
                await asyncio.sleep(0.05)


async def test_the_metrics_count_requests_without_names(tmp_path: Path) -> None:
    async with watched(tmp_path, connections=1) as at:
        before = read((await at.ask("/metrics"))[1])
        team = at.team
        ana, channel = team.user("Ana"), team.channel("general")
        await at.slack.command(ana, channel, "/rules", "ask said")
        await at.bot.app.idle()
        _, text = await at.ask("/metrics")
        after = read(text)
        gained = {name: after[name] - before.get(name, 0) for name in after}
        assert gained['sutradhar_runs_total{work="rules",end="done"}'] == 1
        assert gained['sutradhar_first_words_seconds_count{work="rules"}'] == 1
        assert gained['sutradhar_events_total{platform="Slack"}'] >= 1
        assert gained['sutradhar_acknowledge_seconds_count{platform="Slack"}'] >= 1
        assert after['sutradhar_connection_up{platform="Slack",connection="socket 1"}'] == 1
        assert after['sutradhar_runs{state="going"}'] == after['sutradhar_runs{state="waiting"}'] == 0
        assert not [name for name in (team.id, ana.id, channel.id, "Ana") if name in text]


async def test_the_bot_is_alive_but_not_ready_before_its_start(tmp_path: Path) -> None:
    operating = Operating(Health(tmp_path), configured(tmp_path))
    await operating.start()
    root = f"http://127.0.0.1:{operating.port}"
    async with aiohttp.ClientSession() as http:
        async with http.get(f"{root}/live") as answer:
            assert answer.status == 200
        async with http.get(f"{root}/ready") as answer:
            assert answer.status == 503
            assert (await answer.json())["checks"] == {"engine": {"status": "failed", "reason": "starting"}}
    await operating.close()


async def test_slacks_http_server_shows_details_only_where_the_operator_listens(
    tmp_path: Path,
) -> None:
    async with FakeSlack() as slack:
        slack.workspace("Table")
        for n, (listen, details) in enumerate((("127.0.0.1:0", True), ("", False))):
            data = tmp_path / str(n)
            config = replace(configured(data, mode="http", http_port=0), operate=OperateConfig(listen))
            health = Health(data)
            operating = Operating(health, config)
            await operating.start()
            assert (operating.shared, operating.port) == (details, 0), (
                "the operator's address is that of Slack's server"
            )
            async with (
                served(data, slack, mode="http", config=config, operating=operating) as bot,
                aiohttp.ClientSession() as http,
            ):
                health.app, health.platforms = bot.app, {"Slack": bot.service}
                async with http.get(f"{bot.root}/health") as answer:
                    report = await answer.json()
                    assert (answer.status, report["status"], "checks" in report) == (200, "ok", details)
                async with http.get(f"{bot.root}/metrics") as answer:
                    assert answer.status == (200 if details else 404)
                health.leaving = True
                health._looked_at = -60.0
                async with http.get(f"{bot.root}/health") as answer:
                    assert answer.status == 503


async def test_an_address_in_use_gets_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        config = replace(configured(tmp_path), operate=OperateConfig(listen))
        with pytest.raises(UserError) as error:
            await Operating(Health(tmp_path), config).start()
    assert (error.value.key, error.value.values["listen"]) == ("operate.port", listen)


async def test_doctor_checks_whether_a_running_bot_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    operating, say = Operating(Health(tmp_path), configured(tmp_path)), words("en")
    await operating.start()
    asked = replace(configured(tmp_path), operate=OperateConfig(f"0.0.0.0:{operating.port}"))
    assert await asyncio.to_thread(live, asked, say) == 0
    await operating.close()
    assert await asyncio.to_thread(live, asked, say) == 1
    assert "No bot answers" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"operate\.nowhere"):
        live(replace(asked, operate=OperateConfig()), say)


def test_an_address_may_come_from_the_environment_and_a_malformed_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('[operate]\nlisten = "127.0.0.1:1"\nlog_format = "json"\n', encoding="utf-8")
    config = load(file, environ={"SUTRADHAR_LISTEN": "0.0.0.0:9090"})
    assert config.operate == OperateConfig("0.0.0.0:9090", "json")
    for nonsense in ("9090", "http://127.0.0.1:9090", "::1:9090", "127.0.0.1:"):
        with pytest.raises(UserError, match=r"operate\.variable"):
            load(file, environ={"SUTRADHAR_LISTEN": nonsense})
        file.write_text(f'[operate]\nlisten = "{nonsense}"\n', encoding="utf-8")
        with pytest.raises(UserError, match=r"config\.listen") as caught:
            load(file, environ={})
        assert caught.value.values["line"] == 2
        file.write_text("", encoding="utf-8")
