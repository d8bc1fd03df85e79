"""Two bots with the settings of compose.yaml share vectors and files."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import yaml

from tests.fakes.embeddings import EmbeddingService
from tests.fakes.postgres import created
from tests.fakes.slack import FakeSlack
from tests.kill.process import ROOT, environment
from tests.wire.inbox import DATABASE, rows_of
from tests.wire.model import Answerer, service
from tests.wire.on_slack import CONNECTIONS, OnSlack
from tests.wire.process import BotProcess
from tests.wire.stock import LANTERNS
from tests.wire.story import ANA

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
MOST_QUESTIONS = 20


async def test_two_bots_share_vectors_and_files(postgres: str, tmp_path: Path) -> None:
    url, data, files = created(postgres), tmp_path / "data", tmp_path / "files"
    data.mkdir()
    (data / DATABASE).write_text(url.replace("+psycopg", ""), encoding="utf-8")
    async with AsyncExitStack() as stack:
        answerer = Answerer()
        model = await stack.enter_async_context(service(answerer))
        embedder = await stack.enter_async_context(EmbeddingService())
        slack = OnSlack(await stack.enter_async_context(FakeSlack()), answerer)
        settings = (ROOT / COMPOSE["configs"]["settings"]["file"]).read_text(encoding="utf-8")
        for theirs, ours in (
            ("postgresql+psycopg://sutradhar@postgres/sutradhar", url),
            ("file:///files", files.as_uri()),
        ):
            assert settings.count(f'"{theirs}"') == 1
            settings = settings.replace(theirs, ours)
        config = tmp_path / "config.toml"
        config.write_text(
            f'{settings}[providers.local]\nkind = "openai-compatible"\nbase_url = "{model.base_url}"\n'
            f'[providers.openai]\nbase_url = "{embedder.base_url}"\n'
            '[roles]\nanswerer = "local:small"\n[embedding]\nmodel = "openai:text-embedding-3-small"\n'
            f"[limits]\nquestions = 1000\n{slack.settings()}",
            encoding="utf-8",
        )
        environ = slack.environ() | {"OPENAI_API_KEY": "sk-1"}

        space = slack.teams[0].id
        added = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "--config", str(config), "--data", str(tmp_path / "hand")),
            *("library", "add", str(LANTERNS), "--shelf", "rules", "--space", space),
            cwd=ROOT,
            env=environment() | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        told, _ = await added.communicate()
        assert added.returncode == 0, told.decode()
        assert list(files.rglob("*lanterns*")) or list(files.rglob("*.md")), "its file is in the shared store"
        passages = sum(_texts(request) for request in embedder.requests)
        assert passages > 1

        bots = [BotProcess(tmp_path / f"bot-{n}", config, environ) for n in range(2)]
        for bot in bots:
            stack.push_async_callback(bot.kill)
            await bot.start()
        await slack.slack.until(
            lambda: len(slack.slack.sockets.live) == 2 * CONNECTIONS or not all(bot.alive for bot in bots)
        )
        assert all(bot.alive for bot in bots), [bot.log(whole=True) for bot in bots]
        ran, asked = set[str](), 0
        while len(ran) < 2:
            asked += 1
            assert asked <= MOST_QUESTIONS, "one of them executes no run"
            talk = await slack.ask(ANA, f"How long does a candle burn in lantern {asked}?")
            await slack.slack.until(lambda talk=talk: any("[1]" in text for text in talk.said()))  # type: ignore[misc]
            ran = {
                executor
                for (executor,) in rows_of(
                    data, "SELECT executor_id FROM dbos.workflow_status JOIN inbox ON workflow_uuid = id"
                )
            }
        # Only each question's own vector was made: no process found the book's vectors missing and made them again.
        assert sum(_texts(request) for request in embedder.requests) == passages + asked
        assert not any((tmp_path / f"bot-{n}" / "chroma").exists() for n in range(2))
        assert len(rows_of(data, "SELECT id FROM chunk_vectors")) == passages


def _texts(request: dict[str, object]) -> int:
    texts = request["input"]
    return len(texts) if isinstance(texts, list) else 1
