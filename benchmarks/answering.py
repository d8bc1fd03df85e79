"""Measures how soon a person sees a model's first word: from the service sending it to the line of `chat --json`.

The service is the strict loopback fake of each API. It holds its first piece until the bench releases it, so that the
figure includes neither the search nor the model's time.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from tests.fakes import anthropic_messages, chat_completions, openai_responses
from tests.fakes.reply import Reply

REACH_MS = 30.0
QUESTIONS = 40
BOOK = Path(__file__).parent.parent / "examples" / "lanterns.md"
ASKED = "/rules ask How many hours of walking does a candle burn?"
ANSWER = "A candle burns for four hours of walking [1]. "
KEY = "sk-bench-0123456789"
WIRES: dict[str, Any] = {
    "openai-compatible": chat_completions.ChatService,
    "openai": openai_responses.ResponsesService,
    "anthropic": anthropic_messages.MessagesService,
}


def figures() -> Iterator[Figure]:
    """The median and the 95th percentile over QUESTIONS questions, for each wire."""
    for kind, service in WIRES.items():
        took = asyncio.run(_measured(kind, service))
        median, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
        shown = f"{median:.1f} ms (p95 {p95:.1f} ms, n {len(took)})"
        reach = f"≤ {REACH_MS:g} ms"
        yield Figure(f"first word shown after the service's, {kind}", shown, reach, "", median <= REACH_MS)


async def _measured(kind: str, service: Any) -> list[float]:
    gates: asyncio.Queue[asyncio.Event] = asyncio.Queue()

    def script(body: dict[str, Any]) -> Reply:
        gate = asyncio.Event()
        gates.put_nowait(gate)
        return Reply(ANSWER, gates={0: gate})

    with tempfile.TemporaryDirectory() as folder:
        async with service(script, key=KEY) as fake:
            data, settings = Path(folder) / "data", Path(folder) / "config.toml"
            settings.write_text(_settings(kind, fake.base_url), encoding="utf-8")
            command = (sys.executable, "-m", "bot", "--config", str(settings), "--data", str(data))
            environ = {**os.environ, "BENCH_KEY": KEY, "SUTRADHAR_LOCALE": "en"}
            add = await asyncio.create_subprocess_exec(
                *command,
                *("library", "add", str(BOOK), "--shelf", "rules"),
                stdout=asyncio.subprocess.DEVNULL,
                env=environ,
            )
            assert await add.wait() == 0
            chat = await asyncio.create_subprocess_exec(
                *command,
                *("chat", "--json"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=environ,
            )
            took = [await _first_word_ms(chat, gates) for _ in range(QUESTIONS + 1)]
            assert chat.stdin is not None
            chat.stdin.close()
            await chat.wait()
    return took[1:]  # the first run loads the SDK


async def _first_word_ms(chat: asyncio.subprocess.Process, gates: asyncio.Queue[asyncio.Event]) -> float:
    assert chat.stdin is not None
    assert chat.stdout is not None
    chat.stdin.write(ASKED.encode() + b"\n")
    await chat.stdin.drain()
    gate = await gates.get()
    await asyncio.sleep(0.05)  # everything before the answer has been read by now
    took = 0.0
    sent = time.perf_counter()
    gate.set()
    async for line in chat.stdout:
        event = json.loads(line)
        if event["event"] == "text" and event["text"].startswith("A") and not took:
            took = (time.perf_counter() - sent) * 1000
        if event["event"] == "done":
            break
    if not took:
        raise RuntimeError("the model's answer was not shown")
    return took


def _settings(kind: str, base_url: str) -> str:
    name = "bench" if kind == "openai-compatible" else kind
    return (
        f'[embedding]\nmodel = "none"\n[providers.{name}]\nkind = "{kind}"\nbase_url = "{base_url}"\n'
        f'api_key_env = "BENCH_KEY"\n[roles]\nanswerer = "{name}:small"\n'
    )
