"""`python -m bot models test` as a user starts it, against a loopback service for each API."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.anthropic_messages import MessagesService
from tests.fakes.model_service import ModelService
from tests.fakes.reply import Body, Reply
from tests.fakes.wires import WIRES, kind_of
from tests.forked import completed

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-" + "trial" * 6
WAYS = ["whole", "stream", "json", "tools", "count", "cache"]


class Player:
    """Answers like a good model, on any API. `changes` holds a worse model's replies by kind of test.

    `cached`: the cached tokens reported for the long prefix, where the service does not compute them.
    """

    def __init__(self, cached: int = 0, **changes: Reply) -> None:
        self.cached = cached
        self.changes = changes
        self.books = 0

    def __call__(self, body: Body) -> Reply:
        asked = json.dumps(body)
        if "17 degrees" in asked:
            return Reply("It rains at 17 degrees.")
        if "Look up the weather" in asked:
            return self.changes.get("tools") or Reply(calls=[("weather", '{"city": "Lisbon"}')])
        if "apples" in asked:
            return self.changes.get("json") or Reply(pieces=['{"names": ["Ana", ', '"Rui"], "total": 5}'])
        if "long book" in asked:
            self.books += 1
            return Reply("one two", cached=self.cached if self.books > 1 else 0)
        return self.changes.get("talk") or Reply("one two three four five six", delay_s=0.01)


def settings(folder: Path, services: dict[str, ModelService], roles: dict[str, Any]) -> Path:
    text = ""
    for name, service in services.items():
        text += (
            f'[providers.{name}]\nkind = "{kind_of(service)}"\nbase_url = "{service.base_url}"\n'
            'api_key_env = "TRIAL_KEY"\n'
        )
    text += "[roles]\n" + "".join(f"{role} = {json.dumps(chain)}\n" for role, chain in roles.items())
    file = folder / "config.toml"
    file.write_text(text, encoding="utf-8")
    return file


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SUTRADHAR_", "LC_"))}
    return {
        **kept,
        "SUTRADHAR_LOCALE": "en",
        "SUTRADHAR_DATA": str(folder / "data"),
        "SUTRADHAR_MODELS": str(folder / "models"),
        "TRIAL_KEY": KEY,
        **more,
    }


async def tried(
    config: Path, *arguments: str, code: int = 0, **environ: str
) -> subprocess.CompletedProcess[str]:
    line = ["--config", str(config), "models", "test", *arguments]
    process = await asyncio.to_thread(completed, line, environment(config.parent, **environ), ROOT, b"", 90)
    done = subprocess.CompletedProcess(
        line, process.returncode, process.stdout.decode(), process.stderr.decode()
    )
    assert "Traceback" not in done.stderr
    assert KEY not in done.stdout + done.stderr
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.mark.parametrize(
    "wire", ["chat", *(pytest.param(name, marks=pytest.mark.slow) for name in WIRES if name != "chat")]
)
async def test_a_good_model_passes_every_kind_of_test(wire: str, tmp_path: Path) -> None:
    async with WIRES[wire].service(Player(0 if wire == "messages" else 4_000), key=KEY) as service:
        config = settings(tmp_path, {"here": service}, {"answerer": "here:small", "writer": "here:small"})
        done = await tried(config, "--json")
    (line,) = done.stdout.splitlines()
    answer = json.loads(line)
    assert answer["model"] == "here:small"
    assert answer["well"] is True
    assert list(answer["tried"]) == WAYS
    wells = {way: outcome["well"] for way, outcome in answer["tried"].items()}
    # A local model caches its last prefix by itself, and few services can count tokens in advance.
    assert {way for way, well in wells.items() if well is not True} <= {"count", "cache"}
    if wire != "chat":
        assert wells["cache"] is True
        assert re.match(r"4\d{3} of 4\d{3} tokens", answer["tried"]["cache"]["text"])
    if wire == "messages":
        assert set(wells.values()) == {True}
    assert answer["first_token_s"] < 5
    assert answer["tokens_per_s"] > 1
    assert answer["calls"] == service.calls
    for kind in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
        assert answer[kind] == getattr(service, kind)
    assert answer["cost_usd"] is None
    assert not (tmp_path / "data").exists(), "the command opens and writes nothing"


async def test_the_table_names_each_fault_and_the_exit_code_reports_it(tmp_path: Path) -> None:
    player = Player(json=Reply("Five apples."), tools=Reply("It rains."), talk=Reply(""))
    async with WIRES["chat"].service(player, key=KEY) as service:
        config = settings(tmp_path, {"here": service}, {"answerer": "here:small"})
        done = await tried(config, code=1)
    lines = done.stdout.splitlines()
    assert lines[0] == "here:small"
    assert [line.strip()[0] for line in lines[1:7]] == ["✗", "✗", "✗", "✗", "–", "–"]
    assert "here:small gave an empty answer. Ask again" in lines[1]
    assert "The answer is not the JSON that was asked for: there was no JSON object in it." in lines[3]
    assert "It answered without calling the tool." in lines[4]
    assert lines[7].strip().startswith("4 calls: ")
    assert "cost unknown" in lines[7]
    assert "\x1b" not in done.stdout


@pytest.mark.slow
async def test_a_model_that_refuses_the_key_is_asked_once_and_the_next_is_tested(
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        closed = await stack.enter_async_context(WIRES["messages"].service(Player(), key="another"))
        good = await stack.enter_async_context(WIRES["chat"].service(Player(), key=KEY))
        chain = {"answerer": ["bad:small", "good:small"], "extractor": "good:small"}
        config = settings(tmp_path, {"bad": closed, "good": good}, chain)
        done = await tried(config, "--json", code=1)
    bad, well = (json.loads(line) for line in done.stdout.splitlines())
    assert len(closed.requests) == 1
    assert list(bad["tried"]) == ["whole"]
    assert "refused the API key" in bad["tried"]["whole"]["text"]
    assert (well["model"], well["well"]) == ("good:small", True)


@pytest.mark.slow
async def test_named_models_are_tested_and_priced_even_without_a_role(tmp_path: Path) -> None:
    async with WIRES["messages"].service(Player(), key=KEY, models=("claude-haiku-5-5",)) as service:
        config = settings(tmp_path, {"here": service}, {})
        done = await tried(config, "here:claude-haiku-5-5", "here:claude-haiku-5-5")
    lines = done.stdout.splitlines()
    assert lines[0] == "here:claude-haiku-5-5"
    assert len(lines) == 8, "named twice, tested once"
    assert "$0.00" in lines[-1]
    assert re.search(r"\(4\d{3} from the cache\)", lines[-1])


@pytest.mark.slow
async def test_a_prefix_that_is_never_cached_is_reported(tmp_path: Path) -> None:
    async with MessagesService(Player(), key=KEY, cache_least=100_000) as service:
        config = settings(tmp_path, {"here": service}, {"answerer": "here:small"})
        done = await tried(config, code=1)
    assert "✗ caching" in done.stdout
    assert "cost the full price twice" in done.stdout


@pytest.mark.slow
async def test_a_terminal_shows_the_test_in_progress(tmp_path: Path) -> None:
    gate = asyncio.Event()
    held = Player(talk=Reply("one two three", gates={1: gate}))
    async with WIRES["chat"].service(held, key=KEY) as service:
        config = settings(tmp_path, {"here": service}, {"answerer": "here:small"})
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "bot", "--config", str(config), "models", "test"]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=ROOT, env=environment(tmp_path), stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        seen = b""

        def read() -> bytes:
            try:
                return os.read(ours, 65_536)
            except OSError:  # the error of a pseudo-terminal whose other end is closed
                return b""

        async with asyncio.timeout(90):
            while "… in one piece".encode() not in seen:
                seen += await asyncio.to_thread(read)
            gate.set()
            while part := await asyncio.to_thread(read):
                seen += part
            assert await process.wait() == 0
        os.close(ours)
    assert "✓ streamed" in seen.decode()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nobody:small"], "no provider “nobody”"),
        (["small"], "provider:model"),
        ([], "No role names a model yet"),
    ],
)
async def test_a_wrong_argument_gets_one_sentence(arguments: list[str], says: str, tmp_path: Path) -> None:
    config = settings(tmp_path, {}, {})
    done = await tried(config, *arguments, code=2)
    assert done.stdout == ""
    assert says in done.stderr
    assert done.stderr.count("\n") == 1


async def test_a_missing_key_is_reported_without_a_call(tmp_path: Path) -> None:
    async with WIRES["chat"].service(Player()) as service:
        seats = ["here:small effort=low", "here:large persona='a sceptic'"]
        roles = {"answerer": "here:small", "transcriber": ["here:large", "here:ear"], "council": seats}
        config = settings(tmp_path, {"here": service}, roles)
        done = await tried(config, code=1, TRIAL_KEY="")
        assert service.calls == 0
    needed = "Set TRIAL_KEY in the environment or in .env"
    assert f"✗ The provider “here” needs an API key. {needed}" in done.stdout
    named = [line for line in done.stdout.splitlines() if line.startswith("here:")]
    assert named == ["here:small", "here:large"], (
        "models that write, the council's included, but not models that only transcribe"
    )


@pytest.mark.slow
async def test_an_unknown_model_among_several_is_refused_before_any_call(tmp_path: Path) -> None:
    async with WIRES["chat"].service(Player(), key=KEY) as service:
        config = settings(tmp_path, {"here": service}, {"answerer": "here:small"})
        await tried(config, "here:small", "gone:x", code=2)
        assert service.calls == 0
