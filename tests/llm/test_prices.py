"""The price table turns tokens into dollars without any request."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from bot.config import ProviderConfig
from bot.llm.completion import Usage
from bot.llm.prices import cost
from tests.llm.desk import PROMPT

ROOT = Path(__file__).resolve().parents[2]
ANTHROPIC = ProviderConfig("claude", "anthropic", None, "KEY")
OPENAI = ProviderConfig("gpt", "openai", None, "KEY")
ROUTER = ProviderConfig("router", "openai-compatible", "https://openrouter.ai/api/v1", "KEY")
LOCAL = ProviderConfig("box", "openai-compatible", "http://127.0.0.1:11434/v1")
USED = Usage(1_000, 200, cache_read_tokens=4_000, cache_write_tokens=800)


@pytest.mark.parametrize(
    ("provider", "model", "dollars"),
    [
        # Per million: input 0.10, output 0.50, read 0.01, written 0.125.
        (ANTHROPIC, "claude-haiku-5-5", "0.00034"),
        (ANTHROPIC, "claude-haiku-5-5-20260901", "0.00034"),
        # 2, 10, 0.10, 2.50
        (ANTHROPIC, "claude-sonnet-5-5", "0.0064"),
        # 0.10, 0.50, 0.01, 0.125
        (OPENAI, "gpt-6-luna", "0.00034"),
        (ROUTER, "openai/gpt-6-luna", "0.00034"),
    ],
)
async def test_cached_input_has_its_own_price(provider: ProviderConfig, model: str, dollars: str) -> None:
    assert await cost(provider, model, USED) == Decimal(dollars)


async def test_a_proxied_model_has_the_price_of_the_original() -> None:
    proxy = ProviderConfig("proxy", "anthropic", "http://127.0.0.1:4000")
    assert await cost(proxy, "claude-haiku-5-5", USED) == Decimal("0.00034")


@pytest.mark.parametrize(
    ("provider", "model"),
    [(LOCAL, "qwen3"), (LOCAL, "gpt-6-luna"), (OPENAI, "no-such-model"), (ROUTER, "nobody/nothing")],
)
async def test_a_model_that_is_not_in_the_table_has_no_known_price(
    provider: ProviderConfig, model: str
) -> None:
    assert await cost(provider, model, USED) is None


async def test_the_demo_model_is_free_and_no_tokens_cost_nothing() -> None:
    assert await cost(ProviderConfig("demo", "demo"), "smollm2", USED) == 0
    assert await cost(ANTHROPIC, "claude-haiku-5-5", Usage()) == 0


def test_the_table_is_not_read_until_a_price_is_asked_and_no_network_is_used() -> None:
    code = """
import asyncio, socket, sys
from bot.config import ProviderConfig
from bot.llm.completion import Usage
import bot.llm.registry
from bot.llm.prices import cost
assert "genai_prices" not in sys.modules
def refused(*args, **more): raise AssertionError("asked the network")
socket.socket.connect = socket.getaddrinfo = refused
print(asyncio.run(cost(ProviderConfig("c", "anthropic"), "claude-haiku-5-5", Usage(1_000_000))))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert Decimal(done.stdout.strip()) > 0


def test_tools_calls_and_results_count_in_an_estimate() -> None:
    from dataclasses import replace

    from bot.budget import prompt_tokens
    from bot.llm.base import Message, ToolResult
    from bot.llm.completion import ToolCall
    from tests.llm.desk import WITH_TOOLS

    more = (
        Message("assistant", calls=(ToolCall("1", "search", '{"query": "far"}'),)),
        Message("user", results=(ToolResult("1", "found " * 40),)),
    )
    loop = replace(WITH_TOOLS, messages=(*PROMPT.messages, *more))
    assert prompt_tokens(PROMPT) < prompt_tokens(WITH_TOOLS) < prompt_tokens(loop) - 60
    assert prompt_tokens(replace(PROMPT, schema={"type": "object"})) > prompt_tokens(PROMPT)
